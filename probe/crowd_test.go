package probe

import (
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle/probe/wire"
)

// calledTwice returns a function as `beagle build` instruments it: a captured call calls it once
// more.
func calledTwice(site *Site, body func()) {
	if site.Gate() {
		func() {
			args := one{"x"}
			c := Enter(site, &args)
			defer c.End()
			calledTwice(site, body)
			Leave(&c, &args, &struct{}{})
		}()
		return
	}
	body()
}

// TestCapturedOnce checks that a call is not captured again when its function is called after the
// gate. Where few calls come, few are skipped.
func TestCapturedOnce(t *testing.T) {
	p, _ := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Rate: 1000, Raw: true})
	ready(t, p, s)
	s.sites[0].skip.Store(1)
	p.tick(s, 2)
	ran := 0
	for range 10 {
		calledTwice(&site, func() { ran++ })
	}
	if ran != 10 {
		t.Errorf("10 calls ran the function %d times", ran)
	}
	if n := len(pulled(t, s)); n != 10 {
		t.Errorf("10 calls were captured %d times", n)
	}
}

// TestResultsShare checks that results may be parts of one argument. The arguments do not share
// memory then.
func TestResultsShare(t *testing.T) {
	type in struct{ Line []byte }
	type out struct{ Head, Tail []byte }
	p, _ := newProber()
	var site Site
	add[in, out](p, &site, "m/p.F", "line", "head", "tail")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true})
	ready(t, p, s)
	line := []byte("one two")
	args := in{line}
	c := Enter(&site, &args)
	Leave(&c, &args, &out{line[:3], line[2:]})
	events := pulled(t, s)
	if len(events) != 1 || events[0].Flags&wire.Shared != 0 || events[0].Flags&wire.HasResults == 0 {
		t.Errorf("%+v", events)
	}
	two := struct{ A, B []byte }{line, line[1:]}
	e := encoder{o: &s.options, buf: make([]byte, 0, 256)}
	e.structure(tupleCoder(typeOf(two), nil), ptr(&two))
	if e.flags&wire.Shared == 0 {
		t.Error("arguments that share memory do not say so")
	}
}

// TestCrowd has three goroutines inside a function while others call it.
func TestCrowd(t *testing.T) {
	p, _ := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Rate: 1000, Raw: true})
	a := s.sites[0]
	p.tick(s, 0)
	if a.newCrowd() != nil {
		t.Error("calls are followed before it is known how long they take")
	}
	p.tick(s, 1)
	a.lasted.enter(1000)
	p.tick(s, windowEach)
	a.crowd.Load().from -= int64(time.Second) // what was under way before has ended
	for range 5 {
		calledTwice(&site, func() {})
	}
	release := make(chan struct{})
	var inside, done sync.WaitGroup
	stay := func() {
		inside.Add(1)
		done.Add(1)
		go func() {
			defer done.Done()
			calledTwice(&site, func() { inside.Done(); <-release })
		}()
		inside.Wait()
	}
	for range 3 {
		stay()
	}
	calledTwice(&site, func() {})
	stay()
	calledTwice(&site, func() {})
	want := wire.Overlap{None: 5 + 1, One: 1, Few: 3, Many: 1}
	if got := a.beside.counts(); got == nil || *got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if n := a.window.Load(); n != 11 {
		t.Errorf("11 calls were counted as %d", n)
	}
	p.tick(s, windowEach+1)
	close(release)
	done.Wait()
	calledTwice(&site, func() {})
	if n := a.beside.counts(); *n != want || a.crowd.Load() != nil {
		t.Errorf("calls are followed after the window: %+v", n)
	}
}

// TestCrowdUnseen checks that no call is followed where a few long ones, which began before the
// window, are under way most of the time.
func TestCrowdUnseen(t *testing.T) {
	p, _ := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true})
	a := s.sites[0]
	for range 499 {
		a.lasted.enter(1000)
	}
	a.counted.Store(int64(time.Second))
	a.window.Store(1000) // calls a second
	if a.newCrowd() == nil {
		t.Error("short calls are not followed")
	}
	a.lasted.enter(int64(50 * time.Millisecond)) // 2 a second: one is under way a tenth of the time
	if a.newCrowd() != nil {
		t.Error("calls are followed beside long ones that nobody sees")
	}
	a.window.Store(10) // and now a thousandth
	if a.newCrowd() == nil {
		t.Error("calls are not followed beside long ones that hardly ever come")
	}
}

// TestCrowdEnds checks that of a function that is called often only a few calls are followed.
func TestCrowdEnds(t *testing.T) {
	p, _ := newProber()
	var site Site
	add[one, struct{}](p, &site, "m/p.F")
	s := begin(t, p, wire.Start{Sites: []string{"m/p.F"}, Raw: true})
	a := s.sites[0]
	a.lasted.enter(1)
	p.tick(s, windowEach)
	a.crowd.Load().from -= int64(time.Second)
	ran := 0
	for range 1000 {
		calledTwice(&site, func() { ran++ })
	}
	if got := a.beside.counts(); got == nil || got.None != maxTold || got.One+got.Few+got.Many > 0 {
		t.Errorf("%+v", got)
	}
	if ran != 1000 || a.window.Load() != 1000 || site.word.Load() != counting {
		t.Errorf("%d calls ran, %d were counted, word %x", ran, a.window.Load(), site.word.Load())
	}
}
