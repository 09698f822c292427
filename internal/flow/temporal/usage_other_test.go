//go:build !unix

package temporal

// maxRSS is not known here.
func maxRSS() int64 { return 0 }
