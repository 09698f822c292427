package flow

import (
	"slices"
	"time"

	"github.com/beagle-go/beagle"
)

// A Log is what the report tells of the course of a search. It is saved with
// every checkpoint.
type Log struct {
	Trials         []beagle.Trial `json:"trials"`
	Seconds        float64        `json:"seconds"` // of searching
	PrepareSeconds float64        `json:"prepare_seconds"`
	Generations    int            `json:"generations"`
	Thin           int            `json:"thin"`          // generations in a row with few new candidates
	FirstSeconds   float64        `json:"first_seconds"` // from the start to the first candidate's verdict
	Spent          Split          `json:"spent"`

	Asked map[string]AskedSum `json:"asked,omitempty"` // by model
	Turn  int                 `json:"turn,omitempty"`  // turns of the search that are in this log
}

// A Split is where the time of evaluations went, in all.
type Split struct {
	Candidates int           `json:"candidates"`
	Cached     int           `json:"cached"`
	Build      time.Duration `json:"build"`
	Verify     time.Duration `json:"verify"`
	Screen     time.Duration `json:"screen"`
}

// Add notes a generation: its verdicts, the island of each candidate, what
// their evaluation has cost, and how long all took.
func (l *Log) Add(judged []Evaluated, island map[string]int, cost Split, took time.Duration) {
	if len(l.Trials) == 0 {
		l.FirstSeconds = l.PrepareSeconds + took.Seconds()
	}
	for _, e := range judged {
		if e.Verdict.Status == beagle.Duplicate || l.has(e.Candidate) {
			continue
		}
		l.Trials = append(l.Trials, beagle.Trial{
			Candidate: e.Candidate, Parents: e.Parents, Island: island[e.Candidate], Steps: e.Steps,
			Status: e.Verdict.Status, Stage: e.Verdict.Stage, Reason: e.Verdict.Reason, Screen: e.Verdict.Screen,
		})
	}
	l.Generations++
	l.Seconds += took.Seconds()
	l.Spent.Candidates += cost.Candidates
	l.Spent.Cached += cost.Cached
	l.Spent.Build += cost.Build
	l.Spent.Verify += cost.Verify
	l.Spent.Screen += cost.Screen
}

func (l *Log) has(candidate string) bool {
	return slices.ContainsFunc(l.Trials, func(t beagle.Trial) bool { return t.Candidate == candidate })
}

// Statuses counts how evaluations ended.
func (l *Log) Statuses() map[beagle.Status]int {
	counts := map[beagle.Status]int{}
	for _, t := range l.Trials {
		counts[t.Status]++
	}
	return counts
}

// Best is the trial with the best conservative ratio, nil when there is none
// yet.
func (l *Log) Best() *beagle.Trial {
	var best *beagle.Trial
	for i := range l.Trials {
		t := &l.Trials[i]
		if t.Screen != nil && (best == nil || t.Screen.Low > best.Screen.Low) {
			best = t
		}
	}
	return best
}

// split turns the sums into figures a candidate.
func (l *Log) split(confirm float64) beagle.Split {
	s := beagle.Split{FirstCandidateSeconds: l.FirstSeconds, PrepareSeconds: l.PrepareSeconds, ConfirmSeconds: confirm, Cached: l.Spent.Cached}
	n := float64(l.Spent.Candidates)
	if n == 0 {
		return s // all came from the store
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / n }
	s.Build, s.Verify, s.Screen = each(l.Spent.Build), each(l.Spent.Verify), each(l.Spent.Screen)
	s.Orchestration = max(0, l.Seconds*1000-n*(s.Build+s.Verify+s.Screen)) / (n + float64(l.Spent.Cached))
	return s
}
