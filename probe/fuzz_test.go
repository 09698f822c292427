package probe

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/probe/wire"
)

const testToken = "0123456789abcdef0123"

// FuzzServe checks that any request gets a reply of one line of JSON and its payload, and without
// the token only an error.
func FuzzServe(f *testing.F) {
	for _, q := range []wire.Request{
		{Token: testToken, Verb: wire.VerbStatus},
		{Token: testToken, Verb: wire.VerbStart, Start: &wire.Start{Sites: []string{"m/p.F"}, Patterns: []string{"("}}},
		{Token: testToken, Verb: wire.VerbAsk, Site: "m/p.F", Program: &wire.Program{Code: []byte{wire.OpBool, 2}}},
		{Token: testToken, Verb: wire.VerbPull}, {Token: testToken, Verb: wire.VerbStop}, {Token: "no"},
	} {
		b, _ := json.Marshal(q)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		p, _ := newProber()
		var site Site
		add[node, struct{}](p, &site, "m/p.F")
		out := p.serve(testToken, request)
		line, payload, ok := bytes.Cut(out, []byte("\n"))
		var r wire.Reply
		if err := json.Unmarshal(line, &r); err != nil || !ok || r.Payload != len(payload) {
			t.Fatalf("the reply is %q", out)
		}
		var q wire.Request
		if json.Unmarshal(request, &q) != nil || q.Token != testToken {
			if r.Error == "" || r.Status != nil {
				t.Fatalf("without the token the reply is %q", out)
			}
		}
		if s := p.current(); s != nil {
			p.end(s, "test")
		}
	})
}

// FuzzProgram checks that any byte code ends within its bounds, and leaves the service alone.
func FuzzProgram(f *testing.F) {
	f.Add([]byte{wire.OpArg, 0, wire.OpLen, wire.OpInt, 4, wire.OpLess}, "text")
	f.Add([]byte{wire.OpArg, 2, wire.OpCall, 6, wire.OpAnd, 2, wire.OpArg, 2, wire.OpCall, 8}, "text")
	f.Add([]byte{wire.OpArg, 4, wire.OpDeref, wire.OpField, 0, wire.OpText, 0, wire.OpEqual}, "")
	f.Add([]byte{wire.OpArg, 6, wire.OpInt, 2, wire.OpIndex, wire.OpInt, 0, wire.OpDiv, wire.OpNot}, "\xff")
	type in struct {
		S string
		L []string
		P *node
		N []int
		M map[string]int
		E error
	}
	f.Fuzz(func(t *testing.T, code []byte, text string) {
		p, _ := newProber()
		var site Site
		add[in, one](p, &site, "m/p.F")
		s, err := p.begin(wire.Start{Sites: []string{"p.F"}, Follow: true, Events: 1})
		if err != nil {
			t.Fatal(err)
		}
		defer p.end(s, "test")
		prog := &wire.Program{Code: code, Texts: []string{text}, Floats: []float64{1.5}}
		if _, err := s.add("p.F", prog); err != nil {
			return
		}
		v := in{S: text, L: []string{text, text + "x"}, P: &node{Name: text}, N: []int{1, 2}}
		a := s.sites[0]
		c := a.enter(ptr(&v))
		Leave(&c, &v, &one{text})
		answer := s.answers()[0]
		if answer.Yes+answer.No+answer.Undecided != 1 {
			t.Fatalf("one call was counted as %+v", answer)
		}
	})
}

func TestToken(t *testing.T) {
	p, _ := newProber()
	ask := func(mine, theirs string) string {
		b, _ := json.Marshal(wire.Request{Token: theirs, Verb: wire.VerbStatus})
		return string(p.serve(mine, b))
	}
	if out := ask(testToken, testToken); !strings.Contains(out, `"status"`) {
		t.Errorf("the right token gets %s", out)
	}
	for _, theirs := range []string{"", "wrong", testToken + "x", testToken[1:]} {
		if out := ask(testToken, theirs); strings.Contains(out, `"status"`) || !strings.Contains(out, "token") {
			t.Errorf("the token %q gets %s", theirs, out)
		}
	}
	if out := ask("", ""); strings.Contains(out, `"status"`) {
		t.Errorf("no token at all opens the probe: %s", out)
	}
	if _, err := p.listen(t.TempDir()+"/s", "short"); err == nil || !strings.Contains(err.Error(), "at least 16") {
		t.Errorf("a short token is accepted: %v", err)
	}
}
