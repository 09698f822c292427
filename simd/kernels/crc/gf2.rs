//! Polynomials over GF(2) modulo P, evaluated by the compiler.

pub const CASTAGNOLI: u32 = 0x82f6_3b78;
pub const IEEE: u32 = 0xedb8_8320;

/// v·x modulo p.
const fn times_x(v: u32, p: u32) -> u32 {
    (v >> 1) ^ if v & 1 != 0 { p } else { 0 }
}

/// v/x modulo p; p has a constant term, so x has an inverse.
const fn over_x(v: u32, p: u32) -> u32 {
    if v >> 31 != 0 {
        (v ^ p) << 1 | 1
    } else {
        v << 1
    }
}

/// x^n modulo p.
pub const fn power(n: u32, p: u32) -> u32 {
    let mut v = 1 << 31;
    let mut i = 0;
    while i < n {
        v = times_x(v, p);
        i += 1;
    }
    v
}

/// a·b modulo p.
const fn times(a: u32, b: u32, p: u32) -> u32 {
    let (mut r, mut b, mut i) = (0, b, 31i32);
    while i >= 0 {
        if a >> i & 1 != 0 {
            r ^= b;
        }
        b = times_x(b, p);
        i -= 1;
    }
    r
}

/// The two factors that move 128 bits forward by `bits`.
pub const fn fold(bits: u32, p: u32) -> [u64; 2] {
    [(power(bits + 32, p) as u64) << 1, (power(bits - 32, p) as u64) << 1]
}

/// The low 64 bits of the reflected quotient x^96 / P.
pub const fn barrett(p: u32) -> u64 {
    let full = 1u128 << 32 | p.reverse_bits() as u128;
    let (mut num, mut q, mut i) = (1u128 << 96, 0u128, 64i32);
    while i >= 0 {
        if num >> (i + 32) & 1 != 0 {
            q |= 1 << i;
            num ^= full << i;
        }
        i -= 1;
    }
    let (mut r, mut j) = (0u64, 0);
    while j < 64 {
        r |= ((q >> (64 - j) & 1) as u64) << j;
        j += 1;
    }
    r
}

/// Digits of eight bits in the shift table: lengths below 16 MiB.
pub const DIGITS: usize = 3;

/// x^(8·bytes - 33): the 33 undoes what a carry-less product and reduce64 add.
pub const fn shift_by(bytes: u32, p: u32) -> u64 {
    let (mut v, mut i) = (power(8 * bytes, p), 0);
    while i < 33 {
        v = over_x(v, p);
        i += 1;
    }
    v as u64
}

/// Entry 256i+d is the factor for d·256^i bytes.
pub const fn shifts(p: u32) -> [u32; 256 * DIGITS] {
    let mut out = [0u32; 256 * DIGITS];
    let mut start = 1u32 << 31;
    let mut i = 0;
    while i < 33 {
        start = over_x(start, p);
        i += 1;
    }
    let mut step = power(8, p);
    let mut digit = 0;
    while digit < DIGITS {
        let (mut d, mut v) = (0, 1u32 << 31);
        while d < 256 {
            out[256 * digit + d] = times(start, v, p);
            v = times(v, step, p);
            d += 1;
        }
        step = v; // step^256
        digit += 1;
    }
    out
}
