package proof

import (
	"testing"

	"github.com/beagle-go/beagle/internal/proof/exec"
)

func TestFirst(t *testing.T) {
	lib := exec.NewLibrary(".")
	run := func(name, a, b string) {
		t.Helper()
		o, err := lib.FromText("package p\n"+a, "F")
		if err != nil {
			t.Fatal(name, err)
		}
		c, err := lib.FromText("package p\n"+b, "F")
		if err != nil {
			t.Fatal(name, err)
		}
		r := Prove(t.Context(), o, c, lib, Budget{})
		t.Logf("%s: %+v", name, *r)
	}
	run("fnv", `func F(s string) uint32 { h := uint32(2166136261); for i := 0; i < len(s); i++ { h ^= uint32(s[i]); h *= 16777619 }; return h }`,
		`func F(s string) uint32 { h := uint32(2166136261); i := 0; for ; i+1 < len(s); i += 2 { h = (h ^ uint32(s[i])) * 16777619; h = (h ^ uint32(s[i+1])) * 16777619 }; if i < len(s) { h = (h ^ uint32(s[i])) * 16777619 }; return h }`)
	tag := `
func ok(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }
func F(s string) bool { last := byte(0); for i := 0; i < len(s); i++ { c := s[i]; if !ok(c) { return false }; if c == '_' && last == '_' { return false }; last = c }; return true }`
	tab := `
var t [256]bool
func init() { for c := range t { t[c] = c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' } }
func F(s string) bool { for i := 0; i < len(s); i++ { if !t[s[i]] { return false }; if s[i] == '_' && i > 0 && s[i-1] == '_' { return false } }; return true }`
	run("tag table", tag, tab)
	run("lower", `func F(s string) string { b := []byte(s); for i, c := range b { if c >= 'A' && c <= 'Z' { b[i] = c + 32 } }; return string(b) }`,
		`import "strings"
func F(s string) string { var b strings.Builder; for i := 0; i < len(s); i++ { c := s[i]; if c-'A' < 26 { c |= 32 }; b.WriteByte(c) }; return b.String() }`)
	run("squeeze", `func F(s string) string { var b []byte; for i := 0; i < len(s); i++ { if s[i] != ' ' { b = append(b, s[i]) } }; return string(b) }`,
		`func F(s string) string { b := make([]byte, len(s)); n := 0; for i := 0; i < len(s); i++ { if s[i] != ' ' { b[n] = s[i]; n++ } }; return string(b[:n]) }`)
	run("abs", `func F(x int) int { if x < 0 { return -x }; return x }`, `func F(x int) int { m := x >> 63; return (x ^ m) - m }`)
	run("runes", `func F(s string) int { n := 0; for range s { n++ }; return n }`, `import "unicode/utf8"
func F(s string) int { return utf8.RuneCountInString(s) }`)
}
