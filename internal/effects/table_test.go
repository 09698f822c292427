package effects

import (
	"strings"
	"testing"
)

func FuzzTable(f *testing.F) {
	f.Add("strings.ToLower\nbytes.Clone r0:new\n!Write w:p0 k:d0<p1 c:p1!Read(-) r1/2:*x # why\nversion go1.26\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := readTable(strings.NewReader(text))
		if err != nil {
			return
		}
		for name, s := range table.Functions {
			again, err := parseSummary(strings.Fields(s.String()))
			if err != nil {
				t.Fatalf("%s: %q: %v", name, s, err)
			}
			if again.String() != s.String() {
				t.Errorf("%s: %q, read again %q", name, s, again)
			}
		}
	})
}
