//go:build go1.21

package live

import (
	"embed"

	"github.com/beagle-go/beagle/internal/rt"
)

// source holds the text of this package. The patterns leave out the tests, and any other name that
// ends in st.go.
//
//go:embed *[^t].go *[^s]t.go
var source embed.FS

// Files returns the source of this package, as package inplace ships it: the text of each file but
// this one and the tests.
func Files() map[string]string {
	return rt.Texts(source, func(file string) bool { return file != "embed.go" })
}
