package rules_test

import (
	"go/version"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/rules"
)

// TestMeasured checks that the tables name existing rules, and give each a ratio within its
// interval or a reason.
func TestMeasured(t *testing.T) {
	table := rules.Measured("go1.26.8", "amd64")
	if table == nil || len(table.Rules) == 0 {
		t.Fatal("there is no table for go1.26.8 on amd64")
	}
	for name, m := range table.Rules {
		if rules.Named(name) == nil {
			t.Errorf("the table has %s, which is no rule", name)
		}
		if r := m.Ratio; (r.Point == 0) == (m.Why == "") || r.Low > r.Point || r.Point > r.High {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if got := rules.Measured("go1.26.99", "amd64"); got == nil || got.Go != table.Go {
		t.Error("another patch level has no table")
	}
	if rules.Measured("go1.99.0", "amd64") != nil || rules.Measured("go1.26.8", "mips") != nil {
		t.Error("there is a table for what nobody measured")
	}
}

// TestTables checks that the oldest toolchain comes first, and that a rule that stopped paying did
// pay with an older one.
func TestTables(t *testing.T) {
	list := rules.Tables("amd64")
	if len(list) < 2 || version.Compare(list[0].Go, list[1].Go) >= 0 {
		t.Fatalf("%d tables, not in order", len(list))
	}
	for i, table := range list {
		for name, m := range table.Rules {
			if m.Paid == "" {
				continue
			}
			j := slices.IndexFunc(list[:i], func(o *rules.Table) bool { return o.Go == m.Paid })
			if j < 0 || !list[j].Rules[name].Pays() || m.Pays() {
				t.Errorf("%s with %s: %+v", name, table.Go, m)
			}
		}
	}
}

func TestMeasurementText(t *testing.T) {
	var none *rules.Table
	for want, m := range map[string]rules.Measurement{
		"2x (95 %: 1.5 to 2.5)":                      {Ratio: beagle.Ratio{Point: 2, Low: 1.5, High: 2.5}},
		"unsure: 1.1x (95 %: 1 to 1.2)":              {Ratio: beagle.Ratio{Point: 1.1, Low: 1, High: 1.2}},
		"no gain: 1.01x (95 %: 0.98 to 1.04)":        {Ratio: beagle.Ratio{Point: 1.01, Low: 0.98, High: 1.04}},
		"stopped paying: 1.01x (95 %: 0.98 to 1.04)": {Ratio: beagle.Ratio{Point: 1.01, Low: 0.98, High: 1.04}, Paid: "go1.25.0"},
		"not measured: it is generic":                {Why: "it is generic"},
		"not measured: no table":                     none.Of("unroll"),
		"not measured: the rule is newer":            (&rules.Table{}).Of("unroll"),
		"not measured: it has no example of its own": (&rules.Table{}).Of("lift"),
	} {
		if got := m.String(); !strings.HasPrefix(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
