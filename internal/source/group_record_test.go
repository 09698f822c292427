package source

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
)

const recordedModule = `
-- codec/codec.go --
package codec

import "strings"

// Encode encodes n times.
func Encode(s string, n int) string {
	for range n {
		s = mark(s)
	}
	return s
}

// Decode decodes.
//
//beagle:requires s != ""
func Decode(s string, strict bool) string {
	if strict {
		return Trim(s)
	}
	return strings.TrimPrefix(s, "%")
}

func mark(s string) string { return "%" + s }

// Trim is nobody's, and takes Decode's help.
func Trim(s string) string {
	if s == "" {
		return s
	}
	return table[0](s) + Decode(s, false)
}

var table = []func(string) string{back}

func back(s string) string { return Encode(s, 0) }

// Apart calls no function that the group has.
func Apart(s string) string { return s }
-- tags/tags.go --
package tags

type Tags []string

func (t Tags) Has(s string) bool { return t.Find(s) >= 0 }

func (t Tags) Find(s string) int {
	for i, v := range t {
		if v == s {
			return i
		}
	}
	return -1
}

type Set struct{ all []string }

func (s *Set) Add(v string) { s.all = append(s.all, v) }

func (s *Set) Len() int { return len(s.all) }

type Pair struct{ a, b int }

func (p Pair) Sum() int { return p.a + p.b }

func Total(list []int) (n int) {
	var p Pair
	for i := 1; i < len(list); i += 2 {
		p.a, p.b = list[i-1], list[i]
		n += p.Sum()
	}
	return n
}

func Any(v any) bool { return v == nil }
`

func recordedUnit(t *testing.T, dir, spec, requires string) (*Unit, error) {
	return Load(t.Context(), Options{Dir: dir, Spec: spec, Requires: requires, InPlace: true, Group: true})
}

func TestTerms(t *testing.T) {
	for text, want := range map[string][]term{
		"":                                nil,
		"n >= 0":                          {{"", "n >= 0"}},
		" Encode: n >= 0 ;len(s) > 0; ":   {{"Encode", "n >= 0"}, {"", "len(s) > 0"}},
		"T.Find: s[1:2] != \";\"; m[1:] ": {{"T.Find", "s[1:2] != \";\""}, {"", "m[1:]"}},
		"Encode:":                         {{"Encode", ""}},
		"f(func() { a; b })":              {{"", "f(func() { a; b })"}},
	} {
		if got := terms(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// TestGroupContract checks for which functions of a group a condition counts, and that one that can
// count for none is refused with the reason.
func TestGroupContract(t *testing.T) {
	dir := module(t, recordedModule)
	const both = "./codec.{Encode,Decode}"
	for _, c := range []struct{ spec, requires, want string }{
		{both, "", `Decode: s != ""`},
		{both, "n >= 0", `Encode: n >= 0; Decode: s != ""`},
		{both, "len(s) < 9", `Encode: len(s) < 9; Decode: s != "" && len(s) < 9`},
		{both, "Decode: !strict; n>=0", `Encode: n >= 0; Decode: s != "" && !strict`},
		{"./tags.{Tags.Has,Tags.Find}", "len(t) > 0", "Tags.Has: len(t) > 0; Tags.Find: len(t) > 0"},
	} {
		u, err := recordedUnit(t, dir, c.spec, c.requires)
		if err != nil {
			t.Error(err)
		} else if got := u.Target.Contract.Requires; got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.spec, c.requires, got, c.want)
		}
	}
	for _, c := range []struct{ spec, requires, why string }{
		{both, "Decode: n >= 0", "undefined: n"},
		{both, "size > 0", "undefined: size"},
		{both, "len(table) > 1", "it does not depend on the inputs"},
		{both, "Apart: s != \"\"", "it has no function Apart"},
		{both, "Encode:", "expected operand"},
		{"./codec.{Encode,mark}", "mark: s != \"\"", "only the group calls it"},
		{"./tags.Set", "v != \"\"", "Set.Add: it takes or returns a Set, which versions may change"},
		{"./tags.{Set.Add,Set.Len}", "Set.Add: v != \"\"", "only the group uses the fields of Set"},
	} {
		_, err := recordedUnit(t, dir, c.spec, c.requires)
		var usage *beagle.UsageError
		if !errors.As(err, &usage) || !strings.Contains(usage.What, c.why) || usage.Remedy == "" {
			t.Errorf("%s with %q: %v, want %q", c.spec, c.requires, err, c.why)
		}
	}
	u, err := recordedUnit(t, dir, both, "n >= 0")
	if err != nil {
		t.Fatal(err)
	}
	if len(u.Scope.Recordable()) != 2 || !u.Conditions.Demanded("Encode") || u.Conditions.Demanded("Decode") {
		t.Errorf("%v", u.Scope.Recordable())
	}
	version := strings.NewReplacer("for range n", "for i := 0; i < n; i++", "if strict", "if strict && true").
		Replace(u.Target.Source)
	patch, err := u.Writer.Patch(u.Conditions.Stated(version), nil)
	if err != nil || strings.Count(patch.Diff, "\n+//") != 2 ||
		!strings.Contains(patch.Diff, "+//\n+//beagle:requires n >= 0\n func Encode(") {
		t.Errorf("the patch states %v\n%s", err, patch.Diff)
	}
	e, err := Load(t.Context(), Options{Dir: dir, Spec: both, Requires: "n >= 0", InPlace: true, Group: true,
		Entry: "Encode"})
	if err != nil || e.Conditions.Requires == nil || e.Conditions.Requires.Text != "n >= 0" {
		t.Errorf("of Encode alone: %+v, %v", e, err)
	}
}

// TestRecordable checks which methods, and which functions beside a type, have recorded calls.
func TestRecordable(t *testing.T) {
	dir := module(t, recordedModule)
	for spec, want := range map[string]string{
		"./tags.{Tags.Has,Tags.Find}": "Tags.Has Tags.Find",
		"./tags.{Set.Add,Set.Len}":    "",
		"./tags.{Set,Any}":            "",
		"./tags.Pair":                 "Total", // a Pair is nothing that it takes or gives back
		"./codec.{Encode,Decode}":     "Encode Decode",
	} {
		if got := strings.Join(loadGroup(t, dir, spec).Scope.Recordable(), " "); got != want {
			t.Errorf("%s: %q, want %q", spec, got, want)
		}
	}
	u, err := Load(t.Context(), Options{Dir: dir, Spec: "./tags.{Tags.Has,Tags.Find}", InPlace: true, Group: true,
		Entry: "Tags.Has"})
	if err != nil {
		t.Fatal(err)
	}
	f, problem := u.Reader.Parse(u.Target.Source)
	if problem != nil {
		t.Fatal(problem)
	}
	if text, err := u.Writer.Variant(f, "_1"); err != nil || !strings.Contains(text, "func (t Tags) Has_1(") ||
		!strings.Contains(text, "t.Find_1(s)") {
		t.Errorf("%v\n%s", err, text)
	}
}

// TestJoined checks that what a version calls, and what calls the group again, is copied into it,
// and that what cannot be copied is named.
func TestJoined(t *testing.T) {
	dir := module(t, recordedModule)
	u, err := Load(t.Context(), Options{Dir: dir, Spec: "./codec.{Encode,Decode}", InPlace: true, Group: true,
		Entry: "Decode"})
	if err != nil {
		t.Fatal(err)
	}
	joined := u.Copies.JoinCopies(u.Target.Source)
	f, problem := u.Reader.Parse(joined)
	if problem != nil {
		t.Fatalf("%s\n%s", problem.Message, joined)
	}
	text, err := u.Writer.Variant(f, "_1")
	if err != nil || !strings.Contains(text, " + Decode_1(s, false)") || strings.Contains(text, "return Trim(s)") {
		t.Errorf("%v\n%s", err, text)
	}
	if got := u.Copies.Detours(); !slices.Equal(got, []string{"table", "back"}) {
		t.Errorf("detours: %v", got)
	}
	alone := loadGroup(t, dir, "./tags.{Tags.Has,Tags.Find}")
	if alone.Copies.JoinCopies(alone.Target.Source) != alone.Target.Source || len(alone.Copies.Detours()) > 0 {
		t.Errorf("nothing leads back to it: %v", alone.Copies.Detours())
	}
}
