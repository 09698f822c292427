package source

import (
	"slices"
	"strings"
	"testing"
)

const narrowModule = `
-- a.go --
package m

import "path"

var digits = []int{1, 2, 3}

var names = map[string]int{"a": 1}

type box struct{ list []int }

func (b *box) size() int { return len(b.list) }

type other struct{ box }

func (o other) size() int { return -1 }

func F(digits []int, b *box) int { return digits[0] + help(1) + b.size() + first(digits) + base("a") }

func help(i int) int { return digits[i] + names["a"] }

func first(list []int) int { return list[0] }

func base(s string) int { return len(path.Base(s)) }

func Other(o other) int { return help(2) + o.size() + o.box.size() + first(digits) + base("") }

func look(list []int) int { return many(list) + list[1] }

func many(list []int) int { return len(list) }
`

// TestNarrow: a copy goes only where the original's name means the original, and the candidate left
// the copy as it was.
func TestNarrow(t *testing.T) {
	u := load(t, module(t, narrowModule), "./.F")
	const (
		digits = "\n\n// digitsForF is digits as F needs it.\nvar digitsForF = []int{1, 2, 3}\n"
		names  = "\n\n// namesForF is names as F needs it.\nvar namesForF = map[string]int{\"a\": 1}\n"
		first  = "\n\n// firstForF is first as F needs it.\nfunc firstForF(list []int) int { return list[0] }\n"
		help   = "\n\n// helpForF is help as F needs it.\n" +
			"func helpForF(i int) int { return digitsForF[i] + namesForF[\"a\"] }\n"
		size = "\n\n// boxSizeForF is box.size as F needs it.\nfunc boxSizeForF(b *box) int { return len(b.list) }\n"
		base = "\n\n// baseForF is base as F needs it.\n" +
			"func baseForF(s string) int { return len(path.Base(s)) }\n"
	)
	for _, c := range []struct {
		about, src string
		kept       []string // copies
		has        string   // a piece of the narrowed text
	}{
		{"nothing is in the way", "func F(list []int, b *box) int { return list[0] + digitsForF[1] }" + digits, nil,
			"list[0] + digits[1]"},
		{"a parameter hides the original", "func F(digits []int, b *box) int { return digits[0] + digitsForF[1] }" +
			digits, []string{"digitsForF"}, "digits[0] + digitsForF[1]"},
		{"a local hides it later", "func F(list []int, b *box) int { x := digitsForF[1]; digits := x; return digits }" +
			digits, nil, "x := digits[1]"},
		{"a local hides it in a closure", "func F(list []int, b *box) int {\n\tf := func() (digits int) { " +
			"digits = digitsForF[0]; return }\n\treturn f() + digitsForF[1]\n}" + digits, []string{"digitsForF"}, ""},
		{"a copy is printed on other lines",
			"func F(list []int, b *box) int { return firstForF(list) + digitsForF[1] }" +
				strings.Replace(first, "{ return list[0] }", "{\n\t// The first.\n\treturn list[0]\n}", 1) +
				strings.Replace(digits, "2, 3}", "2,\n\t3,\n}", 1), nil, "first(list) + digits[1]"},
		{"a local hides a function", "func F(first []int, b *box) int { return firstForF(first) }" + first,
			[]string{"firstForF"}, "firstForF(first)"},
		{"a copy whose text the original has, with another meaning",
			"func F(list []int, b *box) int { return firstForF(list) }" +
				strings.Replace(first, "list[0]", "digitsForF[0]", 1) + digits,
			[]string{"firstForF"}, "return digits[0]"},
		{"a parameter of a copy hides what it needs",
			"func F(list []int, b *box) int { return helpForF(1) }" + strings.NewReplacer("(i int)", "(names int)",
				"digitsForF[i]", "digitsForF[names]").Replace(help) + digits + names,
			[]string{"helpForF", "namesForF"}, "digits[names] + namesForF"},
		{"an element is written", "func F(digits []int, b *box) int { digitsForF[0]++; return digits[0] }" + digits,
			[]string{"digitsForF"}, "digitsForF[0]++"},
		{"a map is written through another name",
			"func F(list []int, b *box) int {\n\tm := namesForF\n\tm[\"b\"] = 2\n" +
				"\treturn namesForF[\"a\"]\n}" + names, []string{"namesForF"}, "m := namesForF"},
		{"a copy uses what is written", "func F(list []int, b *box) int { namesForF[\"a\"]++; return helpForF(1) }" +
			help + digits + names, []string{"namesForF", "helpForF"}, "helpForF(1)"},
		{"a function of the rest looks", "func F(list []int, b *box) int { return look(digitsForF) }" + digits, nil,
			"look(digits)"},
		{"a function is no call", "func F(list []int, b *box) int { f := firstForF; return f(list) }" + first, nil,
			"f := first"},
		{"a method is no call", "func F(list []int, b *box) int { f := boxSizeForF; return f(b) }" + size,
			[]string{"boxSizeForF"}, "f := boxSizeForF"},
		{"a literal", "func F(list []int, b *box) int { return boxSizeForF(&box{list}) + boxSizeForF(b) }" + size, nil,
			"(&box{list}).size() + b.size()"},
		{"a field of another type", "func F(list []int, b *box) int { var o other; return boxSizeForF(&o.box) }" + size,
			nil, "o.box.size()"},
		{"no receiver", "func F(list []int, b *box) int { return boxSizeForF(nil) }" + size, []string{"boxSizeForF"}, ""},
		{"another package of the same name", "import path \"path/filepath\"\n\n" +
			"func F(list []int, b *box) int { return baseForF(\"a\") }" + base, []string{"baseForF"}, ""},
		{"the same package", "import \"path\"\n\nfunc F(list []int, b *box) int { return baseForF(\"a\") }" + base,
			nil, "return base("},
	} {
		t.Run(c.about, func(t *testing.T) {
			src := mustNormal(t, u, "package m\n\n"+c.src)
			if _, problem := u.Reader.Parse(src); problem != nil {
				t.Fatalf("%+v\n%s", problem, src)
			}
			out, err := u.Copies.Narrow(src)
			if err != nil {
				t.Fatal(err)
			}
			if _, problem := u.Reader.Parse(out); problem != nil {
				t.Fatalf("%+v\n%s", problem, out)
			}
			for _, name := range []string{"digitsForF", "namesForF", "firstForF", "helpForF",
				"boxSizeForF", "baseForF"} {
				if strings.Contains(out, name) != slices.Contains(c.kept, name) {
					t.Errorf("%s: wants the copies %v:\n%s", name, c.kept, out)
				}
			}
			if !strings.Contains(out, c.has) {
				t.Errorf("it lacks %q:\n%s", c.has, out)
			}
		})
	}
}

// TestWidenHidden: code that declares the name of a copy as its own could not call the copy.
func TestWidenHidden(t *testing.T) {
	u := load(t, module(t, narrowModule), "./.F")
	src := strings.Replace(u.Target.Source, "return digits[0]", "firstForF := 1\n\treturn firstForF + digits[0]", 1)
	wide, copies := u.Copies.Widen(src)
	if slices.Contains(copies, "firstForF") || !slices.Contains(copies, "helpForF") {
		t.Errorf("copies %v:\n%s", copies, wide)
	}
	if back, err := u.Copies.Narrow(wide); err != nil || back != mustNormal(t, u, src) {
		t.Errorf("narrowed %v:\n%s", err, back)
	}
}

func mustNormal(t *testing.T, u *Unit, src string) string {
	t.Helper()
	out, err := u.Reader.Normalize(src)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
