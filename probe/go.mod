module github.com/beagle-go/beagle/probe

go 1.24.0
