package beagle_test

import (
	"testing"

	"github.com/beagle-go/beagle"
)

func TestAssuranceLine(t *testing.T) {
	for _, test := range []struct {
		a    beagle.Assurance
		want string
	}{
		{beagle.Assurance{Inputs: 7}, "7 inputs"},
		{beagle.Assurance{Inputs: 1234567, NotChecked: []string{"a", "b", "c", "d", "e", "f"}}, "1,234,567 inputs, not checked: a; b; c; d; and 2 more"},
		{beagle.Assurance{Inputs: 1000, Proof: &beagle.Proof{Complete: true, Not: []string{"capacity"}}}, "1,000 inputs, proved for all inputs except capacity (equal terms)"},
		{
			beagle.Assurance{
				Inputs: 2229492, Saturated: true, Proof: &beagle.Proof{Length: 12, Solvers: []string{"z3 5.4.1"}},
				Constructed: []string{"byte-table", "unroll"}, Steps: 3, NotChecked: []string{"big-endian machines"},
				Unreached: []beagle.Branch{{"candidate", 12, "n > 65535", "true"}, {"original", 3, "n < 0", "false"}},
			},
			"2,229,492 inputs, search saturated, proved for all inputs up to length 12 (z3 5.4.1), 2 of 3 steps " +
				"correct by construction, " +
				"not checked: big-endian machines; 2 branches no input reached (line 12 `n > 65535`; line 3 `n < 0` false of the original)",
		},
	} {
		if got := test.a.String(); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 12345: "12,345", 1234567: "1,234,567"} {
		if got := beagle.Thousands(n); got != want {
			t.Errorf("Thousands(%d) = %s, want %s", n, got, want)
		}
	}
}
