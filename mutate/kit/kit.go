// Package kit holds the helper functions that rewrites put into candidates. They are Go source
// that is compiled and tested like any other; a rule names one in its After, and the engine of
// examples copies it under a name that is free in the candidate.
//
// A helper uses the standard library and other functions of this package only.
package kit

import "embed"

// Sources holds the text of this package. The patterns leave out the tests, and any other name that
// ends in st.go.
//
//go:embed *[^t].go *[^s]t.go
var Sources embed.FS
