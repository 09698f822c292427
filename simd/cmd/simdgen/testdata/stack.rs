//! refused: stack over 512 bytes
#![no_std]
use simdgen::*;
kernel! { bad_sse42, whole, fn(b: Bytes) -> usize {
    let mut seen = core::mem::MaybeUninit::<[u64; 100]>::uninit();
    let p = seen.as_mut_ptr() as *mut u64;
    for i in 0..100 {
        core::ptr::write_volatile(p.add(i), (b.len + i) as u64);
    }
    core::ptr::read_volatile(p.add(b.len & 63)) as usize
} }
