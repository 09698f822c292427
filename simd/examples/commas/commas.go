// Package commas is a kernel of one's own: kernel.rs is all of the Rust, this
// file all of the Go. The z files come from simdgen.
package commas

//go:generate go run github.com/beagle-go/beagle/simd/cmd/simdgen gen -rust kernel.rs -arch amd64

// Count returns the number of commas in b.
func Count(b []byte) int { return commas(b) }

func commasGo(b []byte) (n int) {
	for _, c := range b {
		if c == ',' {
			n++
		}
	}
	return n
}
