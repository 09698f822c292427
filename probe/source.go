package probe

import "embed"

// Source is the text of this package and of package wire, which `beagle build` compiles into
// programs that do not import it. A program that does not name it does not hold it.
//
//go:embed *.go wire/*.go
var Source embed.FS
