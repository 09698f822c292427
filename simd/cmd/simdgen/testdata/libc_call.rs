//! refused: undefined symbol
#![no_std]
use simdgen::*;
kernel! { bad_sse42, map, fn(dst: BytesMut, src: Bytes) -> () { core::ptr::copy_nonoverlapping(src.ptr, dst.ptr, src.len) } }
