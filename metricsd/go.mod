module github.com/beagle-go/beagle/metricsd

go 1.26.0

require github.com/DataDog/sketches-go v1.4.8

require google.golang.org/protobuf v1.36.11 // indirect
