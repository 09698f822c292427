//go:build !unix

package temporal

// maxRSS returns 0: this system does not tell.
func maxRSS() int64 { return 0 }
