//! refused: undefined symbol
#![no_std]
use simdgen::*;
extern "C" {
    static elsewhere: usize;
}
kernel! { bad_neon, whole, fn(b: Bytes) -> usize { b.len + elsewhere } }
