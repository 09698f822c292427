package coder

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate/llm"
)

// TestFailedTurnsAreBooked checks that a turn that comes to nothing has cost what the agent said:
// the error, which is journaled, says as much as the budget.
func TestFailedTurnsAreBooked(t *testing.T) {
	for name, least := range map[string]llm.Micros{"spends": 50_001, "spends and fails": 30_000, "exits": 0} {
		c := setUp(t, name)
		c.Most = 50_000
		c.Budget = llm.NewBudget(llm.Caps{Money: 1_000_000}, llm.Spent{})
		_, err := c.Ask(t.Context(), question())
		var e *llm.Error
		if !errors.As(err, &e) || e.Cost < least || c.Budget.Spent().Money != e.Cost || c.Budget.Spent().Calls != 1 {
			t.Errorf("%s: %+v, %+v booked, want at least %v in both", name, e, c.Budget.Spent(), least)
		}
	}
}

// TestTurnsGivenUp checks that a turn that is given up with its run is booked at the most, since
// its last work is unknown. A turn that was never begun has cost nothing.
func TestTurnsGivenUp(t *testing.T) {
	c := setUp(t, "hangs")
	c.Most = 50_000
	c.Budget = llm.NewBudget(llm.Caps{Money: 1_000_000}, llm.Spent{})
	if _, err := c.Ask(untilItHangs(t, c), question()); !errors.Is(err, context.Canceled) ||
		c.Budget.Spent().Money != c.Most {
		t.Errorf("%v, %+v booked", err, c.Budget.Spent())
	}
	c.Dir = "/no/such/directory"
	c.Budget = llm.NewBudget(llm.Caps{Money: 1_000_000}, llm.Spent{})
	_, err := c.Ask(t.Context(), question())
	if h := (*llm.Halted)(nil); !errors.As(err, &h) || c.Budget.Spent().Money != 0 {
		t.Errorf("%v, %+v booked", err, c.Budget.Spent())
	}
}

// TestLyingAgents checks that amounts and counts that cannot be are not taken: of money the most is
// booked, tokens count as not told.
func TestLyingAgents(t *testing.T) {
	for name, want := range map[string]struct {
		money llm.Micros
		usage llm.Usage
	}{
		"absurd":          {50_000, llm.Usage{In: 1000, Out: 50}},
		"negative":        {50_000, llm.Usage{In: 1000, Out: 50}},
		"caches":          {0, llm.Usage{In: 6000, Out: 300}},
		"tells nothing":   {0, llm.Usage{Estimated: true}},
		"negative tokens": {0, llm.Usage{Estimated: true}},
		"endless tokens":  {0, llm.Usage{Estimated: true}},
	} {
		c := setUp(t, name)
		c.Most = 50_000
		c.Budget = llm.NewBudget(llm.Caps{Money: 1_000_000}, llm.Spent{})
		r := ask(t, c, question())
		spent := c.Budget.Spent()
		if spent.Money != want.money || r.Cost != want.money || r.Usage != want.usage ||
			spent.Tokens != int64(want.usage.In+want.usage.Out) {
			t.Errorf("%s: %v and %+v in the reply, %+v booked, want %+v", name, r.Cost, r.Usage, spent, want)
		}
	}
}

// TestTokensAreHeldAndBooked checks that a budget of tokens holds for agents that say what they
// use: a turn sets its part aside, and books what it was.
func TestTokensAreHeldAndBooked(t *testing.T) {
	c := setUp(t, "idle")
	c.MostTokens = 1000
	c.Budget = llm.NewBudget(llm.Caps{Tokens: 3000}, llm.Spent{})
	for range 2 {
		ask(t, c, question())
	}
	if spent := c.Budget.Spent(); spent.Tokens != 2100 {
		t.Errorf("%+v", spent)
	}
	var e *llm.Error
	if _, err := c.Ask(t.Context(), question()); !errors.As(err, &e) || e.Kind != llm.OverBudget || e.Model != "agent" {
		t.Errorf("900 are left and a turn sets 1000 aside: %v", err)
	}
}

// TestLastWordsAreScrubbed checks that what an agent writes to its standard error is shown and kept
// without keys and without what moves a cursor.
func TestLastWordsAreScrubbed(t *testing.T) {
	const key = "AQ.very-secret-0123456789-abcdefgh"
	t.Setenv("CODER_TEST_SECRET_KEY", key)
	_, err := setUp(t, "leaks").Ask(t.Context(), question())
	var e *llm.Error
	if !errors.As(err, &e) {
		t.Fatal(err)
	}
	if strings.Contains(e.Message, key) || strings.Contains(e.Message, "0123456789abcdef") ||
		strings.ContainsFunc(e.Message, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		t.Errorf("the message is %q", e.Message)
	}
	if !strings.Contains(e.Message, "bad key [key] and [key]") || len(e.Message) > 1000 {
		t.Errorf("the message is %q", e.Message)
	}
}
