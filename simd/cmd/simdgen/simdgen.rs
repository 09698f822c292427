//! What a kernel file needs: the types that have the same layout in Go and in
//! Rust, and the `kernel!` macro.
//!
//! Go's ABI0 argument block is a C struct: the arguments in order, each at its
//! natural alignment, the results from the next multiple of eight. A kernel is
//! therefore one function that takes one pointer, and the Go side is a single
//! address computation. simdgen compiles the file once with
//! `--cfg simdgen_records` to learn which kernels it holds, then once per
//! kernel with `--cfg NAME` and the target features of the kernel's tier, so a
//! body may use every instruction of its tier without further attributes.
#![no_std]

/// A Go slice or string that the kernel reads. The pointer is nil when the Go
/// value was nil, and nothing may be read outside `len` elements.
#[repr(C)]
pub struct Slice<T> {
    pub ptr: *const T,
    pub len: usize,
}

impl<T> Clone for Slice<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Slice<T> {}

impl<T> Slice<T> {
    /// The elements as a Rust slice; a nil slice is an empty one.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        if self.ptr.is_null() {
            return &[];
        }
        unsafe { core::slice::from_raw_parts(self.ptr, self.len) }
    }
}

/// A Go slice that the kernel writes.
#[repr(C)]
pub struct SliceMut<T> {
    pub ptr: *mut T,
    pub len: usize,
}

impl<T> Clone for SliceMut<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for SliceMut<T> {}

impl<T> SliceMut<T> {
    /// The elements as a mutable Rust slice; a nil slice is an empty one.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        if self.ptr.is_null() {
            return &mut [];
        }
        unsafe { core::slice::from_raw_parts_mut(self.ptr, self.len) }
    }
}

/// `[]byte` or `string`, read.
pub type Bytes = Slice<u8>;
/// `[]byte`, written.
pub type BytesMut = SliceMut<u8>;

/// One element of a `[]string`. Kernels may read pointers, never write them.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Str {
    pub ptr: *const u8,
    pub len: usize,
}

/// `*[N]byte`, read.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub struct Table<const N: usize>(pub *const [u8; N]);

/// Two results of one kernel.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Two<A, B>(pub A, pub B);

/// The results start at a multiple of eight.
#[repr(C, align(8))]
pub struct Ret<T>(pub T);

/// How a type is called in the signature record, and how an argument is read.
pub trait Go: Copy {
    const SIG: &'static [&'static str];
    #[inline(always)]
    unsafe fn read(at: *const Self) -> Self {
        *at
    }
}

/// What a slice may hold.
pub trait Elem {
    const NAME: &'static str;
}

macro_rules! scalars {
    ($($t:ty = $n:literal),* $(,)?) => {$(
        impl Go for $t { const SIG: &'static [&'static str] = &[$n]; }
        impl Elem for $t { const NAME: &'static str = $n; }
    )*};
}
scalars! {
    u32 = "uint32", u64 = "uint64", usize = "int",
    i32 = "int32", i64 = "int64", isize = "int", f32 = "float32", f64 = "float64",
}
// Go stores a narrow argument with its own width. LLVM knows that the bytes
// behind it may be read and would load four: such a load can not take its value
// from the store before it and waits some twenty cycles for the cache.
macro_rules! narrow {
    ($($t:ty = $n:literal),* $(,)?) => {$(
        impl Go for $t {
            const SIG: &'static [&'static str] = &[$n];
            #[inline(always)]
            unsafe fn read(at: *const Self) -> Self { core::ptr::read_volatile(at) }
        }
        impl Elem for $t { const NAME: &'static str = $n; }
    )*};
}
narrow! { bool = "bool", u8 = "uint8", u16 = "uint16", i8 = "int8", i16 = "int16" }
impl Elem for Str {
    const NAME: &'static str = "string";
}
// Named so that simdgen can refuse it with a reason of its own.
impl<T> Elem for *const T {
    const NAME: &'static str = "unsafe.Pointer";
}
impl<T> Elem for *mut T {
    const NAME: &'static str = "unsafe.Pointer";
}

impl Go for () {
    const SIG: &'static [&'static str] = &[];
}
impl<T: Elem> Go for Slice<T> {
    const SIG: &'static [&'static str] = &["[]", T::NAME];
}
impl<T: Elem> Go for SliceMut<T> {
    const SIG: &'static [&'static str] = &["mut[]", T::NAME];
}
impl<A: Elem + Copy, B: Elem + Copy> Go for Two<A, B> {
    const SIG: &'static [&'static str] = &[A::NAME, ",", B::NAME];
}
macro_rules! tables {
    ($($n:literal)*) => {$(
        impl Go for Table<$n> { const SIG: &'static [&'static str] = &["*[", stringify!($n), "]uint8"]; }
    )*};
}
tables! { 16 32 64 128 256 512 1024 }

/// Joins the parts of a signature record; zeros fill the rest.
pub const fn record(parts: &[&[&str]]) -> [u8; 512] {
    let mut out = [0u8; 512];
    let (mut at, mut i) = (0, 0);
    while i < parts.len() {
        let mut j = 0;
        while j < parts[i].len() {
            let s = parts[i][j].as_bytes();
            let mut k = 0;
            while k < s.len() {
                out[at] = s[k];
                at += 1;
                k += 1;
            }
            j += 1;
        }
        i += 1;
    }
    out
}

/// Declares a kernel: `kernel! { NAME_TIER, MODE, fn(arg: Type, ...) -> Type { body } }`.
/// The part of the name after the last underscore is the tier; MODE says how
/// the results of consecutive chunks combine (see docs/write-your-own-kernel.md).
#[macro_export]
macro_rules! kernel {
    ($name:ident, $mode:ident, fn($($arg:ident : $ty:ty),* $(,)?) -> $ret:ty $body:block) => {
        #[cfg(simdgen_records)]
        const _: () = {
            #[used]
            #[link_section = ".simdgen"]
            static RECORD: [u8; 512] = $crate::record(&[
                &[stringify!($name), "\n", stringify!($mode), "\n"],
                $(&[stringify!($arg), " "], <$ty as $crate::Go>::SIG, &["\n"],)*
                &["-> "], <$ret as $crate::Go>::SIG, &["\n"],
            ]);
        };
        #[cfg($name)]
        const _: () = {
            #[repr(C)]
            struct Args { $($arg: $ty,)* ret: $crate::Ret<$ret> }
            #[inline(always)]
            unsafe fn body($($arg: $ty),*) -> $ret $body
            #[no_mangle]
            unsafe extern "C" fn $name(a: *mut Args) {
                let r = body($(<$ty as $crate::Go>::read(core::ptr::addr_of!((*a).$arg))),*);
                (*a).ret.0 = r;
            }
        };
    };
}
