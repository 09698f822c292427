// Package simd holds SIMD kernels that cost a Go call: no cgo, no Rust and no
// environment variable to build or run them.
package simd

//go:generate go run ./cmd/simdgen gen -rust kernels/bytes/lib.rs
