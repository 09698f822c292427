// Package simd holds SIMD kernels that cost a Go call: no cgo, and no Rust and
// no environment variable to build or run them.
//
// The kernels check, compare, lower, count and sum. Each exists for the
// instruction sets worth having (SSE4.2, AVX2, AVX-512 with VBMI; NEON on
// arm64) and in plain Go, and gives the same result to the last bit whichever
// is used. [Tier] tells which; SIMD_MAX=purego|sse42|avx2|vclmul|avx512|neon in the
// environment lowers it, and the build tag purego leaves all assembly out.
//
// # How it works
//
// A kernel is a Rust function. The generator in cmd/simdgen compiles it, links
// it itself and writes the bytes into a Go assembly file. Go's argument block
// is a C struct, so a call is one address computation and a jump. See
// docs/how-a-call-works.md, and docs/write-your-own-kernel.md for kernels in
// modules of your own.
//
// # Limits
//
// A kernel cannot be preempted. The wrappers hand it at most 256 KiB at a
// time, about 15 microseconds, so that a stop-the-world does not wait longer.
//
// Kernels read nothing outside their arguments and write nothing outside their
// destinations; what overlaps without being allowed to panics first. The race
// detector sees their reads and writes. The memory and address sanitizers of
// cgo do not.
//
// A buffer that another goroutine changes during the call is a data race, as
// in Go; the result is then any of those that the bytes could give.
package simd

//go:generate ./regen
