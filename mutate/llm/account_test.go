package llm_test

import (
	"errors"
	"math"
	"testing"

	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

// charged returns what a server charges for the calls that it answered completely.
func charged(s *llmtest.Server, p llm.Price) (sum llm.Micros) {
	for _, c := range s.Calls() {
		if c.Answered {
			sum += p.Cost(llm.Usage{In: c.In, Out: c.Out})
		}
	}
	return sum
}

// TestLyingCounts tries counts of tokens that cannot be true. The client ignores them: the budget
// books what was reserved, neither less nor a number that ends it.
func TestLyingCounts(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		for name, lie := range map[string]llmtest.Reply{
			"negative reply":  {Out: -1_000_000},
			"negative prompt": {In: -1_000_000, Out: 2},
			"both negative":   {In: -5, Out: -5},
			"endless reply":   {Out: 9e18},
			"endless prompt":  {In: 9e18, Out: 1},
			"overflow":        {In: math.MaxInt64, Out: math.MaxInt64},
		} {
			t.Run(name, func(t *testing.T) {
				lie.Text = "done"
				s := llmtest.New(t, llmtest.Always(lie))
				c, q := client(t, s, protocol), question()
				c.Models[0].Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
				bound := q.Bound()
				most := int64(bound.In + bound.Out)
				c.Budget = llm.NewBudget(llm.Caps{Tokens: 3*most - 1}, llm.Spent{})
				for i := range 2 {
					got, err := c.Ask(t.Context(), q)
					if err != nil || got.Text != "done" || got.Usage != bound {
						t.Fatalf("%+v %v", got, err)
					}
					want := llm.Spent{
						Money:  llm.Micros(i+1) * c.Models[0].Price.Cost(bound),
						Tokens: int64(i+1) * most,
						Calls:  int64(i + 1),
					}
					spent := c.Budget.Spent()
					if spent.Time = 0; spent != want || got.Cost != c.Models[0].Price.Cost(bound) ||
						spent.Money < charged(s, c.Models[0].Price) {
						t.Errorf("spent %+v, want %+v; the reply cost %v", spent, want, got.Cost)
					}
				}
				var e *llm.Error
				if _, err := c.Ask(t.Context(), q); !errors.As(err, &e) || e.Kind != llm.OverBudget {
					t.Errorf("a third call: %v", err)
				}
			})
		}
	})
}

// TestCostOfAttempts tries prompts that are each too short for the price of long prompts, though
// all attempts together are long enough.
func TestCostOfAttempts(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		bad := llmtest.Reply{Text: "half of it", Break: "close"}
		s := llmtest.New(t, llmtest.InTurn(bad, bad, llmtest.Reply{Text: "done"}, bad))
		c, q := client(t, s, protocol), question()
		bound := q.Bound()
		price := llm.Price{In: 3, Out: 15, AsOf: "given", LongFrom: bound.In + 1, LongIn: 300, LongOut: 1500}
		c.Models[0].Price = price
		c.Budget = llm.NewBudget(llm.Caps{}, llm.Spent{})
		var retried llm.Tried
		q.Retry = func(t llm.Tried) error {
			retried = t
			return nil
		}
		got, err := c.Ask(t.Context(), q)
		want := 2*price.Cost(bound) + charged(s, price)
		if err != nil || got.Attempts != 3 || got.Cost != want || c.Budget.Spent().Money != want {
			t.Errorf("%d attempts for %v, %v spent, want %v; %v", got.Attempts, got.Cost,
				c.Budget.Spent().Money, want, err)
		}
		if retried != (llm.Tried{Attempts: 2, Wasted: got.Wasted, Cost: 2 * price.Cost(bound)}) {
			t.Errorf("told of %+v", retried)
		}
		c.Attempts, c.Budget = 2, llm.NewBudget(llm.Caps{}, llm.Spent{})
		var e *llm.Error
		if _, err = c.Ask(t.Context(), q); !errors.As(err, &e) || e.Cost != 2*price.Cost(bound) ||
			c.Budget.Spent().Money != e.Cost {
			t.Errorf("%+v, %v spent", e, c.Budget.Spent().Money)
		}
	})
}

// TestSumsDoNotOverflow checks that a sum that does not fit stays at the largest value, so that no
// budget starts again.
func TestSumsDoNotOverflow(t *testing.T) {
	huge := llm.Spent{
		Money:  math.MaxInt64 - 1,
		Tokens: math.MaxInt64 - 1,
		Calls:  math.MaxInt64 - 1,
		Time:   math.MaxInt64 - 1,
	}
	if got := huge.Add(huge); got != (llm.Spent{
		Money:  math.MaxInt64,
		Tokens: math.MaxInt64,
		Calls:  math.MaxInt64,
		Time:   math.MaxInt64,
	}) {
		t.Errorf("%+v", got)
	}
	if got := llm.Costs(math.MaxInt64, 5, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("%d", got)
	}
	b := llm.NewBudget(llm.Caps{Tokens: 10}, llm.Spent{Tokens: math.MaxInt64})
	var e *llm.Error
	if _, err := b.Reserve(t.Context(), llm.Spent{Tokens: 5}); !errors.As(err, &e) || e.Kind != llm.OverBudget {
		t.Errorf("%v", err)
	}
	for dollars, want := range map[float64]string{
		1e300:        "$9223372036854.775807",
		-1e300:       "-$9223372036854.775808",
		math.Inf(-1): "-$9223372036854.775808",
	} {
		if got := llm.MicrosOf(dollars).String(); got != want {
			t.Errorf("%g: %s, want %s", dollars, got, want)
		}
	}
}

// TestScrub checks that Scrub removes keys and control characters from a program's words.
func TestScrub(t *testing.T) {
	t.Setenv("SOME_AGENT_TOKEN", "0123456789abcdef-no-known-form")
	got := llm.Scrub("\x1b[2J\x1b[31mcannot log in\x1b[0m with 0123456789abcdef-no-known-form,\r\n" +
		"\tsk-ant-api03-abcdefghijkl or AIzaSyA1234567890abcdefghijklmnopqrs\x00")
	if want := "[2J [31mcannot log in [0m with [key], [key] or [key]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
