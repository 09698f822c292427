package flow

import (
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/llm"
)

// What is wrong with a version is placed on a line of the text that was handed in,
// however that was formatted and completed.
func TestPlaced(t *testing.T) {
	const text = "package p\n\n// bias is added.\nconst bias = 0\n\n// Sum adds the bytes of s.\nfunc Sum(s string) int {\n\tn := bias\n\tfor i := 0; i < len(s); i++ {\n\t\tn += int(s[i])\n\t}\n\treturn n\n}\n"
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
		h := x.door.hand(written, "v.go")
		v, err := verify.Static(t.Context(), &verify.Env{Unit: x.unit}, h.Candidate, nil)
		if err != nil {
			t.Fatal(err)
		}
		before := v.Reason
		if got := h.placed(v).Reason; !strings.HasPrefix(got, want) || v.OK() {
			t.Errorf("%q:\n%s\nnot placed at %s, was %s", written, got, want, before)
		}
	}
	h := x.door.hand("package p\n\nfunc Sum(s string) int { n := bias; return n }\n", "v.go")
	at := 1 + strings.Count(h.Source[:strings.Index(h.Source, "const bias")], "\n")
	v := &beagle.Verdict{Status: beagle.Invalid, Reason: "line " + string(rune('0'+at)) + ": of the original"}
	if got := h.placed(v).Reason; got != "v.go: of the original" {
		t.Errorf("what was completed is placed at %s", got)
	}
	if got := nearest(map[int]int{3: 7}, 5); got != 7 || nearest(map[int]int{3: 7}, 2) != 0 {
		t.Errorf("line 5 is traced to %d", got)
	}
}
