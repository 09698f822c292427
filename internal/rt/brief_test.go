package rt

import (
	"go/parser"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestSpellBriefly checks that long values that repeat themselves are written with Repeat; others
// as before.
func TestSpellBriefly(t *testing.T) {
	type text string
	for _, test := range []struct {
		value any
		want  string
	}{
		{&struct{ S string }{strings.Repeat("a", 4097)}, `strings.Repeat("a", 4097)`},
		{&struct{ S string }{strings.Repeat("a", 4096) + "b"}, `strings.Repeat("a", 4096) + "b"`},
		{&struct{ S string }{"key=" + strings.Repeat("ab", 40) + "\n"}, `"key=" + strings.Repeat("ab", 40) + "\n"`},
		{&struct{ S text }{text(strings.Repeat("\xe6", 300))}, `text(strings.Repeat("\xe6", 300))`},
		{&struct{ S []byte }{[]byte(strings.Repeat("\x00", 64))}, `[]byte(strings.Repeat("\x00", 64))`},
		{&struct{ S string }{"aaaaaaaaaaaaaaaa"}, `"aaaaaaaaaaaaaaaa"`},
		{&struct{ S string }{"The quick brown fox jumps over the lazy dog."}, `"The quick brown fox jumps over the lazy dog."`},
		{&struct{ L []string }{slices.Repeat([]string{"a"}, 129)}, `slices.Repeat([]string{"a"}, 129)`},
		{&struct{ L []int }{append(slices.Repeat([]int{1, 2}, 50), 7)}, `slices.Concat(slices.Repeat([]int{1, 2}, 50), []int{7})`},
		{&struct{ L []string }{[]string{"a", "a"}}, `[]string{"a", "a"}`},
		{&struct{ L [][]int }{slices.Repeat([][]int{{1}}, 16)}, "[][]int{" + strings.Repeat("[]int{1}, ", 15) + "[]int{1}}"},
	} {
		v := reflect.ValueOf(test.value).Elem()
		w := speller{home: reflect.TypeFor[speller]().PkgPath(), imports: map[string]bool{}, brief: true}
		exprs, imports := w.fields(v)
		if exprs[0] != test.want {
			t.Errorf("got %s, want %s", exprs[0], test.want)
		}
		if _, err := parser.ParseExpr(exprs[0]); err != nil {
			t.Error(err)
		}
		for _, path := range []string{"strings", "slices"} {
			if strings.Contains(test.want, path+".") != slices.Contains(imports, path) {
				t.Errorf("%s needs %q", exprs[0], imports)
			}
		}
	}
}

// TestSpellBrieflyAtHome checks that a package cannot import itself.
func TestSpellBrieflyAtHome(t *testing.T) {
	w := speller{home: "strings", imports: map[string]bool{}, brief: true}
	if got := w.quote(strings.Repeat("a", 99)); got != `Repeat("a", 99)` || len(w.imports) > 0 {
		t.Errorf("%s imports %v", got, w.imports)
	}
}

// FuzzStretches checks that the parts of a text make the text.
func FuzzStretches(f *testing.F) {
	f.Add(strings.Repeat("ab", 100) + "x")
	f.Add("\x80\x80" + strings.Repeat("\xe6\x9c", 70) + strings.Repeat("0", 50))
	f.Fuzz(func(t *testing.T, s string) {
		var b strings.Builder
		parts := stretches(len(s), leastBytes, func(i, j int) bool { return s[i] == s[j] })
		for _, p := range parts {
			b.WriteString(strings.Repeat(s[p.from:p.from+p.unit], p.times))
		}
		if parts != nil && b.String() != s {
			t.Errorf("%q becomes %q", s, b.String())
		}
	})
}
