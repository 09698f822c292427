//! Sums and extremes of slices of numbers. These are plain loops: LLVM
//! vectorises them, which Go's compiler does not.
use simdgen::*;

#[cfg(not(target_feature = "avx512f"))]
#[inline(always)]
unsafe fn sum_ints(s: Slice<i64>) -> i64 {
    if s.len < 8 {
        return sum_few(s.ptr, s.len);
    }
    let mut t = 0i64;
    for i in 0..s.len {
        t = t.wrapping_add(*s.ptr.add(i));
    }
    t
}

/// Fewer than eight: before a vector is set up, they are added.
#[cfg(not(target_feature = "avx512f"))]
#[inline(always)]
unsafe fn sum_few(mut p: *const i64, n: usize) -> i64 {
    let mut t = 0i64;
    if n & 4 != 0 {
        t = (*p).wrapping_add(*p.add(1)).wrapping_add((*p.add(2)).wrapping_add(*p.add(3)));
        p = p.add(4);
    }
    if n & 2 != 0 {
        t = t.wrapping_add((*p).wrapping_add(*p.add(1)));
        p = p.add(2);
    }
    if n & 1 != 0 {
        t = t.wrapping_add(*p);
    }
    t
}

/// With masks the last elements need no loop of their own.
#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn sum_ints(s: Slice<i64>) -> i64 {
    use core::arch::x86_64::*;
    let load = |i: usize| _mm512_loadu_si512(s.ptr.add(i) as *const __m512i);
    let (mut a, mut b) = (_mm512_setzero_si512(), _mm512_setzero_si512());
    let mut i = 0;
    while i + 32 <= s.len {
        a = _mm512_add_epi64(a, _mm512_add_epi64(load(i), load(i + 8)));
        b = _mm512_add_epi64(b, _mm512_add_epi64(load(i + 16), load(i + 24)));
        i += 32;
    }
    while i + 8 <= s.len {
        a = _mm512_add_epi64(a, load(i));
        i += 8;
    }
    // See vec.rs: a masked load must not lie outside the input as a whole.
    if i < s.len {
        let keep = _bzhi_u32(!0, (s.len - i) as u32) as u8;
        b = _mm512_add_epi64(b, _mm512_maskz_loadu_epi64(keep, s.ptr.add(i)));
    }
    _mm512_reduce_add_epi64(_mm512_add_epi64(a, b))
}

#[inline(always)]
unsafe fn extremes(s: Slice<i64>) -> Two<i64, i64> {
    let (mut lo, mut hi) = (i64::MAX, i64::MIN);
    for i in 0..s.len {
        let v = *s.ptr.add(i);
        lo = if v < lo { v } else { lo };
        hi = if v > hi { v } else { hi };
    }
    Two(lo, hi)
}

/// The bits of a float as an integer of the same order: -0 before +0, NaNs
/// outside the infinities.
#[inline(always)]
fn key(bits: i64) -> i64 {
    bits ^ ((bits >> 63) as u64 >> 1) as i64
}

#[inline(always)]
unsafe fn float_extremes(s: Slice<f64>) -> Two<i64, i64> {
    let p = s.ptr as *const i64;
    let (mut lo, mut hi) = (i64::MAX, i64::MIN);
    for i in 0..s.len {
        let v = key(*p.add(i));
        lo = if v < lo { v } else { lo };
        hi = if v > hi { v } else { hi };
    }
    Two(lo, hi)
}

/// Element i goes to lane i mod 16; the lanes are added in halves. Every tier
/// and the Go version use this order, so the bits of the result are the same.
#[cfg(not(target_feature = "avx2"))]
#[inline(always)]
unsafe fn sum_floats(s: Slice<f64>) -> f64 {
    let mut l = [0f64; 16];
    let mut i = 0;
    while i + 16 <= s.len {
        for j in 0..16 {
            l[j] += *s.ptr.add(i + j);
        }
        i += 16;
    }
    for j in 0..15 {
        if i + j < s.len {
            l[j] += *s.ptr.add(i + j);
        }
    }
    let mut half = 8;
    while half > 0 {
        for j in 0..half {
            l[j] += l[j + half];
        }
        half /= 2;
    }
    l[0]
}

#[cfg(all(target_feature = "avx2", not(target_feature = "avx512f")))]
#[inline(always)]
unsafe fn sum_floats(s: Slice<f64>) -> f64 {
    use core::arch::x86_64::*;
    // Read from 16-r on, this is a mask of r elements.
    static MASKS: [i64; 32] = {
        let (mut m, mut i) = ([0; 32], 0);
        while i < 16 {
            m[i] = -1;
            i += 1;
        }
        m
    };
    let mut l = [_mm256_setzero_pd(); 4];
    let mut i = 0;
    while i + 16 <= s.len {
        for j in 0..4 {
            l[j] = _mm256_add_pd(l[j], _mm256_loadu_pd(s.ptr.add(i + 4 * j)));
        }
        i += 16;
    }
    // As with AVX-512, a lane that gets no element gets +0.
    let m = MASKS.as_ptr().add(16 - (s.len - i));
    for j in 0..4 {
        if i + 4 * j < s.len {
            let keep = _mm256_loadu_si256(m.add(4 * j) as *const __m256i);
            l[j] = _mm256_add_pd(l[j], _mm256_maskload_pd(s.ptr.add(i + 4 * j), keep));
        }
    }
    let v = _mm256_add_pd(_mm256_add_pd(l[0], l[2]), _mm256_add_pd(l[1], l[3]));
    let v = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)))
}

#[cfg(target_feature = "avx512f")]
#[inline(always)]
unsafe fn sum_floats(s: Slice<f64>) -> f64 {
    use core::arch::x86_64::*;
    let (mut a, mut b) = (_mm512_setzero_pd(), _mm512_setzero_pd());
    let mut i = 0;
    while i + 16 <= s.len {
        a = _mm512_add_pd(a, _mm512_loadu_pd(s.ptr.add(i)));
        b = _mm512_add_pd(b, _mm512_loadu_pd(s.ptr.add(i + 8)));
        i += 16;
    }
    // A lane that gets no element gets +0, which changes no lane: they start
    // at +0 and never become -0.
    let keep = _bzhi_u32(!0, (s.len - i) as u32);
    if i < s.len {
        a = _mm512_add_pd(a, _mm512_maskz_loadu_pd(keep as u8, s.ptr.add(i)));
    }
    if i + 8 < s.len {
        b = _mm512_add_pd(b, _mm512_maskz_loadu_pd((keep >> 8) as u8, s.ptr.wrapping_add(i + 8)));
    }
    let v = _mm512_add_pd(a, b);
    let v = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    let v = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v)))
}

macro_rules! tiers {
    ($(($sum:ident $ext:ident $fsum:ident $fext:ident))*) => {$(
        kernel! { $sum, sum, fn(s: Slice<i64>) -> i64 { sum_ints(s) } }
        kernel! { $ext, whole, fn(s: Slice<i64>) -> Two<i64, i64> { extremes(s) } }
        kernel! { $fsum, sum, fn(s: Slice<f64>) -> f64 { sum_floats(s) } }
        kernel! { $fext, whole, fn(s: Slice<f64>) -> Two<i64, i64> { float_extremes(s) } }
    )*};
}
tiers! {
    (sum_int64_sse42 min_max_int64_sse42 sum_float64_sse42 min_max_float64_sse42)
    (sum_int64_avx2 min_max_int64_avx2 sum_float64_avx2 min_max_float64_avx2)
    (sum_int64_avx512 min_max_int64_avx512 sum_float64_avx512 min_max_float64_avx512)
    (sum_int64_neon min_max_int64_neon sum_float64_neon min_max_float64_neon)
}
