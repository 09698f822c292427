package probe

import "embed"

// Source is the text of this package and of packages wire and rollout, which `beagle build`
// compiles into programs that do not import it. A program that does not name it does not hold it.
//
//go:embed *.go wire/*.go rollout/*.go
var Source embed.FS
