package flow

import (
	"math/rand/v2"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/parallel"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/lift"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A rewriter makes candidates by the rules. A rule that fails is off for the rest of the run.
type rewriter struct {
	setting
	inputs *inputs
	work   *workbench
	faults ruleFaults
}

// weigh gives the rewriter the facts about the target: traits of the inputs, the profile of the
// original, and matches in the library.
func (rw *rewriter) weigh(p *Prepared) {
	mutators := rw.work.mutators
	if lifted := p.Lifted; len(lifted) > 0 {
		mutators = slices.DeleteFunc(slices.Clone(mutators), func(m *mutate.Mutator) bool {
			return m.Name == lift.Name
		})
		mutators = append(mutators, lift.Mutator(lifted))
	}
	rw.work = newWorkbench(rw.unit, rw.inputs.facets(), mutators,
		bench.Profile{Lines: p.Profile, Callees: p.Callees, Samples: p.Samples})
	rw.work.insight = rw.works.insight
}

// proposeAll makes the candidates of proposals, with the versions on the way.
func (rw *rewriter) proposeAll(proposals []evolve.Proposal) ([]ProposalOutcome, [][]beagle.Candidate, error) {
	out := make([]ProposalOutcome, len(proposals))
	chains := make([][]beagle.Candidate, len(proposals))
	longest := longestFirst(proposals)
	err := parallel.Do(len(proposals), func(k int) error {
		i := longest[k]
		out[i] = ProposalOutcome{Proposal: proposals[i].ID}
		chain, err := rw.propose(proposals[i])
		if r := refusalReason(err); r != "" {
			out[i].Refused, err = r, nil
		}
		chains[i] = chain
		return err
	})
	return out, chains, err
}

// longestFirst orders proposals, by index, by how many steps they ask for. A long chain that is
// begun last would keep one processor busy alone.
func longestFirst(proposals []evolve.Proposal) []int {
	order := make([]int, len(proposals))
	for i := range order {
		order[i] = i
	}
	inorder.By(order, func(i, j int) int { return len(proposals[j].Then) - len(proposals[i].Then) })
	return order
}

// propose takes the proposal's move and then its wishes, and returns the version
// after each. A wish that fits nowhere is left out.
func (rw *rewriter) propose(p evolve.Proposal) (chain []beagle.Candidate, err error) {
	return rw.proposeUntil(p, func() bool { return false })
}

// proposeUntil is propose for a caller who may lose interest between two steps.
func (rw *rewriter) proposeUntil(p evolve.Proposal, ended func() bool) (chain []beagle.Candidate, err error) {
	c, err := rw.works.candidate(p.Parent)
	if err != nil {
		return nil, err
	}
	// Take the move that was asked for.
	if p.Move != nil {
		if rw.isOff(p.Move.Mutator, p.ID) {
			return nil, refusal("the rule " + p.Move.Mutator + " is off in this run")
		}
		if c, err = rw.work.apply(c, *p.Move); err != nil {
			return nil, err
		}
		chain = append(chain, c)
	}
	// Then take the wishes that fit.
	rng := rand.New(rand.NewPCG(p.Seed, 1))
	for _, wish := range p.Then {
		if ended() {
			return nil, errEnded
		}
		if rw.isOff(wish.Mutator, p.ID) {
			continue
		}
		next, err := rw.work.wish(c, wish, rng)
		if refusalReason(err) != "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		c, chain = next, append(chain, next)
	}
	if len(chain) == 0 {
		return nil, refusal("none of the wished steps fits")
	}
	return chain, nil
}

// putChains stores the candidates of proposals, in the proposals' order. Which way to a text counts
// as the first must not depend on the processors' speed.
func (rw *rewriter) putChains(out []ProposalOutcome, chains [][]beagle.Candidate) error {
	if err := rw.works.putCandidates(slices.Concat(chains...)...); err != nil {
		return err
	}
	return parallel.Do(len(out), func(i int) error {
		if out[i].Refused != "" {
			return nil
		}
		c, err := rw.works.candidate(chains[i][len(chains[i])-1].ID)
		if err != nil {
			return err
		}
		out[i].Candidate, out[i].Steps, out[i].Private = c.ID, c.Steps, rw.inputs.isPrivate(c)
		out[i].Reading = readingEffortOf(rw.unit, c.Source)
		return nil
	})
}

// moves lists every step that can be taken from a version, and the rules that were off or failed.
func (rw *rewriter) moves(c beagle.Candidate) (moves []beagle.Move, without []string) {
	moves = rw.work.moves(c, rw.faulty()...)
	without = rw.faulty()
	return slices.DeleteFunc(moves, func(m beagle.Move) bool { return slices.Contains(without, m.Mutator) }), without
}

// advice returns changes that a person could make to a version.
func (rw *rewriter) advice(c beagle.Candidate) []beagle.Advice {
	p, problem := rw.work.passWithoutCallees(c)
	if problem != nil {
		return nil
	}
	return rules.Advise(p)
}
