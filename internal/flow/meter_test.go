package flow

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

// TestMeasuringNamesTheProfile checks that the store does not confuse measurements on top of
// different profiles.
func TestMeasuringNamesTheProfile(t *testing.T) {
	dir := t.TempDir()
	spec := Defaults()
	m := &meter{setting: setting{spec: &spec, unit: &source.Unit{Target: beagle.Target{Dir: dir, PkgDir: dir}}}}
	seen := map[string]string{}
	for _, profile := range []string{"", "one", "another"} {
		if profile != "" {
			if err := os.WriteFile(filepath.Join(dir, "default.pgo"), []byte(profile), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			name, err := m.measuring("confirmed", 1)
			if err != nil {
				t.Fatal(err)
			}
			if was, ok := seen[name]; ok && was != profile {
				t.Errorf("profiles %q and %q have one name", was, profile)
			}
			seen[name] = profile
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d names of 3 measurements", len(seen))
	}
}
