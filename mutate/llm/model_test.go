package llm

import (
	"context"
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestParseModel(t *testing.T) {
	for _, x := range []struct{ spec, name, provider, url, env string }{
		{"gpt-5", "gpt-5", OpenAI, "https://api.openai.com/v1", "OPENAI_API_KEY"},
		{"claude-opus-5=2", "claude-opus-5", Anthropic, "https://api.anthropic.com", "ANTHROPIC_API_KEY"},
		{"qwen2.5-coder:7b@http://127.0.0.1:11434/v1/=0.5", "qwen2.5-coder:7b", OpenAI, "http://127.0.0.1:11434/v1", "BEAGLE_KEY_QWEN2_5_CODER_7B"},
		{"openai:claude-x@https://gate.example/v1", "claude-x", OpenAI, "https://gate.example/v1", "BEAGLE_KEY_CLAUDE_X"},
		{"anthropic:sonnet@https://gate.example", "sonnet", Anthropic, "https://gate.example", "BEAGLE_KEY_SONNET"},
		{"org/model@https://gate.example/v1", "org/model", OpenAI, "https://gate.example/v1", "BEAGLE_KEY_ORG_MODEL"},
	} {
		m, err := ParseModel(x.spec)
		if err != nil || m.Name != x.name || m.Provider != x.provider || m.URL != x.url || m.KeyEnv != x.env {
			t.Errorf("%s: %+v %v", x.spec, m, err)
		}
	}
	for spec, says := range map[string]string{
		"": "missing", "=2": "missing", "a b": "spaces", "a=0": "above 0", "a=x": "above 0", "a=-1": "above 0", "a=NaN": "above 0", "a=+Inf": "above 0",
		"a@127.0.0.1:80": "not an address", "a@": "not an address", "a@ftp://x/": "not an address",
		"a@https://user:pw@x/v1": "holds more", "a@https://x/v1?key": "holds more", "a@https://x/v1?key=1": "holds more",
	} {
		if _, err := ParseModel(spec); err == nil || !strings.Contains(err.Error(), says) ||
			strings.Contains(err.Error(), "pw") {
			t.Errorf("%q: %v", spec, err)
		}
	}
	ms, err := ParseModels([]string{"gpt-5=2,claude-opus-5", "x@http://localhost:1/v1"})
	if err != nil || len(ms) != 3 || ms[0].Weight != 2 || ms[1].Weight != 1 || !ms[2].Local() || ms[0].Local() ||
		!ms[2].Price.Known() {
		t.Errorf("%+v %v", ms, err)
	}
	if _, err := ParseModels([]string{"a", "a=2"}); err == nil {
		t.Error("a name was taken twice")
	}
}

func TestPriceOf(t *testing.T) {
	for name, in := range map[string]float64{
		"gpt-5":                     1.25,
		"gpt-5-2025-08-07":          1.25,
		"claude-haiku-4-5-20251001": 1,
		"gpt-4o-mini":               0.15,
	} {
		p, ok := PriceOf(name)
		if !ok || p.In != in || p.AsOf != PricesAsOf {
			t.Errorf("%s: %+v %v", name, p, ok)
		}
	}
	for _, name := range []string{"", "nobody", "gpt-5-2025-08", "20250807", "gpt-5-extra"} {
		if p, ok := PriceOf(name); ok || p.Known() {
			t.Errorf("%q has a price: %+v", name, p)
		}
	}
}

// TestCost compares with exact fractions.
func TestCost(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 10_000 {
		p := Price{In: math.Round(r.Float64()*1e8) / 1e6, Out: math.Round(r.Float64()*1e9) / 1e6}
		u := Usage{In: r.IntN(1 << 30), Out: r.IntN(1 << 20)}
		exact := func(price float64, n int) *big.Rat {
			return new(big.Rat).Mul(big.NewRat(int64(math.Round(price*1e6)), 1e6), big.NewRat(int64(n), 1))
		}
		sum := new(big.Rat).Add(exact(p.In, u.In), exact(p.Out, u.Out))
		want := new(big.Int).Add(sum.Num(), new(big.Int).Sub(sum.Denom(), big.NewInt(1)))
		want.Div(want, sum.Denom())
		if got := p.Cost(u); int64(got) != want.Int64() {
			t.Fatalf("%+v of %+v: %d, want %v", u, p, got, want)
		}
	}
	long := Price{In: 1, Out: 2, LongFrom: 100, LongIn: 10, LongOut: 20}
	if a, b := long.Cost(Usage{In: 100, Out: 1}), long.Cost(Usage{In: 101, Out: 1}); a != 102 || b != 1030 {
		t.Error(a, b)
	}
	if c := (Price{In: math.Inf(1), Out: math.NaN()}).Cost(Usage{
		In:  math.MaxInt,
		Out: math.MaxInt,
	}); c != math.MaxInt64 {
		t.Error(c)
	}
	if c := (Price{In: -1, Out: 1}).Cost(Usage{In: 5, Out: -5}); c != 0 {
		t.Error(c)
	}
	for d, s := range map[float64]string{0: "$0.00", 1.5: "$1.50", 0.000001: "$0.000001", 12.345678: "$12.345678",
		0.1 + 0.2: "$0.30"} {
		if got := MicrosOf(d).String(); got != s {
			t.Errorf("%v: %s", d, got)
		}
	}
	if s := (-MicrosOf(2.5)).String(); s != "-$2.50" {
		t.Error(s)
	}
}

func TestRequestID(t *testing.T) {
	base := Request{Model: "m", System: "s", User: "u", MaxTokens: 9}
	seen := map[string]bool{base.ID(): true}
	for _, change := range []func(*Request){
		func(r *Request) { r.Model = "n" }, func(r *Request) { r.System = "t" }, func(r *Request) {
			r.User = "v"
		}, func(r *Request) { r.Seed = 1 },
		func(r *Request) { r.Sample = 1 }, func(r *Request) { r.Temperature = 1 }, func(r *Request) { r.MaxTokens = 1 },
		func(r *Request) { r.History = []Turn{{"user", "x"}} },
	} {
		r := base
		change(&r)
		if seen[r.ID()] {
			t.Errorf("%+v has the ID of another", r)
		}
		seen[r.ID()] = true
	}
	limited := base
	limited.Limit = 5
	if limited.ID() != base.ID() {
		t.Error("a time limit changes the ID")
	}
}

// TestBudgetRaces reserves and settles from many goroutines. Spent and reserved amounts together
// never exceed the cap, and the sums are exact.
func TestBudgetRaces(t *testing.T) {
	const limit = 1000
	b := NewBudget(Caps{Money: limit, Calls: 1 << 40}, Spent{Money: 7})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var paid Micros
	for g := range 8 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 0))
			for range 400 {
				worst := Micros(r.IntN(50) + 1)
				res, err := b.Reserve(context.Background(), Spent{Money: worst, Calls: 1})
				if err != nil {
					continue
				}
				b.mu.Lock()
				if sum := b.spent.Money + b.reserved.Money; sum > limit {
					t.Errorf("%d of %d", sum, limit)
				}
				b.mu.Unlock()
				used := Micros(r.IntN(int(worst) + 1))
				res.Settle(Spent{Money: used, Calls: 1})
				res.Settle(Spent{Money: 1000, Calls: 1}) // only the first counts
				mu.Lock()
				paid += used
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if got := b.Spent(); got.Money != 7+paid || got.Money > limit || b.Reserved() != (Spent{}) {
		t.Errorf("%+v, paid %d", got, paid)
	}
}

// TestBudgetWaits has a call wait until others give something back, and give up with its context.
func TestBudgetWaits(t *testing.T) {
	b := NewBudget(Caps{Tokens: 10}, Spent{})
	first, err := b.Reserve(t.Context(), Spent{Tokens: 8})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { _, err := b.Reserve(ctx, Spent{Tokens: 5}); done <- err }()
	cancel()
	if err := <-done; err != context.Canceled {
		t.Error(err)
	}
	go func() { _, err := b.Reserve(t.Context(), Spent{Tokens: 5}); done <- err }()
	first.Settle(Spent{Tokens: 3})
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := b.Reserve(t.Context(), Spent{Tokens: 8}); err == nil || err.(*Error).Kind != OverBudget {
		t.Error(err)
	}
}
