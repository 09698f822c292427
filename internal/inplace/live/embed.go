//go:build go1.21

package live

import "embed"

// Source is the source of this package, as package inplace ships it. This file and the tests are
// left out there.
//
//go:embed *.go
var Source embed.FS
