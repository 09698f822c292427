package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle/internal/special"
)

// A sampleReport is the output of the verb sample. For the sealed half it holds totals only.
type sampleReport struct {
	Half    string `json:"half"`
	Seed    uint64 `json:"seed"`
	Build   string `json:"build"`
	Budget  string `json:"budget"`
	LeftOut int    `json:"modules_left_out"` // their benchmarks do not run here, or exercise no function

	Functions int            `json:"functions"`
	Taken     int            `json:"taken"`    // a search ended with a verdict
	Rejected  map[string]int `json:"rejected"` // by reason
	Failed    map[string]int `json:"failed"`   // by cause
	Kept      map[string]int `json:"kept"`     // searches without an improvement, by reason
	Improved  int            `json:"improved"` // by 5 % or more at the low end
	Slightly  int            `json:"improved_less"`
	// of the improvements of 5 % and more, times as fast
	Median    float64        `json:"median,omitempty"`
	Quartiles [2]float64     `json:"quartiles,omitzero"`
	Tests     map[string]int `json:"tests"`    // of all winners
	Slower    int            `json:"slower"`   // winners that the second measurement calls slower
	Wrong     int            `json:"wrong"`    // winners that the second verification rejects
	InPlace   int            `json:"in_place"` // of the taken ones, judged in the package's own tests
	Statuses  map[string]int `json:"statuses"` // of all versions
	Minutes   float64        `json:"cpu_minutes"`
	PerWin    float64        `json:"cpu_minutes_per_win,omitempty"`

	Rules   map[string]*ruleSum `json:"rules,omitempty"`
	Results []*result           `json:"results,omitempty"` // none of the sealed half
}

// A ruleSum counts the outcomes of a rule's proposals in all functions.
type ruleSum struct {
	Functions int `json:"functions"` // in which it proposed a version
	Proposed  int `json:"proposed"`
	Behaved   int `json:"behaved"`
	Faster    int `json:"faster"`
	Winners   int `json:"winners"` // functions whose winner has a step of it
}

// sum counts the results, and drops the names of the sealed half.
func (r *sampleReport) sum() {
	r.Functions, r.Rejected, r.Failed, r.Kept = len(r.Results), map[string]int{}, map[string]int{}, map[string]int{}
	r.Tests, r.Rules, r.Statuses = map[string]int{}, map[string]*ruleSum{}, map[string]int{}
	var gains []float64
	// Count how the searches ended.
	for _, one := range r.Results {
		s := &one.Search
		r.Minutes += s.Seconds / 60
		switch s.End {
		case rejected:
			r.Rejected[s.Why]++
		case failed:
			r.Failed[s.Why]++
		case kept:
			r.Taken++
			r.Kept[s.Why]++
		case improved:
			r.Taken++
			if s.Low >= atLeast {
				gains = append(gains, s.Gain)
			} else {
				r.Slightly++
			}
		}
		if s.InPlace {
			r.InPlace++
		}
		for status, n := range s.Statuses {
			r.Statuses[status] += n
		}
		r.rules(s)
		r.winner(one.Winner)
	}
	// Compute the quantiles of the gains.
	slices.Sort(gains)
	if r.Improved = len(gains); r.Improved > 0 {
		r.Median, r.Quartiles = special.Quantile(gains, 0.5),
			[2]float64{special.Quantile(gains, 0.25), special.Quantile(gains, 0.75)}
		r.PerWin = r.Minutes / float64(r.Improved)
	}
	// Print no function of the sealed half.
	if r.Half == sealed {
		r.Results = nil
	}
}

func (r *sampleReport) rules(s *search) {
	for name, u := range s.Rules {
		t := r.Rules[name]
		if t == nil {
			t = &ruleSum{}
			r.Rules[name] = t
		}
		t.Proposed, t.Behaved, t.Faster, t.Winners = t.Proposed+u.Proposed, t.Behaved+u.Behaved, t.Faster+u.Faster,
			t.Winners+u.Won
		if u.Proposed > 0 {
			t.Functions++
		}
	}
}

func (r *sampleReport) winner(w *winner) {
	if w == nil {
		return
	}
	r.Tests[w.Tests]++
	if w.slower() {
		r.Slower++
	}
	if w.wrong() {
		r.Wrong++
	}
}

// print prints the totals, and before them a row for each function of the
// development half.
func (r *sampleReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	// Print a row for each function of the development half.
	for _, one := range r.Results {
		fmt.Fprintf(t, "%s\t%s\t%s\n", one.Module, one.Function, one.words())
	}
	if len(r.Results) > 0 {
		fmt.Fprintln(t)
	}
	// Print the totals.
	fmt.Fprintf(t, "%s half, seed %d\t%d functions; %d modules left out; beagle %s %s\n", r.Half, r.Seed, r.Functions,
		r.LeftOut, r.Build, r.Budget)
	fmt.Fprintf(t, "can be taken\t%s%s%s\n", share(r.Taken, r.Functions), listed("; rejected: ", r.Rejected),
		listed("; failed: ", r.Failed))
	fmt.Fprintf(t, "improved by 5 %% or more\t%s; %d more by less%s\n", share(r.Improved, r.Functions), r.Slightly,
		listed("; not: ", r.Kept))
	if r.Improved > 0 {
		fmt.Fprintf(t, "gain of these\tmedian %.2fx, quartiles %.2fx and %.2fx\n", r.Median, r.Quartiles[0],
			r.Quartiles[1])
	}
	fmt.Fprintf(t, "judged in place\t%s\n", share(r.InPlace, r.Taken))
	fmt.Fprintf(t, "ends of the versions\t%s\n", listed("", r.Statuses))
	winners := r.Improved + r.Slightly
	fmt.Fprintf(t, "the package's own tests\t%d winners%s\n", winners, listed(": ", r.Tests))
	fmt.Fprintf(t, "measured a second time\t%d slower, %d wrong\n", r.Slower, r.Wrong)
	fmt.Fprintf(t, "processor time\t%.0f minutes", r.Minutes)
	if r.Improved > 0 {
		fmt.Fprintf(t, ", %.1f for an improvement", r.PerWin)
	}
	fmt.Fprintln(t)
	// Print a row for each rule.
	names := slices.SortedFunc(maps.Keys(r.Rules), func(a, b string) int {
		return cmp.Or(r.Rules[b].Winners-r.Rules[a].Winners, r.Rules[b].Faster-r.Rules[a].Faster, cmp.Compare(a, b))
	})
	fmt.Fprintln(t, "\nrule\tfunctions\tversions\tbehaved\tfaster\tin winners")
	for _, n := range names {
		u := r.Rules[n]
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\n", n, u.Functions, u.Proposed, u.Behaved, u.Faster, u.Winners)
	}
	return t.Flush()
}

func share(n, of int) string {
	return fmt.Sprintf("%d of %d (%.0f %%)", n, of, 100*float64(n)/float64(max(of, 1)))
}

// listed prints counts, the largest first, after a heading, and prints nothing if there are none.
func listed(heading string, m map[string]int) string {
	if len(m) == 0 {
		return ""
	}
	keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(m[b]-m[a], cmp.Compare(a, b)) })
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%s %d", k, m[k])
	}
	return heading + strings.Join(keys, ", ")
}
