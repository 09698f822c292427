module github.com/beagle-go/beagle/metricsd/bench/posts

go 1.26.0

replace (
	github.com/beagle-go/beagle/metricsd => ../..
	github.com/beagle-go/beagle/simd => ../../../simd
)

require (
	github.com/beagle-go/beagle/metricsd v0.0.0
	github.com/beagle-go/beagle/simd v0.0.0
	golang.org/x/sys v0.49.0
)
