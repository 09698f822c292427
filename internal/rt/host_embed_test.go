package rt

import (
	"os"
	"strings"
	"testing"
)

// TestSource checks the patterns of Source against the directory.
func TestSource(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := f.Name()
		if !strings.HasSuffix(name, ".go") {
			continue
		}
		_, err := Source.Open(name)
		shipped := !strings.HasSuffix(name, "_test.go") && !strings.HasPrefix(name, "host_")
		if shipped != (err == nil) {
			t.Errorf("%s: in Source %v, should be %v", name, err == nil, shipped)
		}
	}
}
