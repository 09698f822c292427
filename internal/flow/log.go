package flow

import (
	"maps"
	"slices"
	"time"

	"github.com/beagle-go/beagle"
)

// A Log records the course of a search for the report. Each checkpoint saves it.
type Log struct {
	Attempts       []beagle.Attempt `json:"trials"`
	Seconds        float64          `json:"seconds"` // of searching
	PrepareSeconds float64          `json:"prepare_seconds"`
	Generations    int              `json:"generations"`
	Thin           int              `json:"thin"`          // generations in a row with few new candidates
	FirstSeconds   float64          `json:"first_seconds"` // from the start to the first candidate's verdict
	Spent          Split            `json:"spent"`

	Replies int `json:"replies,omitempty"` // of models that the search was told of

	Actions int `json:"turn,omitempty"` // actions of the search that are in this log

	sums *attemptSums // of Attempts, as far as they were summed up
}

// attemptSums are sums over the attempts, kept so that no generation has to walk through all of
// them.
type attemptSums struct {
	seen     map[string]bool // candidates, in as many attempts as there are
	statuses map[beagle.Status]int
	best     int // index of Best; -1 when there is none yet
}

// summed brings the sums up to date. Copies of a log share them. Once one copy goes on, the others
// compute theirs again.
func (l *Log) summed() *attemptSums {
	s := l.sums
	if s == nil || len(s.seen) > len(l.Attempts) {
		s = &attemptSums{seen: map[string]bool{}, statuses: map[beagle.Status]int{}, best: -1}
		l.sums = s
	}
	for i := len(s.seen); i < len(l.Attempts); i++ {
		t := &l.Attempts[i]
		s.seen[t.Candidate] = true
		s.statuses[t.Status]++
		if t.Screen != nil && t.Screen.Point > 1 && (s.best < 0 || t.Screen.Low > l.Attempts[s.best].Screen.Low) {
			s.best = i
		}
	}
	return s
}

// A Split says where the time of evaluations went, in all.
type Split struct {
	Candidates int           `json:"candidates"`
	Cached     int           `json:"cached"`
	Build      time.Duration `json:"build"`
	Verify     time.Duration `json:"verify"`
	Screen     time.Duration `json:"screen"`
	// of all these, the part before the search began; see preview
	Ahead time.Duration `json:"ahead,omitempty"`
}

// Add notes a generation: its verdicts, the island of each candidate, the cost of their evaluation,
// and the time of it all.
func (l *Log) Add(evaluated []Evaluation, island map[string]int, cost Split, took time.Duration) {
	if len(l.Attempts) == 0 && l.FirstSeconds == 0 {
		l.FirstSeconds = l.PrepareSeconds + took.Seconds()
	}
	for _, e := range evaluated {
		l.note(e.attempt(island[e.Candidate]))
	}
	l.Generations++
	l.Seconds += took.Seconds()
	l.Spent.Add(cost)
}

// attempt returns the log's entry of an evaluation.
func (e *Evaluation) attempt(island int) beagle.Attempt {
	return beagle.Attempt{
		Candidate: e.Candidate, Parents: e.Parents, Island: island, Steps: e.Steps,
		Status: e.Verdict.Status, Stage: e.Verdict.Stage, Reason: e.Verdict.Reason, Screen: e.Verdict.Screen,
	}
}

// note logs an attempt, unless its candidate is a duplicate or in the log.
func (l *Log) note(a beagle.Attempt) {
	if a.Status != beagle.Duplicate && !l.has(a.Candidate) {
		l.Attempts = append(l.Attempts, a)
	}
}

// extend returns a copy of the log with further attempts.
func (l *Log) extend(more []beagle.Attempt) *Log {
	out := *l
	out.Attempts = slices.Clip(out.Attempts)
	for _, a := range more {
		out.note(a)
	}
	return &out
}

func (l *Log) has(candidate string) bool { return l.summed().seen[candidate] }

// Statuses counts how evaluations ended.
func (l *Log) Statuses() map[beagle.Status]int { return maps.Clone(l.summed().statuses) }

// Best returns the attempt with the best conservative ratio of those that measured
// faster than the original, or nil.
func (l *Log) Best() *beagle.Attempt {
	if best := l.summed().best; best >= 0 {
		return &l.Attempts[best]
	}
	return nil
}

// perCandidate turns the sums into figures for each candidate.
func (l *Log) perCandidate(confirm float64) beagle.Split {
	s := beagle.Split{
		FirstCandidateSeconds: l.FirstSeconds,
		PrepareSeconds:        l.PrepareSeconds,
		ConfirmSeconds:        confirm,
		Cached:                l.Spent.Cached,
	}
	n := float64(l.Spent.Candidates)
	if n == 0 {
		return s // all came from the store
	}
	each := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / n }
	s.Build, s.Verify, s.Screen = each(l.Spent.Build), each(l.Spent.Verify), each(l.Spent.Screen)
	searched := l.Seconds + l.Spent.Ahead.Seconds()
	s.Orchestration = max(0, searched*1000-n*(s.Build+s.Verify+s.Screen)) / (n + float64(l.Spent.Cached))
	return s
}
