//! The kernels of package simd. One module per family; each kernel is written
//! against a small vector trait so that its tiers share one body.
#![no_std]
use simdgen::*;

mod ascii;
mod class;
mod equal;
mod lower;
mod numbers;
mod vec;
