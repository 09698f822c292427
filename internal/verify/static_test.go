package verify

import (
	"strings"
	"testing"
)

// TestStatic checks that Static refuses the catalogue's policy entries without running anything,
// and passes the entries that other checks must judge.
func TestStatic(t *testing.T) {
	static := map[string]bool{"parse": true, "types": true, "scope": true, "policy": true}
	for name := range specs {
		t.Run(name, func(t *testing.T) {
			c := load(t, name)
			for _, e := range c.cases {
				v, err := Static(t.Context(), c.env, e.candidate(), c.corpus)
				switch {
				case err != nil:
					t.Fatal(err)
				case static[e.check] && v.OK():
					// those need the original's results
					if !strings.Contains(e.says, "a result") && !strings.HasPrefix(e.says, "literal") {
						t.Errorf("%s: passed, want %s", e.name, e.check)
					}
				case static[e.check] && (v.Stage != e.check || !strings.Contains(v.Reason, e.says)):
					t.Errorf("%s: refused by %s: %s, want %s: %s", e.name, v.Stage, v.Reason, e.check, e.says)
				case !static[e.check] && !v.OK():
					t.Errorf("%s: refused by %s: %s, want %s", e.name, v.Stage, v.Reason, e.check)
				}
			}
		})
	}
}
