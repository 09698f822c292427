package source

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

// contractModule has one function with a contract in its comment and helpers
// that a condition may and may not call.
const contractModule = `package p

import (
	"errors"
	"time"
	str "strings"
)

const limit = 1 << 10

var calls int

var table = []int{1, 2, 3}

type kind string

var _ = str.ToUpper

// F does something.
//
//beagle:requires n >= 0
//beagle:requires len(s) < limit || str.HasPrefix(s, "x")
//beagle:ignore error-text, nil-empty
func F(s string, n int, _ []byte, k kind) (int, error) {
	if n > 3 {
		return 0, errors.New(s)
	}
	return helper(n), nil
}

func helper(n int) int { return n + int(time.Duration(1)) }

func (k kind) short() bool { return len(k) < 3 }

func small(n int) bool {
	t := 0
	for i := range n {
		t += table[i%3]
	}
	var seen [4]bool
	seen[n&3] = true
	return t < 10 && seen[0]
}

func counts(n int) bool { calls++; return true }

func writes(b []byte) bool { b[0] = 1; return true }

func deep(b []byte) bool { return writes(b) }

func prints(s string) bool { print(s); return true }
`

func contractUnit(t *testing.T, o Options) (*Unit, error) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module ex.com/p\n\ngo 1.24\n", "p.go": contractModule} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	o.Dir, o.Spec = dir, "./.F"
	return Load(context.Background(), o)
}

func TestContract(t *testing.T) {
	u, err := contractUnit(t, Options{Requires: "utf8.ValidString(s)||n==1", Ignore: []string{"scratch"}})
	if err != nil {
		t.Fatal(err)
	}
	want := `n >= 0 && (len(s) < limit || str.HasPrefix(s, "x")) && (utf8.ValidString(s) || n == 1)`
	if got := u.Target.Contract.Requires; got != want {
		t.Errorf("the contract is %s\nwant            %s", got, want)
	}
	if got := u.Target.Contract.Ignore; !slices.Equal(got, []string{"error-text", "nil-empty", "scratch"}) {
		t.Errorf("it ignores %q", got)
	}
	if got := u.Conditions.Requires.Imports(); !slices.Equal(got, []string{"strings", "unicode/utf8"}) {
		t.Errorf("it needs %q", got)
	}
	params := []beagle.Param{{Name: "a"}, {Name: "b"}, {Name: "c"}, {Name: "d"}}
	got := u.Conditions.Requires.Render(params, func(path, name string) string { return "pkg_" + name })
	if want := `b >= 0 && (len(a) < limit || pkg_str.HasPrefix(a, "x")) && (pkg_utf8.ValidString(a) || b == 1)`; got !=
		want {
		t.Errorf("rendered it is %s\nwant           %s", got, want)
	}
	plain, err := contractUnit(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if plain.Target.ID() == u.Target.ID() {
		t.Error("two contracts have the same target ID: their verdicts would be mixed up")
	}
}

// TestPredicate: a condition must be one, over the parameters, and only compute.
func TestPredicate(t *testing.T) {
	u, err := contractUnit(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ expr, wrong string }{
		{"n > 0 && small(n) && k.short()", ""},
		{"len(arg2) < 5 && k != \"\"", ""},
		{"cap(arg2) == len(arg2) && table[0] == 1", ""},
		{"slices.IsSorted(arg2) && !bytes.Contains(arg2, []byte{0})", ""},
		{"strings.ContainsFunc(s, unicode.IsSpace)", ""},
		{"len(slices.Compact(slices.Sorted(slices.Values(arg2)))) == len(arg2)", ""},
		{"", "column 1: expected operand"},
		{"n >", "column 4: expected operand"},
		{"n > 0; n < 3", "column 6: expected 'EOF'"},
		{"m > 0", "column 1: undefined: m"},
		{"n + 1", "it is of type int, not bool"},
		{"n > s", "mismatched types"},
		{"len(s)", "it is of type int, not bool"},
		{"1 < 2", "it is true whatever the inputs are"},
		{"table[0] == 1", "it does not depend on the inputs"},
		{"counts(n)", "counts may do more than compute (p.go:45: it writes to calls)"},
		{"n > 0 && deep(arg2)", "deep may do more than compute"},
		{"prints(s)", "prints may do more than compute"},
		{"func() bool { return true }()", "a call of a function value"},
		{"strings.ContainsFunc(s, func(r rune) bool { return true })", "a function literal"},
		{"n > 0 // always", "it has a comment"},
		{"n > 0 &&\n n < 3", "more than one line"},
		{"&n != nil", "the operator &"},
		{"slices.Contains(slices.Compact(arg2), 1)", "slices.Compact changes its argument"},
		{"strings.NewReader(s) != nil", "strings.NewReader is not known to only compute"},
		{"utf8.EncodeRune(arg2, 'x') > 0", "utf8.EncodeRune is not known to only compute"},
		{"time.Now().IsZero()", "time.Now is not known to only compute"},
		{"copy(arg2, s) > 0", "a call of copy"},
		{"append(arg2, 1) != nil", "a call of append"},
	} {
		_, err := u.Conditions.Predicate(c.expr)
		var usage *beagle.UsageError
		switch {
		case c.wrong == "" && err != nil:
			t.Errorf("%s: %v", c.expr, err)
		case c.wrong == "":
		case !errors.As(err, &usage) || !strings.Contains(usage.What, c.wrong) || usage.Remedy == "":
			t.Errorf("%s: %v, want an error with %q", c.expr, err, c.wrong)
		}
	}
	if _, err := contractUnit(t, Options{Ignore: []string{"everything"}}); err == nil {
		t.Error("a difference that there is not can be ignored")
	}
}

// FuzzPredicate: whatever is written as a condition, reading it ends in a
// predicate that says the same when it is read again, or in a usage error.
func FuzzPredicate(f *testing.F) {
	dir := f.TempDir()
	os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module ex.com/p\n\ngo 1.24\n"), 0o644)
	os.WriteFile(filepath.Join(dir, "p.go"), []byte(contractModule), 0o644)
	u, err := Load(context.Background(), Options{Dir: dir, Spec: "./.F"})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"n >= 0", "len(s) < 1<<16 && k != \"\"", "small(n)||(n>3)", "n[", "s[0] == 'a' // x",
		"((n) > 0)", "\xff > n", "arg2 != nil"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := u.Conditions.Predicate(text)
		if err != nil {
			var usage *beagle.UsageError
			if !errors.As(err, &usage) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		q, err := u.Conditions.Predicate(p.Text)
		if err != nil || q.Text != p.Text {
			t.Fatalf("%q reads as %q, and that as %v, %v", text, p.Text, q, err)
		}
	})
}

// TestStated checks that the flags of a run become directives above the target, once.
func TestStated(t *testing.T) {
	u, err := contractUnit(t, Options{Requires: "n < 5", Ignore: []string{"scratch"}})
	if err != nil {
		t.Fatal(err)
	}
	bare := "package p\n\nfunc F(s string, n int, _ []byte, k kind) (int, error) { return 0, nil }\n"
	got := u.Conditions.Stated(bare)
	for _, want := range []string{"// F does something.\n", "//beagle:requires n >= 0\n",
		"//beagle:requires n < 5\n//beagle:ignore scratch\nfunc F("} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if again := u.Conditions.Stated(got); again != got {
		t.Errorf("stated again it is\n%s", again)
	}
	patch, err := u.Writer.Patch(got, nil)
	if err != nil || !strings.Contains(patch.Diff, "+//beagle:requires n < 5") {
		t.Errorf("the patch does not state the contract: %v\n%s", err, patch.Diff)
	}
}
