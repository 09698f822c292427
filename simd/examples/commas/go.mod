module example.com/commas

go 1.26.0

require github.com/beagle-go/beagle/simd v0.0.0

replace github.com/beagle-go/beagle/simd => ../..
