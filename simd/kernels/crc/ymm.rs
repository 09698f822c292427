//! VPCLMULQDQ on 32 bytes, for processors without AVX-512 or where it is off.
use crate::gf2::*;
use crate::x86::*;
use core::arch::x86_64::*;

/// Lane i of a vector moves forward by `bits` less 128 for i = 1.
#[inline(always)]
fn forward(low: [u64; 2], high: [u64; 2]) -> __m256i {
    unsafe { _mm256_set_epi64x(high[1] as i64, high[0] as i64, low[1] as i64, low[0] as i64) }
}

#[inline(always)]
unsafe fn load256(p: *const u8) -> __m256i {
    _mm256_loadu_si256(p as *const __m256i)
}

#[inline(always)]
unsafe fn times(acc: __m256i, k: __m256i) -> __m256i {
    _mm256_xor_si256(_mm256_clmulepi64_epi128(acc, k, 0x00), _mm256_clmulepi64_epi128(acc, k, 0x11))
}

#[inline(always)]
unsafe fn fold256(acc: __m256i, k: __m256i, data: __m256i) -> __m256i {
    _mm256_xor_si256(times(acc, k), data)
}

/// Four vectors, 128 bytes of message, to the 16 bytes that lie `beyond` bits
/// behind their end. The eight lanes move at once: one level of latency.
macro_rules! gather {
    ($p:expr, $beyond:expr, $a:expr, $b:expr, $c:expr, $d:expr) => {{
        let k = (
            forward(const { fold($beyond + 1024, $p) }, const { fold($beyond + 896, $p) }),
            forward(const { fold($beyond + 768, $p) }, const { fold($beyond + 640, $p) }),
            forward(const { fold($beyond + 512, $p) }, const { fold($beyond + 384, $p) }),
            forward(const { fold($beyond + 256, $p) }, const { fold($beyond + 128, $p) }),
        );
        let ab = _mm256_xor_si256(times($a, k.0), times($b, k.1));
        let cd = _mm256_xor_si256(times($c, k.2), times($d, k.3));
        let t = _mm256_xor_si256(ab, cd);
        _mm_xor_si128(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1))
    }};
}

/// Folds all whole blocks of 128 bytes into 16; n must be 128 + 16 or more.
#[inline(always)]
pub unsafe fn wide<P: Poly>(init: __m128i, p: *const u8, n: usize) -> (__m128i, usize) {
    let k = forward(const { fold(1024, P::P) }, const { fold(1024, P::P) });
    let mut a = _mm256_xor_si256(load256(p), _mm256_zextsi128_si256(init));
    let (mut b, mut c, mut d) = (load256(p.add(32)), load256(p.add(64)), load256(p.add(96)));
    let mut i = 128;
    while i + 128 + 16 <= n {
        a = fold256(a, k, load256(p.add(i)));
        b = fold256(b, k, load256(p.add(i + 32)));
        c = fold256(c, k, load256(p.add(i + 64)));
        d = fold256(d, k, load256(p.add(i + 96)));
        i += 128;
    }
    // The next 16 bytes are there, so the last lane moves like the others.
    let x = gather!(P::P, 0, a, b, c, d);
    (_mm_xor_si128(x, load(p.add(i))), i + 16)
}

/// F bytes are folded while three chains of the crc32 instruction do L bytes
/// each, M words per 128 bytes: they use different units of the processor. The
/// state s before the block enters as a product, so that blocks do not wait
/// for each other.
macro_rules! block {
    ($P:ident, $s:expr, $p:expr, $f:literal, $l:literal, $m:literal) => {{
        const LOOPS: usize = $f / 128 - 1;
        const EXTRA: usize = $f % 128 / 32;
        let p: *const u8 = $p;
        let k = forward(const { fold(1024, $P::P) }, const { fold(1024, $P::P) });
        let (mut a, mut b, mut c, mut d) = (load256(p), load256(p.add(32)), load256(p.add(64)), load256(p.add(96)));
        let mut words = Words { x: 0, y: 0, z: 0, at: p.add($f) };
        let mut i = p.add(128);
        for _ in 0..LOOPS {
            a = fold256(a, k, load256(i));
            b = fold256(b, k, load256(i.add(32)));
            c = fold256(c, k, load256(i.add(64)));
            d = fold256(d, k, load256(i.add(96)));
            i = i.add(128);
            words.step::<$P, $l>($m);
        }
        // What is left over of F goes to the first accumulators, which then
        // are the last ones of the message.
        let m = match EXTRA {
            0 => (a, b, c, d),
            1 => (b, c, d, fold256(a, k, load256(i))),
            2 => (c, d, fold256(a, k, load256(i)), fold256(b, k, load256(i.add(32)))),
            _ => (d, fold256(a, k, load256(i)), fold256(b, k, load256(i.add(32))), fold256(c, k, load256(i.add(64)))),
        };
        words.step::<$P, $l>(const { $l / 8 - LOOPS * $m });
        let v = gather!($P::P, 8 * 3 * $l - 128, m.0, m.1, m.2, m.3);
        let product = |s: u32, k: u64| _mm_clmulepi64_si128(_mm_cvtsi32_si128(s as i32), _mm_cvtsi64_si128(k as i64), 0);
        let t = _mm_xor_si128(product(words.x, const { shift_by(2 * $l, $P::P) }), product(words.y, const { shift_by($l, $P::P) }));
        let t = _mm_xor_si128(t, product($s, const { shift_by($f + 3 * $l, $P::P) }));
        let low = $P::reduce64(_mm_cvtsi128_si64(v) as u64) as u64 ^ _mm_cvtsi128_si64(t) as u64;
        $P::reduce64(low ^ _mm_extract_epi64(v, 1) as u64) ^ words.z
    }};
}

/// Three chains over neighbouring stretches of L bytes.
struct Words {
    x: u32,
    y: u32,
    z: u32,
    at: *const u8,
}

impl Words {
    #[inline(always)]
    unsafe fn step<P: Poly, const L: usize>(&mut self, n: usize) {
        for _ in 0..n {
            self.x = P::step(self.x, word(self.at));
            self.y = P::step(self.y, word(self.at.add(L)));
            self.z = P::step(self.z, word(self.at.add(2 * L)));
            self.at = self.at.add(8);
        }
    }
}

/// Blocks of 8 and of 1 KiB, then the rest; n must be 1024 or more.
#[inline(always)]
pub unsafe fn both<P: Poly>(mut s: u32, p: *const u8, n: usize) -> u32 {
    let mut i = 0;
    while i + 8192 <= n {
        s = block!(P, s, p.add(i), 4736, 1152, 4);
        i += 8192;
    }
    while i + 1024 <= n {
        s = block!(P, s, p.add(i), 736, 96, 3);
        i += 1024;
    }
    if n - i >= WIDE {
        return folded::<P>(s, p.add(i), n - i);
    }
    chains::<P>(s, p.add(i), n - i)
}
