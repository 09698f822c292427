//! refused: pointer element type
#![no_std]
use simdgen::*;
kernel! { bad_sse42, whole, fn(p: SliceMut<Str>) -> usize { p.len } }
