//! Folding with PCLMULQDQ: four 16-byte accumulators, and with VPCLMULQDQ four
//! of 32 or of 64 bytes. The running checksum of a pair needs no second pass over the
//! data: crc(a ‖ b) = crc(a)·x^(8·len b) + crc(b).
use crate::gf2::*;
use core::arch::x86_64::*;
use simdgen::Two;

/// From this length on folding beats three chains of the crc32 instruction.
#[cfg(target_feature = "avx512f")]
pub const WIDE: usize = 0;
#[cfg(all(target_feature = "vpclmulqdq", not(target_feature = "avx512f")))]
pub const WIDE: usize = 384;
#[cfg(not(target_feature = "vpclmulqdq"))]
pub const WIDE: usize = usize::MAX;

pub trait Poly {
    const P: u32;
    /// Below this length a chain of reduce64 is faster than folding.
    const CHAIN: usize;
    /// Three chains at once are faster than folding 16 bytes at a time.
    const CHAINS: bool;
    /// m·x^32 modulo P.
    unsafe fn reduce64(m: u64) -> u32;
    /// One word further.
    #[inline(always)]
    unsafe fn step(s: u32, w: u64) -> u32 {
        Self::reduce64(s as u64 ^ w)
    }
    /// See `shifts`. A constant, not a static: a static would be reached
    /// through a global offset table, which a kernel does not have.
    const SHIFTS: &'static [u32; 256 * DIGITS];
}

pub struct Castagnoli;
impl Poly for Castagnoli {
    const P: u32 = CASTAGNOLI;
    const CHAIN: usize = 64;
    const CHAINS: bool = true;
    #[inline(always)]
    unsafe fn reduce64(m: u64) -> u32 {
        _mm_crc32_u64(0, m) as u32
    }
    #[inline(always)]
    unsafe fn step(s: u32, w: u64) -> u32 {
        _mm_crc32_u64(s as u64, w) as u32
    }
    const SHIFTS: &'static [u32; 256 * DIGITS] = &shifts(CASTAGNOLI);
}

pub struct Ieee;
impl Poly for Ieee {
    const P: u32 = IEEE;
    const CHAIN: usize = 16;
    const CHAINS: bool = false;
    #[inline(always)]
    unsafe fn reduce64(m: u64) -> u32 {
        let k = _mm_set_epi64x(((IEEE as u64) << 1 | 1) as i64, const { barrett(IEEE) } as i64);
        let q = _mm_clmulepi64_si128(_mm_cvtsi64_si128(m as i64), k, 0x00);
        _mm_extract_epi32(_mm_clmulepi64_si128(q, k, 0x10), 2) as u32
    }
    const SHIFTS: &'static [u32; 256 * DIGITS] = &shifts(IEEE);
}

#[inline(always)]
pub unsafe fn load(p: *const u8) -> __m128i {
    _mm_loadu_si128(p as *const __m128i)
}
#[inline(always)]
pub unsafe fn word(p: *const u8) -> u64 {
    (p as *const u64).read_unaligned()
}
#[inline(always)]
fn factors(k: [u64; 2]) -> __m128i {
    unsafe { _mm_set_epi64x(k[1] as i64, k[0] as i64) }
}

/// acc moved forward by the factors' distance, plus data.
#[inline(always)]
unsafe fn fold128(acc: __m128i, k: __m128i, data: __m128i) -> __m128i {
    let lo = _mm_clmulepi64_si128(acc, k, 0x00);
    let hi = _mm_clmulepi64_si128(acc, k, 0x11);
    _mm_xor_si128(_mm_xor_si128(lo, hi), data)
}

/// Sixteen bytes, as one message.
#[inline(always)]
unsafe fn finish<P: Poly>(acc: __m128i) -> u32 {
    let first = P::reduce64(_mm_cvtsi128_si64(acc) as u64);
    P::reduce64(first as u64 ^ _mm_extract_epi64(acc, 1) as u64)
}

/// One to seven bytes, in the low end of x.
#[inline(always)]
unsafe fn tail<P: Poly>(s: u32, x: u64, n: usize) -> u32 {
    P::reduce64((x ^ s as u64) << (64 - 8 * n)) ^ (s as u64 >> (8 * n)) as u32
}

/// One to seven bytes in two overlapping reads.
#[inline(always)]
unsafe fn short<P: Poly>(s: u32, p: *const u8, n: usize) -> u32 {
    let x = if n >= 4 {
        let lo = (p as *const u32).read_unaligned() as u64;
        let hi = (p.add(n - 4) as *const u32).read_unaligned() as u64;
        lo | hi << (8 * (n - 4))
    } else {
        *p as u64 | (*p.add(n >> 1) as u64) << (8 * (n >> 1)) | (*p.add(n - 1) as u64) << (8 * (n - 1))
    };
    tail::<P>(s, x, n)
}

/// Words one after the other; n must be 8 or more in all, i of them done.
#[inline(always)]
unsafe fn chain<P: Poly>(mut s: u32, p: *const u8, mut i: usize, n: usize) -> u32 {
    while i + 8 <= n {
        s = P::step(s, word(p.add(i)));
        i += 8;
    }
    if i < n {
        let r = n - i;
        s = tail::<P>(s, word(p.add(n - 8)) >> (64 - 8 * r), r);
    }
    s
}

#[inline(always)]
pub unsafe fn update<P: Poly>(crc: u32, p: *const u8, n: usize) -> u32 {
    if n < 8 {
        if n == 0 {
            return crc;
        }
        return !short::<P>(!crc, p, n);
    }
    if n < P::CHAIN {
        return !chain::<P>(!crc, p, 0, n);
    }
    if P::CHAINS && n < WIDE {
        return !chains::<P>(!crc, p, n);
    }
    #[cfg(all(target_feature = "vpclmulqdq", not(target_feature = "avx512f")))]
    if P::CHAINS && n >= 1024 {
        return !both::<P>(!crc, p, n);
    }
    !folded::<P>(!crc, p, n)
}

/// Folding down to sixteen bytes, then words; n must be 16 or more.
#[inline(always)]
pub unsafe fn folded<P: Poly>(s: u32, p: *const u8, n: usize) -> u32 {
    let init = _mm_cvtsi32_si128(s as i32);
    let (mut acc, mut i) = if n < LEAST { (_mm_xor_si128(load(p), init), 16) } else { wide::<P>(init, p, n) };
    let k = factors(const { fold(128, P::P) });
    while i + 16 <= n {
        acc = fold128(acc, k, load(p.add(i)));
        i += 16;
    }
    chain::<P>(finish::<P>(acc), p, i, n)
}

/// Three chains over neighbouring stretches, as long as there is room, first
/// long ones. The instruction takes three cycles but one starts in each.
#[inline(always)]
pub unsafe fn chains<P: Poly>(mut s: u32, p: *const u8, n: usize) -> u32 {
    let mut i = 0;
    while i + 3 * 1024 <= n {
        s = three::<P>(s, p.add(i), 1024, const { (shift_by(2048, P::P), shift_by(1024, P::P)) });
        i += 3 * 1024;
    }
    while i + 3 * 128 <= n {
        s = three::<P>(s, p.add(i), 128, const { (shift_by(256, P::P), shift_by(128, P::P)) });
        i += 3 * 128;
    }
    while i + 3 * 24 <= n {
        s = three::<P>(s, p.add(i), 24, const { (shift_by(48, P::P), shift_by(24, P::P)) });
        i += 3 * 24;
    }
    chain::<P>(s, p, i, n)
}

#[inline(always)]
unsafe fn three<P: Poly>(s: u32, p: *const u8, len: usize, k: (u64, u64)) -> u32 {
    let (mut a, mut b, mut c) = (s, 0u32, 0u32);
    let mut i = 0;
    while i < len {
        a = P::step(a, word(p.add(i)));
        b = P::step(b, word(p.add(len + i)));
        c = P::step(c, word(p.add(2 * len + i)));
        i += 8;
    }
    let a = _mm_clmulepi64_si128(_mm_cvtsi32_si128(a as i32), _mm_cvtsi64_si128(k.0 as i64), 0);
    let b = _mm_clmulepi64_si128(_mm_cvtsi32_si128(b as i32), _mm_cvtsi64_si128(k.1 as i64), 0);
    P::reduce64(_mm_cvtsi128_si64(_mm_xor_si128(a, b)) as u64) ^ c
}

/// What wide needs.
const LEAST: usize = if cfg!(all(target_feature = "vpclmulqdq", not(target_feature = "avx512f"))) { 128 + 16 } else { 64 };

#[cfg(all(target_feature = "vpclmulqdq", not(target_feature = "avx512f")))]
use crate::ymm::{both, wide};

/// Folds all whole blocks of 64 bytes into 16; n must be 64 or more.
#[cfg(not(target_feature = "vpclmulqdq"))]
#[inline(always)]
unsafe fn wide<P: Poly>(init: __m128i, p: *const u8, n: usize) -> (__m128i, usize) {
    let k = factors(const { fold(512, P::P) });
    let mut a = _mm_xor_si128(load(p), init);
    let (mut b, mut c, mut d) = (load(p.add(16)), load(p.add(32)), load(p.add(48)));
    let mut i = 64;
    while i + 64 <= n {
        a = fold128(a, k, load(p.add(i)));
        b = fold128(b, k, load(p.add(i + 16)));
        c = fold128(c, k, load(p.add(i + 32)));
        d = fold128(d, k, load(p.add(i + 48)));
        i += 64;
    }
    let k = factors(const { fold(128, P::P) });
    (fold128(fold128(fold128(a, k, b), k, c), k, d), i)
}

#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn fold512(acc: __m512i, k: __m512i, data: __m512i) -> __m512i {
    let lo = _mm512_clmulepi64_epi128(acc, k, 0x00);
    let hi = _mm512_clmulepi64_epi128(acc, k, 0x11);
    _mm512_ternarylogic_epi64(lo, hi, data, 0x96)
}
#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn load512(p: *const u8) -> __m512i {
    _mm512_loadu_si512(p as *const __m512i)
}

#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn wide<P: Poly>(init: __m128i, p: *const u8, n: usize) -> (__m128i, usize) {
    let k512 = _mm512_broadcast_i32x4(factors(const { fold(512, P::P) }));
    let mut a = _mm512_xor_si512(load512(p), _mm512_zextsi128_si512(init));
    let mut i = 64;
    if n >= 512 {
        let k = _mm512_broadcast_i32x4(factors(const { fold(2048, P::P) }));
        let (mut b, mut c, mut d) = (load512(p.add(64)), load512(p.add(128)), load512(p.add(192)));
        i = 256;
        while i + 256 <= n {
            a = fold512(a, k, load512(p.add(i)));
            b = fold512(b, k, load512(p.add(i + 64)));
            c = fold512(c, k, load512(p.add(i + 128)));
            d = fold512(d, k, load512(p.add(i + 192)));
            i += 256;
        }
        a = fold512(fold512(fold512(a, k512, b), k512, c), k512, d);
    }
    while i + 64 <= n {
        a = fold512(a, k512, load512(p.add(i)));
        i += 64;
    }
    (lanes::<P>(a), i)
}

/// Lanes 0 to 2 move to the place of lane 3.
#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn lanes<P: Poly>(a: __m512i) -> __m128i {
    let (k2, k1, k0) = (const { fold(384, P::P) }, const { fold(256, P::P) }, const { fold(128, P::P) });
    let k = _mm512_set_epi64(0, 0, k0[1] as i64, k0[0] as i64, k1[1] as i64, k1[0] as i64, k2[1] as i64, k2[0] as i64);
    let keep = _mm512_maskz_mov_epi64(0xc0, a);
    let f = fold512(a, k, keep);
    let h = _mm256_xor_si256(_mm512_castsi512_si256(f), _mm512_extracti64x4_epi64(f, 1));
    _mm_xor_si128(_mm256_castsi256_si128(h), _mm256_extracti128_si256(h, 1))
}

/// crc·x^(8n) modulo P, one product per non-zero digit of n.
#[inline(always)]
unsafe fn shift<P: Poly>(crc: u32, mut n: usize) -> u32 {
    let mut t = P::SHIFTS.as_ptr();
    let mut r = crc;
    while n != 0 {
        if n & 255 != 0 {
            let k = *t.add(n & 255);
            let prod = _mm_clmulepi64_si128(_mm_cvtsi32_si128(r as i32), _mm_cvtsi32_si128(k as i32), 0);
            r = P::reduce64(_mm_cvtsi128_si64(prod) as u64);
        }
        t = t.add(256);
        n >>= 8;
    }
    r
}

/// The checksum of the buffer and of the stream that it continues. The shift
/// does not depend on the data, so the processor overlaps it with the fold.
/// Short buffers are done twice: two short chains overlap as well.
#[inline(always)]
pub unsafe fn pair<P: Poly>(running: u32, p: *const u8, n: usize) -> Two<u32, u32> {
    if n < 16 {
        return Two(update::<P>(0, p, n), update::<P>(running, p, n));
    }
    let moved = shift::<P>(running, n);
    let sum = update::<P>(0, p, n);
    Two(sum, moved ^ sum)
}
