//! refused: stack use on arm64
#![no_std]
use simdgen::*;
kernel! { bad_neon, whole, fn(b: Bytes) -> usize {
    let mut seen = [0u8; 64];
    for i in 0..b.len {
        core::ptr::write_volatile(&mut seen[(*b.ptr.add(i) & 63) as usize], 1);
    }
    core::ptr::read_volatile(&seen[7]) as usize
} }
