module github.com/beagle-go/beagle/internal/rollout/pilot/flaggertest

go 1.26.1

require github.com/beagle-go/beagle v0.0.0

require github.com/fluxcd/flagger v1.36.1 // indirect

replace (
	github.com/beagle-go/beagle => ../../../..
	github.com/beagle-go/beagle/probe => ../../../../probe
)
