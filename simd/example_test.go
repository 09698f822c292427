package simd_test

import (
	"fmt"

	"github.com/beagle-go/beagle/simd"
)

func ExampleASCII() {
	fmt.Println(simd.ASCII([]byte("plain")), simd.ASCIIString("naïve"))
	// Output: true false
}

func ExampleIndexNonTagString() {
	tag := "env:prod west"
	i := simd.IndexNonTagString(tag)
	fmt.Printf("%d %q\n", i, tag[i])
	// Output: 8 ' '
}

func ExampleIndexInvalidTag() {
	fmt.Println(simd.IndexInvalidTag([]string{"env:prod", "host:web-1", "bad tag", "team:core"}))
	// Output: 2
}

func ExampleClass() {
	hex := simd.NewClass("0123456789abcdef")
	fmt.Println(hex.AllString("c0ffee"), hex.IndexNotString("c0ffee!"))
	// Output: true 6
}

func ExampleLowerASCII() {
	dst := make([]byte, 16)
	n := simd.LowerASCII(dst, []byte("Content-TYPE: é"))
	fmt.Println(string(dst[:n]))
	// Output: content-type: é
}

func ExampleEqualMask() {
	line := []byte("a,b,,c")
	mask := make([]uint64, 1)
	simd.EqualMask(mask, line, ',')
	fmt.Printf("%06b %d\n", mask[0], simd.Count(line, ','))
	// Output: 011010 3
}

func ExampleMinMaxInt64() {
	lo, hi := simd.MinMaxInt64([]int64{3, -7, 12})
	fmt.Println(lo, hi, simd.SumInt64([]int64{3, -7, 12}))
	// Output: -7 12 8
}
