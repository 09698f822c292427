package exec

import (
	"testing"

	"github.com/beagle-go/beagle/internal/proof/term"
)

// TestLiveAtExit checks that a value lives until a loop's exit reads it. The block in front of the
// exit also leads back to the loop's header, which gives the value's register its next one.
func TestLiveAtExit(t *testing.T) {
	const text = `package p

func F(s string) byte {
	var last, n byte
	for i := 0; ; {
		if s[i] == 'x' {
			n++
		}
		before := last
		last = s[i] + n
		i++
		if i >= len(s) {
			return before + n
		}
	}
}
`
	lib := NewLibrary(".")
	prog, err := lib.FromText(text, "F")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMachine(t.Context(), prog, lib, term.NewPool(200_000, nil))
	in := m.Input(prog.Params(), Shape{3})
	values := map[*term.Term]uint64{}
	for i, b := range in.Params[0].Bytes {
		values[b] = uint64("axb"[i])
	}
	list := m.Run(in)
	e := m.Pool.Eval(values)
	held := 0
	for _, o := range list {
		if e.Value(o.When) == 0 {
			continue
		}
		held++
		if o.Kind != Returned {
			t.Fatalf("the outcome has kind %d: %s", o.Kind, o.Why)
		}
		got, ok := o.Results[0].(*term.Term)
		if !ok {
			t.Fatalf("the result is %v, which is no term", o.Results[0])
		}
		if e.Value(got) != 'z' { // 'x' and two times 1
			t.Errorf("the terms say %q", rune(e.Value(got)))
		}
	}
	if held != 1 {
		t.Errorf("%d outcomes hold", held)
	}
}
