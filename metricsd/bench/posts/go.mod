module github.com/beagle-go/beagle/metricsd/bench/posts

go 1.26.0

replace (
	github.com/beagle-go/beagle/metricsd => ../..
	github.com/beagle-go/beagle/simd => ../../../simd
)

require (
	github.com/armon/go-radix v1.0.0
	github.com/beagle-go/beagle/metricsd v0.0.0
	github.com/beagle-go/beagle/simd v0.0.0
	github.com/cespare/xxhash/v2 v2.3.0
	github.com/klauspost/compress v1.20.3
	github.com/tchap/go-patricia/v2 v2.3.3
	github.com/zeebo/xxh3 v1.1.0
	golang.org/x/sys v0.49.0
)

require github.com/klauspost/cpuid/v2 v2.2.10 // indirect
