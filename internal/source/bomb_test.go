package source

import (
	"fmt"
	"strings"
	"testing"
)

// TestBombs: short texts that stand for something huge are refused before
// anything looks at what they stand for, and honest ones are not.
func TestBombs(t *testing.T) {
	doubling := func(kind, first, next string) string {
		var b strings.Builder
		b.WriteString("package tags\n\n" + kind + " (\n\tx0 " + first + "\n")
		for i := range 60 {
			fmt.Fprintf(&b, "\tx%d %s\n", i+1, strings.ReplaceAll(next, "?", fmt.Sprint("x", i)))
		}
		return b.String() + ")\n\n"
	}
	u := load(t, module(t, "-- tags.go --\npackage tags\n\nfunc F() int { return 1 }\n"), ".F")
	const f = "func F() int { return 1 }\n"
	for name, c := range map[string]struct{ text, says string }{
		"constants":       {doubling("const", `= "0123456789"`, "= ? + ?") + f, "too long"},
		"structs":         {doubling("type", "struct{}", "struct{ a, b ? }") + f, "too many parts"},
		"arrays":          {doubling("type", "struct{}", "[1]struct{ a, b ? }") + f, "too many parts"},
		"of its own name": {"package tags\n\nfunc F() int {\n\tconst s = \"x\"\n\t{\n\t\tconst s = s + s\n\t\treturn len(s)\n\t}\n}\n", "too long"},
		"expression":      {"package tags\n\nconst s = \"" + strings.Repeat("x", 1<<19) + "\"\n\nfunc F() int { return len(s + s + s) }\n", "too long"},
		"honest":          {"package tags\n\nconst a, b = \"x\", a + \"y\"\n\ntype node struct {\n\tnext *node\n\trow  [4]struct{ x, y int }\n}\n\nfunc F() int { return len(b) + len(node{}.row) - 5 }\n", ""},
	} {
		_, p := u.Reader.Parse(c.text)
		switch {
		case c.says == "" && p != nil:
			t.Errorf("%s: refused: %s", name, p.Message)
		case c.says != "" && (p == nil || p.Stage != "parse" || !strings.Contains(p.Message, c.says)):
			t.Errorf("%s: %+v, want %q", name, p, c.says)
		}
	}
}
