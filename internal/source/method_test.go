package source

import (
	"strings"
	"testing"
)

// TestNewMethods: a version may give the target's type methods of its own.
func TestNewMethods(t *testing.T) {
	const src = `package p

func (r *Reader) Next() byte {
	if r.done() {
		return 0
	}
	c := r.data[r.pos]
	r.pos++
	return c
}

func (r *Reader) done() bool { return r.pos >= len(r.data) }
`
	u := load(t, module(t, `
-- p.go --
package p

type Reader struct {
	data []byte
	pos  int
}

// Next is the next byte, 0 at the end.
func (r *Reader) Next() byte {
	if r.pos >= len(r.data) {
		return 0
	}
	r.pos++
	return r.data[r.pos-1]
}

func (r *Reader) left() int { return len(r.data) - r.pos }
`), "./.Reader.Next")
	f, problem := u.Reader.Parse(src)
	if problem != nil {
		t.Fatalf("%+v", problem)
	}
	variant, err := u.Writer.Variant(f, "_v1")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(variant, "done_v1()") != 2 || strings.Count(variant, "Next_v1()") != 1 {
		t.Errorf("names:\n%s", variant)
	}
	if p := mustPatch(t, u, src); !strings.Contains(p.Diff, "+func (r *Reader) done() bool") {
		t.Errorf("patch:\n%s", p.Diff)
	}
	for _, name := range []string{"left", "Done", "pos"} {
		if _, problem := u.Reader.Parse(strings.ReplaceAll(src, "done", name)); problem == nil {
			t.Errorf("method %s passed", name)
		}
	}
}
