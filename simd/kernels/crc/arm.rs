//! The CRC32 instructions of ARMv8, eight bytes each.
use core::arch::aarch64::*;

pub trait Poly {
    unsafe fn step8(s: u32, v: u64) -> u32;
    unsafe fn step4(s: u32, v: u32) -> u32;
    unsafe fn step1(s: u32, v: u8) -> u32;
}

macro_rules! poly {
    ($t:ident, $d:ident, $w:ident, $b:ident) => {
        pub struct $t;
        impl Poly for $t {
            #[inline(always)]
            unsafe fn step8(s: u32, v: u64) -> u32 {
                $d(s, v)
            }
            #[inline(always)]
            unsafe fn step4(s: u32, v: u32) -> u32 {
                $w(s, v)
            }
            #[inline(always)]
            unsafe fn step1(s: u32, v: u8) -> u32 {
                $b(s, v)
            }
        }
    };
}
poly!(Castagnoli, __crc32cd, __crc32cw, __crc32cb);
poly!(Ieee, __crc32d, __crc32w, __crc32b);

#[inline(always)]
pub unsafe fn update<P: Poly>(crc: u32, p: *const u8, n: usize) -> u32 {
    let mut s = !crc;
    let mut i = 0;
    while i + 8 <= n {
        s = P::step8(s, (p.add(i) as *const u64).read_unaligned());
        i += 8;
    }
    if n & 4 != 0 {
        s = P::step4(s, (p.add(i) as *const u32).read_unaligned());
        i += 4;
    }
    while i < n {
        s = P::step1(s, *p.add(i));
        i += 1;
    }
    !s
}
