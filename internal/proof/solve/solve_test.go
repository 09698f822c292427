package solve

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestParseModel(t *testing.T) {
	got, err := ParseModel("((v0 #x1f)\n (v1 true) (v2 (_ bv7 32)) (v3 #b101) (v4 false))")
	if err != nil || got["v0"] != 0x1f || got["v1"] != 1 || got["v2"] != 7 || got["v3"] != 5 || got["v4"] != 0 ||
		len(got) != 5 {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "(", "((", "((v0))", "((v0 #x))", "((v0 #x11111111111111111))", "((v0 (_ bv1))",
		"(v0 #x1)", "((v0 #x1)"} {
		if m, err := ParseModel(bad); err == nil {
			t.Errorf("%q is read as %v", bad, m)
		}
	}
}

// FuzzParseModel: any text is read or refused, and what is read can be written
// and read again.
func FuzzParseModel(f *testing.F) {
	for _, s := range []string{"((v0 #x1f) (v1 true))", "((v2 (_ bv7 32)))", "()", "((a #b1)", ")("} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		m, err := ParseModel(s)
		if err != nil {
			return
		}
		var b strings.Builder
		b.WriteString("(")
		for k, v := range m {
			fmt.Fprintf(&b, "(%s #x%016x)", k, v)
		}
		again, err := ParseModel(b.String() + ")")
		if err != nil || len(again) != len(m) {
			t.Errorf("%q: %v became %v, %v", s, m, again, err)
		}
	})
}

func TestSolvers(t *testing.T) {
	if len(Installed()) == 0 {
		t.Skip("no solver is installed: apt install z3")
	}
	l := Limits{Time: 4 * time.Second, Memory: 1024}
	for _, s := range Installed() {
		a, err := s.Ask(t.Context(),
			"(declare-const v0 (_ BitVec 8))\n(declare-const v1 Bool)\n(assert (= (bvadd v0 #x01) #x00))\n"+
				"(assert v1)\n", []string{"v0", "v1"}, l)
		if err != nil || a.Status != Sat || a.Model["v0"] != 255 || a.Model["v1"] != 1 {
			t.Errorf("%s: %v, %v", s.Name, a, err)
		}
		a, err = s.Ask(t.Context(), "(declare-const v0 (_ BitVec 8))\n(assert (bvult v0 #x00))\n", []string{"v0"}, l)
		if err != nil || a.Status != Unsat {
			t.Errorf("%s: %v, %v", s.Name, a, err)
		}
		if _, err = s.Ask(t.Context(), "(assert nonsense)\n", nil, l); err == nil {
			t.Errorf("%s takes nonsense", s.Name)
		}
		hard := "(declare-const v0 (_ BitVec 64))\n(declare-const v1 (_ BitVec 64))\n" +
			"(assert (= (bvmul v0 v1) #xffffffffffffffc5))(assert (bvult #x0000000000000001 v0))(assert (bvult " +
			"#x0000000000000001 v1))(assert (bvult v0 #x00000000ffffffff))(assert (bvult v1 #x00000000ffffffff))\n"
		begin := time.Now()
		a, err = s.Ask(t.Context(), hard, nil, Limits{Time: time.Second, Memory: 1024})
		t.Logf("%s on a hard query: %v %v, %v, wall %v", s.Name, a.Status, err, a.Spent, time.Since(begin))
	}
}
