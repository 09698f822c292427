package crc_test

import (
	"fmt"

	"github.com/beagle-go/beagle/simd/crc"
)

func ExampleCombine() {
	a, b := "hello, ", "world"
	both := crc.Combine(crc.UpdateString(0, a), crc.UpdateString(0, b), int64(len(b)))
	fmt.Println(both == crc.UpdateString(0, a+b))
	// Output: true
}

func ExamplePair() {
	var p crc.Pair
	p.Write([]byte("hello, "))
	p.Write([]byte("world"))
	fmt.Println(p.Sum == crc.UpdateString(0, "world"), p.Running == crc.UpdateString(0, "hello, world"))
	// Output: true true
}
