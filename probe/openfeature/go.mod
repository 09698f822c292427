module github.com/beagle-go/beagle/probe/openfeature

go 1.26.0

require (
	github.com/beagle-go/beagle/probe v0.0.0
	github.com/open-feature/go-sdk v1.20.0
)

require go.uber.org/mock v0.6.0 // indirect

replace github.com/beagle-go/beagle/probe => ../
