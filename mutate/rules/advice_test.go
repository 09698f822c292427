package rules_test

import (
	"testing"

	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

// adviceCases hold, for every advisory, a place where it applies and a similar one where it does
// not.
var adviceCases = map[string][2]string{
	"lock-in-loop": {
		"import \"sync\"\nvar mu sync.Mutex\nfunc f(v []int) { for range v { mu.Lock(); mu.Unlock() } }",
		"import \"sync\"\nvar mu sync.Mutex\nfunc f(v []int) { mu.Lock(); for range v {}; mu.Unlock() }",
	},
	"atomic-in-loop": {
		"import \"sync/atomic\"\nvar n atomic.Int64\nfunc f(v []int) { for range v { n.Add(1) } }",
		"import \"sync/atomic\"\nvar n atomic.Int64\nfunc f(v []int) { n.Add(int64(len(v))) }",
	},
	"send-in-loop": {
		"func f(c chan int, v []int) { for _, x := range v { c <- x } }",
		"func f(c chan []int, v []int) { c <- v }",
	},
	"receiver-scratch": {
		"type T struct{ n int }\nfunc (t *T) f(s string) int { b := make([]byte, 0, len(s)); b = append(b, s...); return len(b) }",
		"type T struct{ n int }\nfunc (t *T) f(s string) []byte { b := make([]byte, 0, len(s)); b = append(b, s...); return b }",
	},
	"pool-scratch": {
		"func f(s string) int { b := make([]byte, 1<<17); return copy(b, s) }",
		"func f(s string) int { b := make([]byte, 64); return copy(b, s) }",
	},
	"no-copy-string": {
		"func f(b []byte) string { return string(b) }",
		"func f(b []byte) bool { return string(b) == \"a\" }",
	},
	"field-order": {
		"type T struct { a bool; n int64; b bool }\nfunc f(t T) int64 { return t.n }",
		"type T struct { n int64; a, b bool }\nfunc f(t T) int64 { return t.n }",
	},
	"equal-fold": {
		"import \"strings\"\nfunc f(a, b string) bool { return strings.ToLower(a) == strings.ToLower(b) }",
		"import \"strings\"\nfunc f(a, b string) bool { return strings.ToLower(a) == b }",
	},
}

func TestAdvice(t *testing.T) {
	for _, a := range rules.Advice {
		c, ok := adviceCases[a.Name]
		if !ok || a.Doc == "" {
			t.Errorf("%s: no case or no doc", a.Name)
			continue
		}
		for i, want := range []int{1, 0} {
			p, err := mutate.Check("package p\n"+c[i], "", nil)
			if err != nil {
				t.Fatalf("%s: %v", a.Name, err)
			}
			if got := len(a.Find(p)); got != want {
				t.Errorf("%s: found %d places, want %d, in\n%s", a.Name, got, want, c[i])
			}
		}
		if rules.Named(a.Name) != nil {
			t.Errorf("%s is a rule too", a.Name)
		}
	}
}

// TestAdvise checks that advice names its line and quotes the code there.
func TestAdvise(t *testing.T) {
	p, err := mutate.Check("package p\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\nfunc f(v []int) {\n\tfor range v {\n"+
		"\t\tmu.Lock()\n\t\tmu.Unlock()\n\t}\n}\n", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	got := rules.Advise(p)
	if len(got) != 1 || got[0].Name != "lock-in-loop" || got[0].Line != 9 || got[0].Site != "mu.Lock() in a loop" ||
		got[0].Doc == "" {
		t.Errorf("got %+v", got)
	}
}
