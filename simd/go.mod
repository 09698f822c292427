module github.com/beagle-go/beagle/simd

go 1.26.0
