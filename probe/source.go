package probe

import "embed"

// Source is the text of this package and of packages wire and rollout, which `beagle build`
// compiles into programs that do not import it. A program that does not name it does not hold it.
// The patterns take all files but the tests.
//
//go:embed *[^t].go redact.go wire/*[^t].go wire/*[^s]t.go rollout/*[^t].go rollout/request.go
var Source embed.FS
