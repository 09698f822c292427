package probe

import (
	"os"
	"path"
	"strings"
	"testing"
)

// TestSource checks the patterns of Source against the directories.
func TestSource(t *testing.T) {
	for _, dir := range []string{".", "wire", "rollout"} {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			name := path.Join(dir, f.Name())
			if !strings.HasSuffix(name, ".go") {
				continue
			}
			_, err := Source.Open(name)
			if shipped := !strings.HasSuffix(name, "_test.go"); shipped != (err == nil) {
				t.Errorf("%s: in Source %v, should be %v", name, err == nil, shipped)
			}
		}
	}
}
