package loop

import "github.com/beagle-go/beagle/internal/evolve"

// Apply takes an action that is no part of a generation, and returns the proposals for models.
func Apply(s *evolve.Search, x Action) []evolve.Proposal {
	switch {
	case x.Ask > 0:
		return s.AskModels(x.Ask)
	case x.Lend > 0:
		s.Lend(x.Lend)
	case x.Closed != "":
		s.Close()
	case x.Dismissed != "":
		s.Dismiss(x.Dismissed)
	case x.Finished:
		s.Finish()
	}
	return nil
}

// Pending returns the proposals of a search that went to models and whose replies the search has
// not learned yet.
func Pending(s *evolve.Search) []evolve.Proposal {
	var out []evolve.Proposal
	for _, p := range s.Pending {
		if p.Kind == evolve.Model {
			out = append(out, p)
		}
	}
	return out
}
