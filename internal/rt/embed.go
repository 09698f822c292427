package rt

import "embed"

// Source is the source of this package, as `internal/harness` ships it. This
// file and the tests are left out there.
//
//go:embed *.go
var Source embed.FS
