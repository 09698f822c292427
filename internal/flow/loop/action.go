package loop

import (
	"time"

	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/store"
)

// An Action is a decision of the search that depended on when something else happened. Everything
// in between follows from the search's state. So the actions, with the replies and the verdicts,
// replay a search. One field is set.
type Action struct {
	Ask     int              `json:"ask,omitempty"`    // the number of proposals for models that were asked for
	Begin   *GenerationParts `json:"begin,omitempty"`  // a generation was put together
	Telling *Telling         `json:"told,omitempty"`   // and evaluated
	Lend    int              `json:"lend,omitempty"`   // the rules got so much of the models' share
	Closed  string           `json:"closed,omitempty"` // models are not asked any more, and why

	Dismissed string `json:"dismissed,omitempty"` // this model is not asked any more: there is no money for it
	Finished  bool   `json:"finished,omitempty"`  // no author has anything left to try
}

// GenerationParts lists the parts of a generation.
type GenerationParts struct {
	Arrived []int `json:"arrived,omitempty"` // proposals whose replies had arrived
	Rules   int   `json:"rules,omitempty"`   // candidates wanted from the rules
	Trim    bool  `json:"trim,omitempty"`    // one of the last generations, which leave steps out of the finalists

	// versions that were handed in, whole: the inbox does not keep them
	Guests []store.Submission `json:"guests,omitempty"`
}

// Telling holds the search's news of a generation. Evaluated is set in recordings only.
type Telling struct {
	Took       time.Duration     `json:"took"`    // since the last generation
	Evaluating time.Duration     `json:"judging"` // of it
	Evaluated  []flow.Evaluation `json:"judged,omitempty"`
}
