//go:build go1.21

package live

import (
	"embed"
	"strings"
)

//go:embed *.go
var source embed.FS

// Files is the source of this package, as package inplace ships it: the text of each file but this
// one and the tests.
func Files() map[string]string {
	out := map[string]string{}
	entries, err := source.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory cannot be missing
	}
	for _, e := range entries {
		if e.Name() == "embed.go" || strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		text, err := source.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}
