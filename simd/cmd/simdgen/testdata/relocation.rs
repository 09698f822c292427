//! refused: unknown relocation
#![no_std]
use simdgen::*;
static TABLE: [u8; 256] = [3; 256];
kernel! { bad_sse42, whole, fn(b: Bytes) -> usize {
    let r: usize;
    core::arch::asm!("mov {r}, qword ptr [rip + {t}@GOTPCREL]", r = out(reg) r, t = sym TABLE);
    r + b.len
} }
