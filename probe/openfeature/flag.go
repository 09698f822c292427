// Package openfeature lets a feature flag choose which version of a function runs. The flag's
// values are "original", "candidate" and "placebo". Any provider of OpenFeature can hold it;
// [OFREP] asks Beagle's own judge.
//
// A flag is asked once for a process or once for a request, and never for a call: an evaluation
// takes microseconds. On any fault the original runs and [Flag.Say] gets the reason: a provider
// that is down, not ready or stale, a flag that it does not have, a default value, an unknown
// value.
//
// The package is a module of its own, so that programs without OpenFeature do not build it.
package openfeature

import (
	"context"
	"crypto/rand"
	"fmt"
	"log"
	"sync"

	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Flag chooses versions.
type Flag struct {
	Client     *of.Client
	Name       string         // key of the flag
	Attributes map[string]any // for the provider's rules; may be nil
	Say        func(string)   // a line for people whenever the reason changes; default the standard logger

	mu   sync.Mutex
	said string
}

// ask evaluates the flag for a targeting key.
func (f *Flag) ask(ctx context.Context, key string) (rollout.Arm, error) {
	if state := f.Client.State(); state != of.ReadyState {
		return rollout.Original, fmt.Errorf("flag %s: its provider is %s", f.Name, state)
	}
	d, err := f.Client.StringValueDetails(ctx, f.Name, wire.Original, of.NewEvaluationContext(key, f.Attributes))
	if err != nil {
		return rollout.Original, fmt.Errorf("flag %s: %w", f.Name, err)
	}
	switch d.Reason {
	case of.DefaultReason, of.DisabledReason, of.ErrorReason, "":
		return rollout.Original, fmt.Errorf("flag %s: the provider has no value for it (reason %q)", f.Name, d.Reason)
	}
	switch d.Value {
	case wire.Original:
		return rollout.Original, nil
	case wire.Candidate:
		return rollout.Candidate, nil
	case wire.Placebo:
		return rollout.Placebo, nil
	}
	return rollout.Original, fmt.Errorf("flag %s: its value is %q: give it %s, %s and %s", f.Name, d.Value,
		wire.Original, wire.Candidate, wire.Placebo)
}

// say reports a reason, once until it changes.
func (f *Flag) say(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if text == f.said {
		return
	}
	f.said = text
	if f.Say == nil {
		log.Print("beagle: " + text)
		return
	}
	f.Say(text)
}

// Requests lets the flag give requests their arms, instead of chance, while a rollout by requests
// runs (`beagle rollout start --unit request`). Each request is asked for with a targeting key of
// its own, never with that of a user. The flag must give the arms the shares of [rollout.Choose].
// Requests without an arm run the original and do not count; the controller warns of them.
func (f *Flag) Requests() (stop func()) {
	rollout.Choose(func(ctx context.Context) (rollout.Arm, error) {
		arm, err := f.ask(ctx, rand.Text())
		if err != nil {
			f.say(err.Error() + "; the request runs the original")
		} else {
			f.say(fmt.Sprintf("flag %s gives requests their arms", f.Name))
		}
		return arm, err
	})
	return func() { rollout.Choose(nil) }
}

// Process lets the flag choose the version that this process runs, until stop is called. It asks
// now, and again only when the provider reports a change. The key tells this process from others.
// The original runs while the provider is not ready.
func (f *Flag) Process(ctx context.Context, function, key string) (stop func()) {
	p := &assigned{f: f, function: function, key: key, arm: rollout.Original}
	handler := func(of.EventDetails) { p.update(ctx) }
	events := []of.EventType{of.ProviderReady, of.ProviderConfigChange, of.ProviderStale, of.ProviderError}
	for _, e := range events {
		f.Client.AddHandler(e, &handler)
	}
	p.update(ctx)
	return func() {
		for _, e := range events {
			f.Client.RemoveHandler(e, &handler)
		}
		p.end()
	}
}

// An assigned process runs what its flag says.
type assigned struct {
	f             *Flag
	function, key string

	mu    sync.Mutex
	arm   rollout.Arm
	stop  func()
	ended bool
}

// update asks the flag and runs its version.
func (p *assigned) update(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	arm, err := p.f.ask(ctx, p.key)
	if err != nil {
		p.f.say(err.Error() + "; " + p.function + " runs the original")
	}
	if arm == p.arm {
		return
	}
	p.release()
	if arm != rollout.Original {
		stop, err := rollout.Fix(p.function, arm, func(why string) {
			p.f.say(p.function + " runs the original for good: " + why)
		})
		if err != nil {
			p.f.say(fmt.Sprintf("flag %s: %v", p.f.Name, err))
			return
		}
		p.stop, p.arm = stop, arm
	}
	if err == nil {
		p.f.say(fmt.Sprintf("flag %s: %s runs the %s", p.f.Name, p.function, arm))
	}
}

// release returns to the original. The caller holds the mutex.
func (p *assigned) release() {
	if p.stop != nil {
		p.stop()
	}
	p.stop, p.arm = nil, rollout.Original
}

func (p *assigned) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.release()
}
