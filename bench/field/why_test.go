package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/source"
)

// TestWhy checks that the verb names the versions of a function, the functions that it cannot
// reach, and functions without a version.
func TestWhy(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n",
		"list.go": `package p

type list []string

func (l list) Len() int           { return len(l) }
func (l list) Less(i, j int) bool { return len(l[i]) < len(l[j]) }
func (l list) Swap(i, j int)      { l[i], l[j] = l[j], l[i] }
`,
		"p.go": `package p

import (
	"encoding/hex"
	"sort"
	"time"
)

func Sort(names []string) { sort.Sort(list(names)) }

func ID(b []byte) string { return mark() + shared(b) }

//go:noinline
func mark() string { return "id-" }

func shared(b []byte) string { return hex.EncodeToString(b) }

func Other(b []byte) string { return shared(b) + mark() }

func Plain(f float64) float64 { return f }

func Late(n float64) float64 { return since(n) * 2 }

func Later(n float64) float64 { return since(n) }

func since(n float64) float64 {
	now := float64(time.Now().Unix())
	return now - n
}
`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	said := map[string]string{}
	var out strings.Builder
	w := &reasonCounts{out: &out, rules: map[string]int{}, no: map[string]int{}}
	for _, spec := range []string{"ID", "Plain", "Late", "Sort"} {
		u, err := source.Load(context.Background(), source.Options{Dir: dir, Spec: spec, Env: []string{"GOWORK=off"}})
		if err != nil {
			t.Fatal(err)
		}
		p, err := passOf(u)
		if err != nil {
			t.Fatal(err)
		}
		if spec == "ID" {
			if got := unreached(p); !slices.Equal(got, []string{"mark"}) {
				t.Errorf("unreached: %v", got)
			}
		}
		out.Reset()
		if err := w.ask(context.Background(), u, p); err != nil {
			t.Fatal(err)
		}
		said[spec] = out.String()
	}
	if !strings.Contains(said["ID"], "hex-pairs: hexadecimal digits") || w.rules["hex-pairs"] != 1 {
		t.Errorf("ID:\n%s", said["ID"])
	}
	if !strings.Contains(said["Plain"], "no rule makes a version") || w.none != 1 {
		t.Errorf("Plain:\n%s", said["Plain"])
	}
	if w.rules["short-sort"] != 1 { // it looks at methods in another file
		t.Errorf("Sort:\n%s", said["Sort"])
	}
	if !strings.Contains(said["Late"], "the policy refuses all versions") || w.barred != 1 {
		t.Errorf("Late:\n%s", said["Late"])
	}
}

// TestKindsOf checks that refusals of one kind are counted together, whatever they name.
func TestKindsOf(t *testing.T) {
	got := kindsOf("line 3: use of variable k.a: it may change\nline 9: use of variable k.b: it may change\nand 2 more")
	if want := []string{"use of variable ...: it may change"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
