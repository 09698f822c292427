package coder

import (
	"errors"
	"fmt"

	"github.com/coder/acp-go-sdk"

	"github.com/beagle-go/beagle/mutate/llm"
)

// Bounds of a turn's plausible usage. A report beyond them, or below zero, counts as no report.
const (
	maxTokens  = 1_000_000_000
	maxDollars = 1e6
)

// pay notes the spending that the agent reports, and ends a turn that costs too much.
func (t *turn) pay(dollars float64, stop func(error)) {
	t.mu.Lock()
	if told := dollars >= 0 && dollars <= maxDollars; told {
		t.dollars = max(t.dollars, dollars)
	} else {
		t.lied = true
	}
	cost := llm.MicrosOf(t.dollars)
	t.mu.Unlock()
	if most := t.coder.Most; most > 0 && cost > most {
		stop(fmt.Errorf("the agent has spent %v of the %v that a turn may cost", cost, most))
	}
}

// price returns the cost of the turn by the agent's report, or the highest possible cost if that
// report is implausible.
func (t *turn) price() llm.Micros {
	t.mu.Lock()
	defer t.mu.Unlock()
	cost := llm.MicrosOf(t.dollars)
	if t.lied {
		cost = max(cost, t.coder.Most)
	}
	return cost
}

// count notes the tokens that the agent reports at the end of a turn.
func (t *turn) count(u *acp.Usage) {
	if u == nil {
		return
	}
	in, all := u.InputTokens, []int{u.InputTokens, u.OutputTokens, u.TotalTokens}
	for _, cached := range []*int{u.CachedReadTokens, u.CachedWriteTokens} {
		if cached != nil {
			all = append(all, *cached)
			in += *cached
		}
	}
	for _, n := range all {
		if n < 0 || n > maxTokens {
			return
		}
	}
	out := max(u.OutputTokens, u.TotalTokens-in) // thoughts are in the total, at least
	t.usage, t.counted = llm.Usage{In: in, Out: out}, in+out > 0
}

// tokens returns those that the agent says the turn used; none, marked as an estimate, when it does
// not say.
func (t *turn) tokens() llm.Usage {
	if t.counted {
		return t.usage
	}
	return llm.Usage{Estimated: true}
}

// spent returns the charge for a turn.
func (t *turn) spent() llm.Spent {
	u := t.tokens()
	return llm.Spent{Money: t.price(), Tokens: int64(u.In) + int64(u.Out), Calls: 1}
}

// spentBy returns the charge for a failed turn. An agent that was stopped with its
// run may not have reported its last usage, so the turn is charged at worst case, as
// it is when the journal is read back.
func (t *turn) spentBy(err error) llm.Spent {
	var fault *llm.Error
	var halted *llm.Halted
	switch {
	case errors.As(err, &fault):
		return t.spent()
	case errors.As(err, &halted):
		return llm.Spent{}
	}
	return llm.Spent{Money: max(t.price(), t.coder.Most), Calls: 1}
}
