package flow

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/beagle-go/beagle/mutate/llm"
)

// A cutOff is an asker that is cut off while it waits, as by the end of its run.
type cutOff struct{ once, asked []string }

func (c *cutOff) Ask(_ context.Context, q llm.Request) (llm.Reply, error) {
	c.once, c.asked = append(c.once, q.Once), append(c.asked, q.User)
	return llm.Reply{}, context.Canceled
}

// TestLostCalls checks that what a lost call may have cost counts as spent, each time that it was
// lost, and that a process which continues the run sends the same request with the same key,
// whatever the prompt would be by then.
func TestLostCalls(t *testing.T) {
	s := openStore(t)
	price := func(string) llm.Price { return llm.Price{In: 1, Out: 10, AsOf: "given"} }
	q := llm.Request{Model: "test", User: "faster", MaxTokens: 1000}
	most, tokens := price("test").Cost(q.Bound()), int64(q.Bound().In+q.Bound().Out)
	asker := new(cutOff)
	for n := range 3 {
		b, err := openCalls(s, "run", price, 0)
		if err != nil {
			t.Fatal(err)
		}
		if was := (lostCalls{n, llm.Micros(n) * most, int64(n) * tokens}); b.losses() != was ||
			b.spent() != (llm.Spent{Money: was.money, Tokens: was.tokens, Calls: int64(n)}) {
			t.Errorf("%+v and %+v before call %d, want %+v", b.losses(), b.spent(), n, was)
		}
		later := q
		later.User = fmt.Sprintf("the prompt as it would be now: %d", n)
		c := call{Proposal: 7, Request: &later}
		if n == 0 {
			c.Request = &q
		}
		if _, _, err := b.ask(t.Context(), asker, c); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if now := (lostCalls{n + 1, llm.Micros(n+1) * most, int64(n+1) * tokens}); b.losses() != now {
			t.Errorf("%+v, want %+v", b.losses(), now)
		}
		b.journal.Close()
	}
	other, err := openCalls(s, "other run", price, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer other.journal.Close()
	if _, _, err := other.ask(t.Context(), asker, call{Request: &q}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	again, err := openCalls(s, "run", price, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.journal.Close()
	c := call{Proposal: 7, Parent: "another", Request: &llm.Request{Model: "test", User: "something else"}}
	if again.recall(&c); c.ID != "" || c.Request.User != "something else" {
		t.Errorf("what was asked of another parent is asked again: %+v", c)
	}
	if a := asker.asked; a[1] != q.User || a[2] != q.User {
		t.Errorf("asked %q", a)
	}
	if k := asker.once; k[0] == "" || k[1] != k[0] || k[2] != k[0] || k[3] == k[0] {
		t.Errorf("keys %q", k)
	}
}

// TestHaltedCalls checks that a call that was given up when nothing was under way is not lost: only
// what its attempts have cost counts, and it is asked anew.
func TestHaltedCalls(t *testing.T) {
	s := openStore(t)
	price := func(string) llm.Price { return llm.Price{In: 1, Out: 10, AsOf: "given"} }
	q := llm.Request{Model: "test", User: "faster", MaxTokens: 1000}
	wasted := llm.Usage{In: 100, Out: 10}
	halt := &halting{wasted: wasted}
	for n := range 2 {
		b, err := openCalls(s, "run", price, 0)
		if err != nil {
			t.Fatal(err)
		}
		if want := (llm.Spent{Money: llm.Micros(n) * price("").Cost(wasted), Tokens: int64(n) * 110,
			Calls: int64(n) * 2}); b.spent() != want || b.losses() != (lostCalls{}) {
			t.Errorf("%+v spent and %+v lost, want %+v", b.spent(), b.losses(), want)
		}
		if _, _, err := b.ask(t.Context(), halt, call{Proposal: 7, Request: &q}); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		b.journal.Close()
	}
	if halt.asked != 2 {
		t.Errorf("asked %d times", halt.asked)
	}
}

type halting struct {
	wasted llm.Usage
	asked  int
}

func (h *halting) Ask(_ context.Context, q llm.Request) (llm.Reply, error) {
	h.asked++
	return llm.Reply{},
		errors.Join(q.Retry(llm.Tried{Attempts: 1}),
			&llm.Halted{Cause: context.Canceled, Attempts: 2, Wasted: h.wasted})
}

// TestRetriesCount checks that attempts of a call whose process was killed count as much as those
// of one that came to its end.
func TestRetriesCount(t *testing.T) {
	s := openStore(t)
	price := func(string) llm.Price { return llm.Price{In: 1, Out: 10, AsOf: "given"} }
	q := llm.Request{Model: "test", User: "faster", MaxTokens: 1000}
	b, err := openCalls(s, "run", price, 0)
	if err != nil {
		t.Fatal(err)
	}
	wasted := llm.Usage{In: 100, Out: 10}
	dead := askFunc(func(q llm.Request) error {
		return errors.Join(q.Retry(llm.Tried{Attempts: 1}), q.Retry(llm.Tried{Attempts: 2, Wasted: wasted}),
			context.Canceled)
	})
	if _, _, err := b.ask(t.Context(), dead, call{Proposal: 7, Request: &q}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	b.journal.Close()
	if b, err = openCalls(s, "run", price, 0); err != nil {
		t.Fatal(err)
	}
	b.journal.Close()
	most := q.Bound()
	want := llm.Spent{
		Money:  price("").Cost(wasted) + price("").Cost(most),
		Tokens: int64(110 + most.In + most.Out),
		Calls:  3,
	}
	if b.spent() != want || b.losses() != (lostCalls{1, price("").Cost(most), int64(most.In + most.Out)}) {
		t.Errorf("%+v spent and %+v lost, want %+v", b.spent(), b.losses(), want)
	}
}

type askFunc func(llm.Request) error

func (f askFunc) Ask(_ context.Context, q llm.Request) (llm.Reply, error) { return llm.Reply{}, f(q) }

// TestRefusedCallsChangeTheirKey checks for a server that keeps a refusal like an answer. A user
// who has paid and asks again does so under another key, and under the same one when that answer is
// lost.
func TestRefusedCallsChangeTheirKey(t *testing.T) {
	s := openStore(t)
	price := func(string) llm.Price { return llm.Price{In: 1, Out: 10, AsOf: "given"} }
	q := llm.Request{Model: "test", User: "faster", MaxTokens: 1000}
	var keys []string
	for _, end := range []error{context.Canceled, &llm.Error{Kind: llm.Unpaid}, context.Canceled, &llm.Error{
		Kind: llm.BadKey,
	}, context.Canceled} {
		b, err := openCalls(s, "run", price, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			_, _, err = b.ask(t.Context(), askFunc(func(q llm.Request) error {
				keys = append(keys, q.Once)
				return end
			}), call{Proposal: 7, Request: &q})
			if !errors.Is(err, end) {
				t.Fatal(err)
			}
		}
		b.journal.Close()
	}
	for i, same := range []bool{true, true, false, false, true, true, false, false, true} {
		if (keys[i+1] == keys[i]) != same {
			t.Errorf("attempt %d: the key of the one before: %v", i+2, !same)
		}
	}
}
