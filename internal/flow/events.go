package flow

import (
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/llm"
)

// An Event is something that a user watching a run wants to know. Exactly one
// field is set.
type Event struct {
	Stage     *StageEvent
	Warning   string
	Evaluated *EvaluatedEvent
}

// A StageEvent says that a stage began, or what came of one.
type StageEvent struct {
	Name   string // "target", "evidence", "survey", "corpus", "audit", "preview", "search", "sift", "measure", "verify"
	Detail string
	Over   bool `json:",omitempty"` // Detail is a result: the work that follows has not named itself yet
}

// An EvaluatedEvent follows every batch of candidates.
type EvaluatedEvent struct {
	Candidates int // evaluated so far
	Budget     int
	Generation int
	Elapsed    time.Duration // since the search began
	Islands    []float64     // best screened ratio of each island
	Best       *beagle.Attempt
	Statuses   map[beagle.Status]int
	Models     *ModelsEvent // nil when no model is asked
	Replies    []string     `json:",omitempty"` // the fate of each reply of this generation, a line each
}

// A ModelsEvent says what models have used so far.
type ModelsEvent struct {
	Spent    llm.Spent
	Caps     llm.Caps
	InFlight int // calls under way
}

// A Watcher receives the events of a run, one at a time.
type Watcher func(Event)

// Stage tells that a stage began.
func (w Watcher) Stage(name, detail string) {
	if w != nil {
		w(Event{Stage: &StageEvent{Name: name, Detail: detail}})
	}
}

// Note reports what came of a stage.
func (w Watcher) Note(name, detail string) {
	if w != nil {
		w(Event{Stage: &StageEvent{Name: name, Detail: detail, Over: true}})
	}
}

// Warn tells of something that the user should know.
func (w Watcher) Warn(text string) {
	if w != nil {
		w(Event{Warning: text})
	}
}
