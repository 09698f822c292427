package main

import (
	"bytes"
	"hash/crc32"
	"math/rand/v2"

	"github.com/beagle-go/beagle/simd"
	"github.com/beagle-go/beagle/simd/crc"
)

// A match is a kernel against the best plain Go, for n bytes (or numbers).
type match struct {
	name string
	min  int // shortest input
	pair func(n int) (kernel, plain contender)
}

// letters is valid input for all byte kernels: nothing stops early.
func letters(n int) []byte {
	return bytes.Repeat([]byte("env:prod-7"), n/10+1)[:n]
}

var class = simd.NewClass("abcdefghijklmnopqrstuvwxyz0123456789_:./- \xe9")
var classPlain = classTable("abcdefghijklmnopqrstuvwxyz0123456789_:./- \xe9")

//go:noinline
func plainClassCall(b []byte) int { return plainClass(b, classPlain) }

// matches are the loops, spelled out: a closure per call would cost as much as a kernel.
var matches = []match{
	{"ASCII", 0, func(n int) (contender, contender) {
		b := letters(n)
		return func(k int) (s int) {
				for range k {
					s += flag01(simd.ASCII(b))
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += flag01(plainASCII(b) == len(b))
				}
				return s
			}
	}},
	{"TagValid", 0, func(n int) (contender, contender) {
		b := letters(n)
		return func(k int) (s int) {
				for range k {
					s += flag01(simd.TagValid(b))
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += flag01(plainTag(b) == len(b))
				}
				return s
			}
	}},
	{"Class.All", 0, func(n int) (contender, contender) {
		b := letters(n)
		return func(k int) (s int) {
				for range k {
					s += flag01(class.All(b))
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += flag01(plainClassCall(b) == len(b))
				}
				return s
			}
	}},
	{"LowerASCII", 0, func(n int) (contender, contender) {
		// Not in place: each call would wait for the stores of the one before.
		b, d := letters(n), make([]byte, n)
		return func(k int) int {
				for range k {
					simd.LowerASCII(d, b)
				}
				return n
			}, func(k int) int {
				for range k {
					plainLower(d, b)
				}
				return n
			}
	}},
	{"EqualMask", 0, func(n int) (contender, contender) {
		b, m := letters(n), make([]uint64, n/64+1)
		return func(k int) int {
				for range k {
					simd.EqualMask(m, b, ':')
				}
				return n
			}, func(k int) int {
				for range k {
					plainMask(m, b, ':')
				}
				return n
			}
	}},
	{"Count", 0, func(n int) (contender, contender) {
		b, sep := letters(n), []byte(":")
		return func(k int) (s int) {
				for range k {
					s += simd.Count(b, ':')
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += bytes.Count(b, sep)
				}
				return s
			}
	}},
	{"crc.Update", 0, func(n int) (contender, contender) {
		b := letters(n)
		return func(k int) int {
				c := uint32(1)
				for range k {
					c += crc.Update(1, b)
				}
				return int(c)
			}, func(k int) int {
				c := uint32(1)
				for range k {
					c += crc32.Update(1, castagnoli, b)
				}
				return int(c)
			}
	}},
	{"crc.UpdateIEEE", 0, func(n int) (contender, contender) {
		b := letters(n)
		return func(k int) int {
				c := uint32(1)
				for range k {
					c += crc.UpdateIEEE(1, b)
				}
				return int(c)
			}, func(k int) int {
				c := uint32(1)
				for range k {
					c += crc32.Update(1, crc32.IEEETable, b)
				}
				return int(c)
			}
	}},
	{"crc.Pair", 0, func(n int) (contender, contender) {
		b := letters(n)
		var p crc.Pair
		return func(k int) int {
				for range k {
					p.Write(b)
				}
				return int(p.Running)
			}, func(k int) int {
				var sum, run uint32
				for range k {
					sum = crc32.Checksum(b, castagnoli)
					run = crc32.Update(run, castagnoli, b)
				}
				return int(sum ^ run)
			}
	}},
	{"SumInt64", 0, func(n int) (contender, contender) {
		v := ints(n)
		return func(k int) (s int) {
				for range k {
					s += int(simd.SumInt64(v))
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += int(plainSum(v))
				}
				return s
			}
	}},
	{"MinMaxInt64", 1, func(n int) (contender, contender) {
		v := ints(n)
		return func(k int) (s int) {
				for range k {
					lo, hi := simd.MinMaxInt64(v)
					s += int(lo + hi)
				}
				return s
			}, func(k int) (s int) {
				for range k {
					lo, hi := plainExtremes(v)
					s += int(lo + hi)
				}
				return s
			}
	}},
	{"SumFloat64", 0, func(n int) (contender, contender) {
		v := floats(n)
		return func(k int) (s int) {
				for range k {
					s += int(simd.SumFloat64(v))
				}
				return s
			}, func(k int) (s int) {
				for range k {
					s += int(plainSumFloat(v))
				}
				return s
			}
	}},
	{"MinMaxFloat64", 1, func(n int) (contender, contender) {
		v := floats(n)
		return func(k int) (s int) {
				for range k {
					lo, hi := simd.MinMaxFloat64(v)
					s += int(lo + hi)
				}
				return s
			}, func(k int) (s int) {
				for range k {
					lo, hi := plainFloatExtremes(v)
					s += int(lo + hi)
				}
				return s
			}
	}},
}

func ints(n int) []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]int64, n)
	for i := range v {
		v[i] = r.Int64() >> 8
	}
	return v
}

func floats(n int) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	v := make([]float64, n)
	for i := range v {
		v[i] = r.Float64()
	}
	return v
}

// mixedTags are 4,096 tags of unpredictable lengths from 4 to 120, most short.
func mixedTags() []string {
	r := rand.New(rand.NewPCG(7, 7))
	tags := make([]string, 4096)
	for i := range tags {
		n := min(4+int(r.ExpFloat64()*18), 120)
		b := make([]byte, n)
		for j := range b {
			b[j] = "abcdefghijklmnopqrstuvwxyz0123456789_:./-"[r.IntN(41)]
		}
		tags[i] = string(b)
	}
	return tags
}
