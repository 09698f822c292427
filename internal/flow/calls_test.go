package flow

import (
	"context"
	"errors"
	"testing"

	"github.com/beagle-go/beagle/mutate/llm"
)

// An asker that is cut off while it waits, as by the end of its run.
type cutOff struct{ once []string }

func (c *cutOff) Ask(_ context.Context, q llm.Request) (llm.Reply, error) {
	c.once = append(c.once, q.Once)
	return llm.Reply{}, context.Canceled
}

// What a lost call may have cost counts as spent, each time that it was lost,
// and whoever goes on with the run asks it by the same key.
func TestLostCalls(t *testing.T) {
	s := openStore(t)
	price := func(string) llm.Price { return llm.Price{In: 1, Out: 10, AsOf: "given"} }
	q := llm.Request{Model: "test", User: "faster", MaxTokens: 1000}
	most := price("test").Cost(q.Bound())
	asker := new(cutOff)
	for n := range 3 {
		b, err := openCalls(s, "run", price)
		if err != nil {
			t.Fatal(err)
		}
		if was := (lost{n, llm.Micros(n) * most}); b.lostNow() != was || b.before.Money != was.money || b.before.Calls != int64(n) {
			t.Errorf("%+v and %+v before call %d, want %+v", b.lostNow(), b.before, n, was)
		}
		if _, _, err := b.ask(t.Context(), asker, call{Request: &q}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if now := (lost{n + 1, llm.Micros(n+1) * most}); b.lostNow() != now {
			t.Errorf("%+v, want %+v", b.lostNow(), now)
		}
		b.journal.Close()
	}
	other, err := openCalls(s, "other run", price)
	if err != nil {
		t.Fatal(err)
	}
	defer other.journal.Close()
	if _, _, err := other.ask(t.Context(), asker, call{Request: &q}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if k := asker.once; k[0] == "" || k[1] != k[0] || k[2] != k[0] || k[3] == k[0] {
		t.Errorf("keys %q", k)
	}
}
