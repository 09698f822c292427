//! Which bytes equal c: as a bit mask, and how many.
use crate::vec::*;
use simdgen::*;

/// A scan whose "bad" bytes are the ones that equal.
struct Equal {
    c: V16,
}

#[cfg(target_arch = "x86_64")]
impl Scan for Equal {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        _mm_movemask_epi8(_mm_cmpeq_epi8(v, self.c)) as u32
    }
}
#[cfg(target_arch = "aarch64")]
impl Scan for Equal {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        mask16(vceqq_u8(v, self.c))
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn equal(c: u8) -> Equal {
    Equal { c: _mm_set1_epi8(c as i8) }
}
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn equal(c: u8) -> Equal {
    Equal { c: vdupq_n_u8(c) }
}

/// One bit for each of fewer than 64 bytes.
#[inline(always)]
unsafe fn mask_short(e: &Equal, p: *const u8, n: usize) -> u64 {
    if n < 16 {
        return mask_words(e, p, n) as u64;
    }
    let (mut m, mut i) = (0u64, 0);
    while i + 16 <= n {
        m |= (e.bad16(load16(p.add(i))) as u64) << i;
        i += 16;
    }
    if i < n {
        // The overlap is masked twice, with the same bits.
        m |= (e.bad16(load16(p.add(n - 16))) as u64) << (n - 16);
    }
    m
}

#[inline(always)]
unsafe fn mask_words(e: &Equal, p: *const u8, n: usize) -> u32 {
    if n >= 8 {
        let m = e.bad16(from64(u64_at(p), u64_at(p.add(n - 8))));
        return m & 0xff | (m >> 8) << (n - 8);
    }
    if n >= 4 {
        let w = u32_at(p) as u64 | (u32_at(p.add(n - 4)) as u64) << 32;
        let m = e.bad16(from64(w, 0));
        return m & 0xf | (m >> 4 & 0xf) << (n - 4);
    }
    if n == 0 {
        return 0;
    }
    e.bad16(from64(three(p, n) as u64, 0)) & ((1 << n) - 1)
}

#[cfg(not(target_feature = "avx512bw"))]
#[inline(always)]
unsafe fn mask64(e: &Equal, p: *const u8) -> u64 {
    let lo = e.bad16(load16(p)) | e.bad16(load16(p.add(16))) << 16;
    let hi = e.bad16(load16(p.add(32))) | e.bad16(load16(p.add(48))) << 16;
    lo as u64 | (hi as u64) << 32
}

#[cfg(not(target_feature = "avx512bw"))]
#[inline(always)]
unsafe fn mask_all(out: *mut u64, p: *const u8, n: usize, c: u8) {
    let e = equal(c);
    let mut i = 0;
    while i + 64 <= n {
        *out.add(i / 64) = mask64(&e, p.add(i));
        i += 64;
    }
    if i < n {
        *out.add(i / 64) = mask_short(&e, p.add(i), n - i);
    }
}

#[cfg(target_feature = "avx512bw")]
#[inline(always)]
unsafe fn mask_all(out: *mut u64, p: *const u8, n: usize, c: u8) {
    let v = _mm512_set1_epi8(c as i8);
    let mut i = 0;
    while i + 64 <= n {
        *out.add(i / 64) = _mm512_cmpeq_epi8_mask(load64(p.add(i)), v);
        i += 64;
    }
    if i < n {
        let keep = _bzhi_u64(!0, (n - i) as u32);
        *out.add(i / 64) = _mm512_mask_cmpeq_epi8_mask(keep, _mm512_maskz_loadu_epi8(keep, p.add(i) as *const i8), v);
    }
}

#[cfg(not(any(target_feature = "avx2", target_arch = "aarch64")))]
#[inline(always)]
unsafe fn count_all(p: *const u8, n: usize, c: u8) -> usize {
    let e = equal(c);
    let (mut k, mut i) = (0, 0);
    while i + 64 <= n {
        k += mask64(&e, p.add(i)).count_ones() as usize;
        i += 64;
    }
    k + mask_short(&e, p.add(i), n - i).count_ones() as usize
}

/// Each lane counts up to 255 hits before the lanes are added up.
#[cfg(all(target_feature = "avx2", not(target_feature = "avx512bw")))]
#[inline(always)]
unsafe fn count_all(p: *const u8, n: usize, c: u8) -> usize {
    let v = _mm256_set1_epi8(c as i8);
    let mut total = _mm256_setzero_si256();
    let mut i = 0;
    while i + 64 <= n {
        let end = i + core::cmp::min((n - i) / 64, 127) * 64;
        let mut lanes = _mm256_setzero_si256();
        while i < end {
            lanes = _mm256_sub_epi8(lanes, _mm256_cmpeq_epi8(load32(p.add(i)), v));
            lanes = _mm256_sub_epi8(lanes, _mm256_cmpeq_epi8(load32(p.add(i + 32)), v));
            i += 64;
        }
        total = _mm256_add_epi64(total, _mm256_sad_epu8(lanes, _mm256_setzero_si256()));
    }
    let h = _mm_add_epi64(_mm256_castsi256_si128(total), _mm256_extracti128_si256(total, 1));
    let k = _mm_cvtsi128_si64(h) + _mm_extract_epi64(h, 1);
    k as usize + mask_short(&equal(c), p.add(i), n - i).count_ones() as usize
}

#[cfg(target_feature = "avx512bw")]
#[inline(always)]
unsafe fn count_all(p: *const u8, n: usize, c: u8) -> usize {
    let v = _mm512_set1_epi8(c as i8);
    let (mut k, mut l, mut i) = (0, 0, 0);
    while i + 128 <= n {
        k += _mm512_cmpeq_epi8_mask(load64(p.add(i)), v).count_ones() as usize;
        l += _mm512_cmpeq_epi8_mask(load64(p.add(i + 64)), v).count_ones() as usize;
        i += 128;
    }
    if i + 64 <= n {
        k += _mm512_cmpeq_epi8_mask(load64(p.add(i)), v).count_ones() as usize;
        i += 64;
    }
    if i == n {
        return k + l;
    }
    let keep = _bzhi_u64(!0, (n - i) as u32);
    let last = _mm512_maskz_loadu_epi8(keep, p.add(i) as *const i8);
    k + l + _mm512_mask_cmpeq_epi8_mask(keep, last, v).count_ones() as usize
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn count_all(p: *const u8, n: usize, c: u8) -> usize {
    let v = vdupq_n_u8(c);
    let (mut k, mut i) = (0usize, 0);
    while i + 16 <= n {
        let end = i + core::cmp::min((n - i) / 16, 255) * 16;
        let mut lanes = vdupq_n_u8(0);
        while i < end {
            lanes = vsubq_u8(lanes, vceqq_u8(load16(p.add(i)), v));
            i += 16;
        }
        k += vaddlvq_u8(lanes) as usize;
    }
    k + mask_words(&equal(c), p.add(i), n - i).count_ones() as usize
}

kernel! { equal_mask_sse42, whole, fn(mask: SliceMut<u64>, b: Bytes, c: u8) -> () { mask_all(mask.ptr, b.ptr, b.len, c) } }
kernel! { equal_mask_avx512, whole, fn(mask: SliceMut<u64>, b: Bytes, c: u8) -> () { mask_all(mask.ptr, b.ptr, b.len, c) } }
kernel! { equal_mask_neon, whole, fn(mask: SliceMut<u64>, b: Bytes, c: u8) -> () { mask_all(mask.ptr, b.ptr, b.len, c) } }

kernel! { count_sse42, sum, fn(b: Bytes, c: u8) -> usize { count_all(b.ptr, b.len, c) } }
kernel! { count_avx2, sum, fn(b: Bytes, c: u8) -> usize { count_all(b.ptr, b.len, c) } }
kernel! { count_avx512, sum, fn(b: Bytes, c: u8) -> usize { count_all(b.ptr, b.len, c) } }
kernel! { count_neon, sum, fn(b: Bytes, c: u8) -> usize { count_all(b.ptr, b.len, c) } }
