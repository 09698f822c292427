package verify

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

const lockedSource = `package k

import "sync"

type Counts struct {
	mu    sync.Mutex
	boxes map[string]*Box
}

type Box struct {
	mu    sync.Mutex
	names []string
}

func (c *Counts) Add(name string) {
	b := c.box(name)
	b.keep(name)
}

func (c *Counts) box(name string) *Box {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.boxes[name]
	if b == nil {
		b = new(Box)
		c.boxes[name] = b
	}
	return b
}

func (b *Box) keep(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.names = append(b.names, name)
}
`

// TestCalleesDo checks that a version judged in place may do what copies of the original's callees
// do, which lock and keep what they get, and that it still may keep nothing anywhere else.
func TestCalleesDo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/k\n\ngo 1.26\n", "k.go": lockedSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: "./.Counts.Add", InPlace: true})
	if err != nil {
		t.Fatal(err)
	}
	wide, copies := u.Widen(u.Target.Source)
	if len(copies) != 2 {
		t.Fatalf("copies %v of\n%s", copies, wide)
	}
	// A step changes one of the copies, so that both stay.
	changed := strings.Replace(wide, "b.names = append(b.names, name)", "b.names = append(b.names, name[0:])", 1)
	cheat := strings.Replace(changed, "func ", "var lastName [1]string\n\nfunc ", 1)
	cheat = strings.Replace(cheat, "b.names = ", "lastName[0] = name\n\tb.names = ", 1)
	for _, c := range []struct {
		name, text string
		inPlace    bool
		status     beagle.Status
	}{
		{"a changed copy, with records", changed, false, beagle.Forbidden},
		{"a changed copy, in place", changed, true, beagle.Equal},
		{"a variable that keeps the last call, in place", cheat, true, beagle.Forbidden},
	} {
		text, err := u.Normalize(c.text)
		if err != nil {
			t.Fatal(err)
		}
		e := &Env{Unit: u, Dir: t.TempDir(), InPlace: c.inPlace}
		v, err := Static(t.Context(), e, beagle.NewCandidate(text, nil, nil), nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != c.status && (c.status != beagle.Equal || v.Reason != "") {
			t.Errorf("%s: %s, want %s: %s\n%s", c.name, v.Status, c.status, v.Reason, text)
		}
	}
}
