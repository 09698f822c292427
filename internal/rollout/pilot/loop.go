package pilot

import "github.com/beagle-go/beagle/internal/rollout"

// A Leg is the progress of a rollout, in a few words.
type Leg struct {
	Round int  `json:"round"` // how many were entered
	Begun bool `json:"begun"` // the processes have the order to begin
	Over  bool `json:"over"`  // shipped and released, or rolled back

	Phase    rollout.Phase    `json:"phase,omitempty"`
	Decision rollout.Decision `json:"decision"` // the last
}

// An Engine has the effects of a rollout: on processes, files and time. N is the type of the news
// that it hands from Listen to Enter, or of their name.
type Engine[N any] interface {
	// Begin lets the arms take turns in all processes, or in none.
	Begin() (N, error)
	// Listen renews the leases of the processes until they have news.
	Listen() (N, error)
	// Enter has the experiment decide on news. The state is kept before it returns.
	Enter(N) (Leg, error)
	// Rest reports whether another engine shall go on from here, with the leases as they are.
	Rest() bool
	// Release has every process run the original.
	Release()
}

// Fly is the loop of a rollout, whichever engine carries it out. It goes on from a leg until the
// experiment is over, the engine fails or rests. At an end of either kind the processes run the
// original.
func Fly[N any](e Engine[N], at Leg) (Leg, error) {
	at, err := fly(e, at)
	if err != nil || at.Over {
		e.Release()
	}
	return at, err
}

func fly[N any](e Engine[N], at Leg) (Leg, error) {
	for !at.Over && !e.Rest() {
		hear := e.Listen
		if !at.Begun {
			hear = e.Begin
		}
		news, err := hear()
		if err != nil {
			return at, err
		}
		next, err := e.Enter(news)
		if err != nil {
			return at, err
		}
		at = next
	}
	return at, nil
}
