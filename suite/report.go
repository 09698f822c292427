package suite

import (
	"cmp"
	"math"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Report is the object that `beagle suite --json` prints.
type Report struct {
	Optimiser  string         `json:"optimiser"`            // "beagle", or the command of --against
	Strategy   string         `json:"strategy,omitempty"`   // of Beagle's search
	Rules      []string       `json:"rules,omitempty"`      // rules and sets of the search; none is the default set
	Candidates int            `json:"candidates,omitempty"` // budget of each search
	Seeds      []uint64       `json:"seeds"`                // one run of the optimiser each
	Tasks      []Row          `json:"tasks"`
	Means      Means          `json:"means"`
	Seconds    float64        `json:"seconds"` // wall time of all
	Machine    beagle.Machine `json:"machine"`
}

// A Row is the outcome of one task.
type Row struct {
	Task     string `json:"task"`
	Function string `json:"function"` // the target
	// whether the task is solved by rewriting, and counts in the means
	Rewriting bool    `json:"rewriting"`
	Goal      float64 `json:"goal,omitempty"` // times as fast; 0 is no goal
	// whether the low end of ratio reaches the goal, or the advice was given; nil without either
	Met        *bool        `json:"met,omitempty"`
	Ratio      beagle.Ratio `json:"ratio"`      // of the median run, over the original
	Lowest     float64      `json:"lowest"`     // ratio of the worst run
	Highest    float64      `json:"highest"`    // ratio of the best run
	Expert     beagle.Ratio `json:"expert"`     // of the expert's version, measured with the runs' versions
	OfExpert   beagle.Ratio `json:"of_expert"`  // ratio over expert: 1 is as fast as the expert's version
	Candidates int          `json:"candidates"` // evaluated by the median run
	// of the median run's search, with its inputs and its own judgement
	Seconds   float64   `json:"wall_seconds"`
	Advice    *Advised  `json:"advice,omitempty"`    // of tasks that are answered with advice
	Runs      []Run     `json:"runs"`                // one a seed
	Technique string    `json:"technique,omitempty"` // of the expert
	Published Published `json:"published"`
}

// Advised says whether advice was given, and whether it stayed advice.
type Advised struct {
	Name    string `json:"name"`
	Named   bool   `json:"named"`   // the advisory was reported
	Applied bool   `json:"applied"` // some version followed it nevertheless
}

// A Run is one run of the optimiser on a task.
type Run struct {
	Seed       uint64        `json:"seed"`
	ID         string        `json:"run,omitempty"` // as `beagle show` takes it
	Status     beagle.Status `json:"status"`        // of its version: accepted, equal, or why it was refused
	Reason     string        `json:"reason,omitempty"`
	Ratio      beagle.Ratio  `json:"ratio"` // 1 when its version was refused or is the original
	Candidates int           `json:"candidates"`
	Seconds    float64       `json:"wall_seconds"`
	Steps      []beagle.Step `json:"steps,omitempty"`
	Source     string        `json:"source"`
}

// Means are geometric ones, over the tasks where rewriting applies.
type Means struct {
	Tasks    int     `json:"tasks"`
	Ratio    float64 `json:"ratio"`
	Expert   float64 `json:"expert"`
	OfExpert float64 `json:"of_expert"`
}

// One is the ratio of the original to itself.
var One = beagle.Ratio{Point: 1, Low: 1, High: 1}

// Settle computes the row's sums from the runs and the expert's ratio.
func (r *Row) Settle() {
	if len(r.Runs) == 0 {
		return
	}
	sorted := slices.Clone(r.Runs)
	inorder.By(sorted, func(a, b Run) int { return cmp.Compare(a.Ratio.Point, b.Ratio.Point) })
	median := sorted[len(sorted)/2]
	r.Ratio, r.Candidates, r.Seconds = median.Ratio, median.Candidates, median.Seconds
	r.Lowest, r.Highest = sorted[0].Ratio.Point, sorted[len(sorted)-1].Ratio.Point
	// The two are measured in the same slices, so that the true interval is narrower.
	r.OfExpert = r.Ratio.Over(r.Expert)
	switch {
	case r.Advice != nil:
		met := r.Advice.Named && !r.Advice.Applied
		r.Met = &met
	case r.Goal > 0:
		met := r.Ratio.Low >= r.Goal
		r.Met = &met
	}
}

// Average returns the means of the rows.
func Average(rows []Row) Means {
	var m Means
	ratio, expert := 0.0, 0.0
	for _, r := range rows {
		if !r.Rewriting || r.Ratio.Point <= 0 || r.Expert.Point <= 0 {
			continue
		}
		m.Tasks++
		ratio += math.Log(r.Ratio.Point)
		expert += math.Log(r.Expert.Point)
	}
	if m.Tasks == 0 {
		return m
	}
	n := float64(m.Tasks)
	m.Ratio, m.Expert, m.OfExpert = math.Exp(ratio/n), math.Exp(expert/n), math.Exp((ratio-expert)/n)
	return m
}
