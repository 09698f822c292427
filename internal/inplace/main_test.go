package inplace

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	chooseTime = time.Hour
	os.Exit(m.Run())
}

// module writes a module of one package and returns its directory.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module example.com/place\n\ngo 1.24\n"
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// newPlace returns a place that is not surveyed yet.
func newPlace(t *testing.T, o source.Options) (*source.Unit, *Place) {
	t.Helper()
	u, err := source.Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.New(sandbox.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(context.Background(), u, box, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return u, p
}

// place surveys a target in a module.
func place(t *testing.T, dir, target string) (*source.Unit, *Place, *beagle.InPlace) {
	t.Helper()
	u, p := newPlace(t, source.Options{Dir: dir, Spec: target, InPlace: true})
	e, err := p.Survey(context.Background(), u.Target.Source)
	if err != nil {
		t.Fatal(err)
	}
	return u, p, e
}
