module github.com/beagle-go/beagle/metricsd

go 1.26.0
