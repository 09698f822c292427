//! The kernels of package crc: both polynomials of hash/crc32, one body.
//!
//! Everything is in the reflected representation: bit 0 of a word is its
//! highest power of x. `reduce64` is the one primitive that differs: the crc32
//! instruction for Castagnoli, a Barrett reduction for IEEE.
#![no_std]
use simdgen::*;

mod gf2;
#[cfg(target_arch = "aarch64")]
mod arm;
#[cfg(target_arch = "x86_64")]
mod x86;
#[cfg(all(target_feature = "vpclmulqdq", not(target_feature = "avx512f")))]
mod ymm;

#[cfg(target_arch = "x86_64")]
use x86::{pair, update, Castagnoli, Ieee};
#[cfg(target_arch = "aarch64")]
use arm::{update, Castagnoli, Ieee};

kernel! { update_sse42, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Castagnoli>(crc, b.ptr, b.len) } }
kernel! { update_vclmul, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Castagnoli>(crc, b.ptr, b.len) } }
kernel! { update_avx512, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Castagnoli>(crc, b.ptr, b.len) } }
kernel! { update_neon, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Castagnoli>(crc, b.ptr, b.len) } }

kernel! { update_ieee_sse42, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Ieee>(crc, b.ptr, b.len) } }
kernel! { update_ieee_vclmul, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Ieee>(crc, b.ptr, b.len) } }
kernel! { update_ieee_avx512, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Ieee>(crc, b.ptr, b.len) } }
kernel! { update_ieee_neon, carry, fn(crc: u32, b: Bytes) -> u32 { update::<Ieee>(crc, b.ptr, b.len) } }

kernel! { pair_sse42, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Castagnoli>(running, b.ptr, b.len) } }
kernel! { pair_vclmul, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Castagnoli>(running, b.ptr, b.len) } }
kernel! { pair_avx512, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Castagnoli>(running, b.ptr, b.len) } }
kernel! { pair_ieee_sse42, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Ieee>(running, b.ptr, b.len) } }
kernel! { pair_ieee_vclmul, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Ieee>(running, b.ptr, b.len) } }
kernel! { pair_ieee_avx512, whole, fn(running: u32, b: Bytes) -> Two<u32, u32> { pair::<Ieee>(running, b.ptr, b.len) } }
