package flow

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

// TestPlaced checks that what is wrong with a version is placed on a line of the text that was
// handed in, however that was formatted and completed.
func TestPlaced(t *testing.T) {
	const text = "package p\n\n// bias is added.\nconst bias = 0\n\n// Sum adds the bytes of s.\n" +
		"func Sum(s string) int {\n\tn := bias\n\tfor i := 0; i < len(s); i++ {\n\t\tn += int(s[i])\n\t}\n" +
		"\treturn n\n}\n"
	x := asked(t, openStore(t), text, llmtest.New(t, llmtest.Say("")), llm.Caps{})
	for written, want := range map[string]string{
		"package p\nimport \"os\"\n\n\n\nfunc Sum(s string) int { n := bias\n\n\n  os.Exit(1); return n }\n":         "v.go:9: ",
		"package p\n// a comment\n\n\n\nfunc Sum(s string) int { n := bias\n\n  //go:linkname x y\n  return n }\n\n": "v.go:8: ",
		"package p\n\n\n\nfunc Sum(s string) int { n := bias\n\n\n  return m }\n":                                    "v.go:8: ",
		"func Sum(s string) int {\n\treturn 0\n}\n":                                                                  "v.go:1: ",
		"\n\n\nfunc Sum(s string) int {\n\treturn 0\n}\n":                                                            "v.go:4: ",
		"package p\n\n\n\nfunc Sum(s string) int {\n\treturn (0\n}\n":                                                "v.go:6: ",
		"package p\r\n\r\nfunc Sum(s string) int {\r\n\r\n\r\n\treturn bias + m\r\n}\r\n":                            "v.go:6: ",
	} {
		h := x.door.admit(written, partial)
		v, err := x.door.static(t.Context(), h, false)
		if err != nil {
			t.Fatal(err)
		}
		before := v.Reason
		if got := h.mapLines(v, "v.go").Reason; !strings.HasPrefix(got, want) || v.OK() {
			t.Errorf("%q:\n%s\nnot placed at %s, was %s", written, got, want, before)
		}
	}
	h := x.door.admit("package p\n\nfunc Sum(s string) int { n := bias; return n }\n", partial)
	at := 1 + strings.Count(h.Source[:strings.Index(h.Source, "const bias")], "\n")
	v := &beagle.Verdict{Status: beagle.Invalid, Reason: "line " + string(rune('0'+at)) + ": of the original"}
	if got := h.mapLines(v, "v.go").Reason; got != "v.go: of the original" {
		t.Errorf("what was completed is placed at %s", got)
	}
	if got := nearestLine(map[int]int{3: 7}, 5); got != 7 || nearestLine(map[int]int{3: 7}, 2) != 0 {
		t.Errorf("line 5 is traced to %d", got)
	}
}

// TestDoor checks that all texts from outside meet the same limits, completion and errors.
func TestDoor(t *testing.T) {
	const text = `package p

const bias = 0

func Sum(s string) int {
	n := bias
	for i := 0; i < len(s); i++ {
		n += int(s[i])
	}
	return n
}
`
	d := asked(t, openStore(t), text, llmtest.New(t, llmtest.Say("")), llm.Caps{}).door
	sum := func(body string) string {
		return "package p\n\nconst bias = 0\n\nfunc Sum(s string) int { " + body + " }\n"
	}
	nested := strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400)
	for name, c := range map[string]struct{ text, reason, complaint string }{
		"right":     {sum("return len(s)"), "", ""},
		"long":      {sum("return 0 /*" + strings.Repeat("x", llm.MaxCode) + "*/"), "the file has ", "the file has "},
		"deep":      {sum("return " + nested), "the code nests ", "the code nests "},
		"no Go":     {"package p\n\nfunc Sum(s string) int {\n\treturn (0\n}\n", "line 4: ", "candidate.go:4:11: "},
		"untyped":   {sum("return m"), "line 5: undefined: m", "line 5: undefined: m\n\tfunc Sum"},
		"signature": {"package p\n\nconst bias = 0\n\nfunc Sum(s []byte) int { return 0 }\n", "line 5: ", "line 5: "},
	} {
		for _, much := range []extent{partial, entire} {
			a := d.admit(c.text, much)
			v, err := d.static(t.Context(), a, false)
			if err != nil {
				t.Fatal(err)
			}
			if c.reason == "" {
				if a.refusal() != nil || a.complaint() != "" || a.file == nil || !v.OK() {
					t.Errorf("%s: refused: %v, %s, %v", name, a.refusal(), a.complaint(), v.Reason)
				}
				continue
			}
			r := a.refusal()
			if r == nil || a.file != nil || !strings.HasPrefix(r.Reason, c.reason) || r.Status != beagle.Invalid {
				t.Errorf("%s: the refusal is %+v, want %q", name, r, c.reason)
			}
			if !strings.Contains(a.complaint(), c.complaint) {
				t.Errorf("%s: the complaint is %q, want %q", name, a.complaint(), c.complaint)
			}
			if v.OK() || v.Stage != r.Stage || v.Reason != r.Reason || v.Candidate != a.ID || len(v.Checks) != 1 {
				t.Errorf("%s: the verdict is %+v, the refusal %+v", name, v, r)
			}
		}
	}
	const without = "package p\n\nfunc Sum(s string) int { return bias + len(s) }\n"
	if a := d.admit(without, partial); a.file == nil || !strings.Contains(a.Source, "const bias = 0") {
		t.Errorf("what was left out is not completed: %v\n%s", a.refusal(), a.Source)
	}
	if a := d.admit(without, entire); a.file != nil {
		t.Errorf("a whole file is completed:\n%s", a.Source)
	}
}

// TestStaticBeforeEvidence: a version with a copy of a callee that counts is refused for recorded
// calls, and not as long as the evidence may come from the user's tests.
func TestStaticBeforeEvidence(t *testing.T) {
	const text = "package p\n\nvar calls int\n\n// Sum counts its calls.\n" +
		"func Sum(s string) int { return count(s) }\n\n" +
		"func count(s string) int {\n\tcalls++\n\treturn len(s)\n}\n\nvar Other = count(\"\")\n"
	d := asked(t, openStore(t), text, llmtest.New(t, llmtest.Say("")), llm.Caps{}).door
	a := d.admit("package p\n\nfunc Sum(s string) int { return countForSum(s) }\n\n"+
		"func countForSum(s string) int {\n\tcalls++\n\treturn len(s)\n}\n", partial)
	for inPlace, want := range map[bool]beagle.Status{false: beagle.Forbidden, true: beagle.Equal} {
		v, err := d.static(t.Context(), a, inPlace)
		if err != nil {
			t.Fatal(err)
		}
		if v.Status != want {
			t.Errorf("in place %v: %s, %s; want %s", inPlace, v.Status, v.Reason, want)
		}
	}
}
