module github.com/beagle-go/beagle/metricsd/bench/posts

go 1.26.0

replace (
	github.com/beagle-go/beagle/metricsd => ../..
	github.com/beagle-go/beagle/simd => ../../../simd
)

require golang.org/x/sys v0.49.0 // indirect
