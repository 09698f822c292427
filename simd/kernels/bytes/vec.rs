//! A byte vector of some width, as few operations as the kernels need. Every
//! load lies inside the slice: short inputs use overlapping words or, with
//! AVX-512, masked loads, so nothing outside is ever touched.

#[cfg(target_arch = "x86_64")]
pub use core::arch::x86_64::*;
#[cfg(target_arch = "aarch64")]
pub use core::arch::aarch64::*;

/// A predicate over bytes at three widths. `bad` sets a bit per byte that the
/// predicate rejects.
pub trait Scan {
    /// Mask of the bad bytes among 16, one bit each.
    unsafe fn bad16(&self, v: V16) -> u32;
}

#[cfg(target_arch = "x86_64")]
pub type V16 = __m128i;
#[cfg(target_arch = "aarch64")]
pub type V16 = uint8x16_t;

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn from64(lo: u64, hi: u64) -> V16 {
    _mm_set_epi64x(hi as i64, lo as i64)
}
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn from64(lo: u64, hi: u64) -> V16 {
    vreinterpretq_u8_u64(vcombine_u64(vcreate_u64(lo), vcreate_u64(hi)))
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub unsafe fn load16(p: *const u8) -> V16 {
    _mm_loadu_si128(p as *const __m128i)
}
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn load16(p: *const u8) -> V16 {
    vld1q_u8(p)
}

#[inline(always)]
pub unsafe fn u64_at(p: *const u8) -> u64 {
    (p as *const u64).read_unaligned()
}
#[inline(always)]
pub unsafe fn u32_at(p: *const u8) -> u32 {
    (p as *const u32).read_unaligned()
}

/// The bytes 0, n/2 and n-1 of an input of one to three bytes: all of them.
#[inline(always)]
pub unsafe fn three(p: *const u8, n: usize) -> u32 {
    *p as u32 | (*p.add(n >> 1) as u32) << 8 | (*p.add(n - 1) as u32) << 16
}

/// Index of the first bad byte of an input shorter than 16, else n. Two
/// overlapping words cover each length class.
#[inline(always)]
pub unsafe fn first_short(s: &impl Scan, p: *const u8, n: usize) -> usize {
    if n >= 8 {
        let m = s.bad16(from64(u64_at(p), u64_at(p.add(n - 8))));
        return overlapped(m, n, 8);
    }
    if n >= 4 {
        let w = u32_at(p) as u64 | (u32_at(p.add(n - 4)) as u64) << 32;
        return overlapped(s.bad16(from64(w, w)) & 0xff, n, 4);
    }
    if n == 0 {
        return 0;
    }
    let w = three(p, n) as u64;
    let m = s.bad16(from64(w | (w << 32), 0)) & 7;
    if m == 0 {
        return n;
    }
    if m & 1 != 0 {
        0
    } else if m & 2 != 0 {
        n >> 1
    } else {
        n - 1
    }
}

/// The position for the lowest bit of a mask over two overlapping words.
#[inline(always)]
fn overlapped(m: u32, n: usize, w: usize) -> usize {
    if m == 0 {
        return n;
    }
    let i = m.trailing_zeros() as usize;
    if i < w {
        i
    } else {
        n - 2 * w + i
    }
}

/// 16 bytes at a time from i on, the last step overlapping; n must be 16 or more.
#[inline(always)]
pub unsafe fn first_by16(s: &impl Scan, p: *const u8, n: usize, mut i: usize) -> usize {
    while i + 16 <= n {
        let m = s.bad16(load16(p.add(i)));
        if m != 0 {
            return i + m.trailing_zeros() as usize;
        }
        i += 16;
    }
    if i < n {
        let m = s.bad16(load16(p.add(n - 16)));
        if m != 0 {
            return n - 16 + m.trailing_zeros() as usize;
        }
    }
    n
}

#[cfg(target_feature = "avx2")]
pub trait Scan32: Scan {
    unsafe fn bad32(&self, v: __m256i) -> u32;
    /// A vector with the top bit set in each bad byte, for combining.
    unsafe fn flag32(&self, v: __m256i) -> __m256i;
}

#[cfg(target_feature = "avx2")]
#[inline(always)]
pub unsafe fn load32(p: *const u8) -> __m256i {
    _mm256_loadu_si256(p as *const __m256i)
}

#[cfg(target_feature = "avx2")]
#[inline(always)]
pub unsafe fn first_avx2(s: &impl Scan32, p: *const u8, n: usize) -> usize {
    if n < 16 {
        return first_short(s, p, n);
    }
    if n < 32 {
        let m = s.bad16(load16(p)) | s.bad16(load16(p.add(n - 16))) << 16;
        return overlapped(m, n, 16);
    }
    let mut i = 0;
    while i + 128 <= n {
        let a = _mm256_or_si256(s.flag32(load32(p.add(i))), s.flag32(load32(p.add(i + 32))));
        let b = _mm256_or_si256(s.flag32(load32(p.add(i + 64))), s.flag32(load32(p.add(i + 96))));
        if _mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0 {
            break;
        }
        i += 128;
    }
    while i + 32 <= n {
        let m = s.bad32(load32(p.add(i)));
        if m != 0 {
            return i + m.trailing_zeros() as usize;
        }
        i += 32;
    }
    if i < n {
        let m = s.bad32(load32(p.add(n - 32)));
        if m != 0 {
            return n - 32 + m.trailing_zeros() as usize;
        }
    }
    n
}

#[cfg(target_feature = "avx512bw")]
pub trait Scan64 {
    unsafe fn bad64(&self, v: __m512i) -> u64;
    #[inline(always)]
    unsafe fn any4(&self, a: __m512i, b: __m512i, c: __m512i, d: __m512i) -> bool {
        self.bad64(a) | self.bad64(b) | self.bad64(c) | self.bad64(d) != 0
    }
}

#[cfg(target_feature = "avx512bw")]
#[inline(always)]
pub unsafe fn load64(p: *const u8) -> __m512i {
    _mm512_loadu_si512(p as *const __m512i)
}

/// One masked load serves every length up to 64, without a branch on it.
#[cfg(target_feature = "avx512bw")]
#[inline(always)]
pub unsafe fn first_avx512(s: &impl Scan64, p: *const u8, n: usize) -> usize {
    let mut i = 0;
    if n > 64 {
        while i + 256 <= n {
            if s.any4(load64(p.add(i)), load64(p.add(i + 64)), load64(p.add(i + 128)), load64(p.add(i + 192))) {
                break;
            }
            i += 256;
        }
        while i + 64 <= n {
            let m = s.bad64(load64(p.add(i)));
            if m != 0 {
                return i + m.trailing_zeros() as usize;
            }
            i += 64;
        }
    }
    // A load masked out completely still costs hundreds of cycles when the page
    // behind the input is not there.
    if i == n {
        return n;
    }
    let keep = _bzhi_u64(!0, (n - i) as u32);
    let m = s.bad64(_mm512_maskz_loadu_epi8(keep, p.add(i) as *const i8)) & keep;
    if m != 0 {
        return i + m.trailing_zeros() as usize;
    }
    n
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn mask16(v: uint8x16_t) -> u32 {
    let bits = vld1q_u8([1u8, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128].as_ptr());
    let t = vandq_u8(v, bits);
    vaddv_u8(vget_low_u8(t)) as u32 | (vaddv_u8(vget_high_u8(t)) as u32) << 8
}

/// The NEON loop tests 64 bytes at once and looks closer only on a hit.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub unsafe fn first_neon(s: &impl ScanNeon, p: *const u8, n: usize) -> usize {
    if n < 16 {
        return first_short(s, p, n);
    }
    let mut i = 0;
    while i + 64 <= n {
        let a = vorrq_u8(s.flag(load16(p.add(i))), s.flag(load16(p.add(i + 16))));
        let b = vorrq_u8(s.flag(load16(p.add(i + 32))), s.flag(load16(p.add(i + 48))));
        if vmaxvq_u8(vorrq_u8(a, b)) != 0 {
            break;
        }
        i += 64;
    }
    first_by16(s, p, n, i)
}

#[cfg(target_arch = "aarch64")]
pub trait ScanNeon: Scan {
    /// 0xff in each bad byte.
    unsafe fn flag(&self, v: uint8x16_t) -> uint8x16_t;
}
