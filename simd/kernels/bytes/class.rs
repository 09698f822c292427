//! Byte classes. A class is a bitmap looked up with two shuffles: the low
//! nibble selects a row of eight bits, one per high nibble, and the high
//! nibble selects the bit. Bytes from 0x80 on use a second table of rows.
use crate::vec::*;
use simdgen::*;

/// Rows for the high nibbles 0-7 and, in `high`, for 8-15. ASCII classes leave
/// `high` out, and then the top bit of a byte makes the shuffle give zero.
struct Class<const FULL: bool> {
    low: V16,
    high: V16,
    bits: V16,
}

const fn member(c: u8) -> bool {
    matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'_' | b':' | b'.' | b'/' | b'-')
}

/// Row l holds bit h for each byte 16h+l of the class.
const fn tag_rows() -> [u8; 16] {
    let mut rows = [0u8; 16];
    let mut c = 0;
    while c < 128 {
        if member(c as u8) {
            rows[c & 15] |= 1 << (c >> 4);
        }
        c += 1;
    }
    rows
}

static TAG: [u8; 16] = tag_rows();
static BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

#[inline(always)]
unsafe fn tag() -> Class<false> {
    let low = load16(TAG.as_ptr());
    Class { low, high: low, bits: load16(BITS.as_ptr()) }
}

#[inline(always)]
unsafe fn class(t: Table<32>) -> Class<true> {
    let p = t.0 as *const u8;
    Class { low: load16(p), high: load16(p.add(16)), bits: load16(BITS.as_ptr()) }
}

#[cfg(target_arch = "x86_64")]
impl<const FULL: bool> Scan for Class<FULL> {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        let nib = _mm_set1_epi8(15);
        let bit = _mm_shuffle_epi8(self.bits, _mm_and_si128(_mm_srli_epi16(v, 4), nib));
        let row = if FULL {
            // A shuffle index with its top bit set gives zero, so each table
            // answers for its half only and the halves are combined with or.
            let flip = _mm_xor_si128(v, _mm_set1_epi8(-128));
            let drop = _mm_set1_epi8(-113); // 0x8f: keep the top bit and the low nibble
            _mm_or_si128(_mm_shuffle_epi8(self.low, _mm_and_si128(v, drop)), _mm_shuffle_epi8(self.high, _mm_and_si128(flip, drop)))
        } else {
            _mm_shuffle_epi8(self.low, v)
        };
        _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_and_si128(row, bit), _mm_setzero_si128())) as u32
    }
}
#[cfg(target_feature = "avx2")]
impl<const FULL: bool> Scan32 for Class<FULL> {
    #[inline(always)]
    unsafe fn bad32(&self, v: __m256i) -> u32 {
        _mm256_movemask_epi8(self.flag32(v)) as u32
    }
    #[inline(always)]
    unsafe fn flag32(&self, v: __m256i) -> __m256i {
        let nib = _mm256_set1_epi8(15);
        let bits = _mm256_broadcastsi128_si256(self.bits);
        let low = _mm256_broadcastsi128_si256(self.low);
        let bit = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(v, 4), nib));
        let row = if FULL {
            let high = _mm256_broadcastsi128_si256(self.high);
            let flip = _mm256_xor_si256(v, _mm256_set1_epi8(-128));
            _mm256_or_si256(_mm256_shuffle_epi8(low, v), _mm256_shuffle_epi8(high, flip))
        } else {
            _mm256_shuffle_epi8(low, v)
        };
        _mm256_cmpeq_epi8(_mm256_and_si256(row, bit), _mm256_setzero_si256())
    }
}
#[cfg(target_feature = "avx512bw")]
impl<const FULL: bool> Scan64 for Class<FULL> {
    #[inline(always)]
    unsafe fn bad64(&self, v: __m512i) -> u64 {
        let nib = _mm512_set1_epi8(15);
        let low = _mm512_broadcast_i32x4(self.low);
        let bits = _mm512_broadcast_i32x4(self.bits);
        let bit = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(v, 4), nib));
        let row = if FULL {
            let high = _mm512_broadcast_i32x4(self.high);
            let flip = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
            _mm512_or_si512(_mm512_shuffle_epi8(low, v), _mm512_shuffle_epi8(high, flip))
        } else {
            _mm512_shuffle_epi8(low, v)
        };
        _mm512_testn_epi8_mask(row, bit)
    }
}
#[cfg(target_arch = "aarch64")]
impl<const FULL: bool> Scan for Class<FULL> {
    #[inline(always)]
    unsafe fn bad16(&self, v: V16) -> u32 {
        mask16(self.flag(v))
    }
}
#[cfg(target_arch = "aarch64")]
impl<const FULL: bool> ScanNeon for Class<FULL> {
    #[inline(always)]
    unsafe fn flag(&self, v: uint8x16_t) -> uint8x16_t {
        // TBL gives zero for an index above 15, PSHUFB looks at the top bit only.
        let nib = vdupq_n_u8(0x8f);
        let bit = vqtbl1q_u8(self.bits, vshrq_n_u8::<4>(v));
        let mut row = vqtbl1q_u8(self.low, vandq_u8(v, nib));
        if FULL {
            let flip = veorq_u8(v, vdupq_n_u8(0x80));
            row = vorrq_u8(row, vqtbl1q_u8(self.high, vandq_u8(flip, nib)));
        }
        vceqzq_u8(vandq_u8(row, bit))
    }
}

/// VBMI looks a byte up in a table of 128 directly: one instruction, not three.
#[cfg(target_feature = "avx512vbmi")]
struct Vbmi {
    lo: __m512i,
    hi: __m512i,
}

/// 0x80 for each byte that is not in the class; a byte from 0x80 on brings its
/// own top bit along.
const fn tag_flags() -> [u8; 128] {
    let mut t = [0x80u8; 128];
    let mut c = 0;
    while c < 128 {
        if member(c as u8) {
            t[c] = 0;
        }
        c += 1;
    }
    t
}
#[cfg(target_feature = "avx512vbmi")]
static FLAGS: [u8; 128] = tag_flags();

#[cfg(target_feature = "avx512vbmi")]
impl Scan64 for Vbmi {
    #[inline(always)]
    unsafe fn bad64(&self, v: __m512i) -> u64 {
        _mm512_movepi8_mask(_mm512_or_si512(_mm512_permutex2var_epi8(self.lo, v, self.hi), v))
    }
}
#[cfg(target_feature = "avx512vbmi")]
#[inline(always)]
unsafe fn vbmi() -> Vbmi {
    Vbmi { lo: load64(FLAGS.as_ptr()), hi: load64(FLAGS.as_ptr().add(64)) }
}

kernel! { tag_index_sse42, first, fn(b: Bytes) -> usize {
    if b.len < 16 { first_short(&tag(), b.ptr, b.len) } else { first_by16(&tag(), b.ptr, b.len, 0) }
} }
kernel! { tag_index_avx2, first, fn(b: Bytes) -> usize { first_avx2(&tag(), b.ptr, b.len) } }
kernel! { tag_index_avx512, first, fn(b: Bytes) -> usize { first_avx512(&vbmi(), b.ptr, b.len) } }
kernel! { tag_index_neon, first, fn(b: Bytes) -> usize { first_neon(&tag(), b.ptr, b.len) } }

kernel! { class_index_sse42, first, fn(b: Bytes, rows: Table<32>) -> usize {
    if b.len < 16 { first_short(&class(rows), b.ptr, b.len) } else { first_by16(&class(rows), b.ptr, b.len, 0) }
} }
kernel! { class_index_avx2, first, fn(b: Bytes, rows: Table<32>) -> usize { first_avx2(&class(rows), b.ptr, b.len) } }
kernel! { class_index_avx512, first, fn(b: Bytes, rows: Table<32>) -> usize { first_avx512(&class(rows), b.ptr, b.len) } }
kernel! { class_index_neon, first, fn(b: Bytes, rows: Table<32>) -> usize { first_neon(&class(rows), b.ptr, b.len) } }

/// How many bytes one batch may look at, so that it ends soon. A string's
/// header counts as eight.
const BUDGET: usize = 256 << 10;

/// Index of the first tag that is bad, or that the budget does not cover.
macro_rules! batch {
    ($tags:ident, $first:ident, $scan:expr) => {{
        let scan = $scan;
        let (mut i, mut left) = (0, BUDGET);
        while i < $tags.len {
            let t = *$tags.ptr.add(i);
            if t.len + 8 > left {
                break;
            }
            left -= t.len + 8;
            if $first(&scan, t.ptr, t.len) != t.len {
                break;
            }
            i += 1;
        }
        i
    }};
}

#[cfg(any(target_arch = "aarch64", target_feature = "sse4.2"))]
#[inline(always)]
unsafe fn first_any(s: &impl Scan, p: *const u8, n: usize) -> usize {
    if n < 16 {
        first_short(s, p, n)
    } else {
        first_by16(s, p, n, 0)
    }
}

kernel! { tags_index_sse42, whole, fn(tags: Slice<Str>) -> usize { batch!(tags, first_any, tag()) } }
kernel! { tags_index_avx2, whole, fn(tags: Slice<Str>) -> usize { batch!(tags, first_avx2, tag()) } }
kernel! { tags_index_avx512, whole, fn(tags: Slice<Str>) -> usize { batch!(tags, first_avx512, vbmi()) } }
kernel! { tags_index_neon, whole, fn(tags: Slice<Str>) -> usize { batch!(tags, first_any, tag()) } }
