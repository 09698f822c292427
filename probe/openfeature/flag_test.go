package openfeature

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"
	"github.com/open-feature/go-sdk/openfeature/memprovider"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

var sw rollout.Switch

func init() { rollout.Register(&sw, "example.com/p.F", "b1", rollout.HasContext) }

const token = "0123456789abcdef0123456789abcdef"

// do carries a request out as a controller's would be.
func do(t *testing.T, q wire.Request) *wire.RolloutReply {
	t.Helper()
	q.Token = token
	b, _ := json.Marshal(q)
	var r wire.Reply
	if err := json.NewDecoder(bytes.NewReader(probe.Serve(token, b))).Decode(&r); err != nil || r.Error != "" {
		t.Fatal(err, r.Error)
	}
	return r.Rollout
}

// lines collects the flag's messages.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) say(text string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, text)
}

func (l *lines) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(strings.Join(l.all, "\n"), text)
}

// client returns a client of a domain of its own, with a provider.
func client(t *testing.T, p of.FeatureProvider) *of.Client {
	t.Helper()
	if err := of.SetNamedProviderAndWait(t.Name(), p); err != nil {
		t.Log(err)
	}
	return of.NewClient(t.Name())
}

func flagOf(variant string) map[string]memprovider.InMemoryFlag {
	return map[string]memprovider.InMemoryFlag{"x": {Key: "x", State: memprovider.Enabled, DefaultVariant: variant,
		Variants: map[string]any{"candidate": "candidate", "original": "original", "other": "third", "number": 7}}}
}

// runs returns the version that a call gets now.
func runs() rollout.Arm {
	if !sw.On() {
		return rollout.Original
	}
	c := sw.Enter()
	defer c.Leave()
	c.Done(false)
	return c.Arm
}

// TestProcess checks that the flag's version runs. Without a flag, a provider or a known value the
// original runs, and the flag says why.
func TestProcess(t *testing.T) {
	for _, row := range []struct {
		name, flag, says string
		provider         of.FeatureProvider
		arm              rollout.Arm
	}{
		{"candidate", "x", "runs the candidate", memprovider.NewInMemoryProvider(flagOf("candidate")), rollout.Candidate},
		{"original", "x", "", memprovider.NewInMemoryProvider(flagOf("original")), rollout.Original},
		{"unknown value", "x", `its value is "third"`, memprovider.NewInMemoryProvider(flagOf("other")), rollout.Original},
		{"other type", "x", "runs the original", memprovider.NewInMemoryProvider(flagOf("number")), rollout.Original},
		{"no flag", "y", "not found", memprovider.NewInMemoryProvider(flagOf("candidate")), rollout.Original},
		{"no provider", "x", "no value for it", of.NoopProvider{}, rollout.Original},
		{"provider down", "x", "connect", &OFREP{Address: "http://127.0.0.1:1"}, rollout.Original},
	} {
		t.Run(row.name, func(t *testing.T) {
			said := new(lines)
			f := &Flag{Client: client(t, row.provider), Name: row.flag, Say: said.say}
			stop := f.Process(t.Context(), "p.F", "pod-1")
			if arm := runs(); arm != row.arm || row.says != "" && !said.has(row.says) {
				t.Errorf("%s runs; it says %q", arm, said.all)
			}
			stop()
			if runs() != rollout.Original {
				t.Error("the candidate runs after the end")
			}
		})
	}
}

// TestProcessChanges checks that a changed flag and a failing provider take effect without a
// restart.
func TestProcessChanges(t *testing.T) {
	p := &eventful{InMemoryProvider: memprovider.NewInMemoryProvider(flagOf("original")),
		events: make(chan of.Event, 8)}
	said := new(lines)
	f := &Flag{Client: client(t, p), Name: "x", Say: said.say}
	defer f.Process(t.Context(), "p.F", "pod-1")()
	for _, step := range []struct {
		event   of.EventType
		variant string
		arm     rollout.Arm
	}{{of.ProviderConfigChange, "candidate", rollout.Candidate}, {of.ProviderError, "candidate", rollout.Original},
		{of.ProviderReady, "candidate", rollout.Candidate}, {of.ProviderStale, "candidate", rollout.Original},
		{of.ProviderReady, "original", rollout.Original}} {
		p.set(step.variant)
		p.events <- of.Event{ProviderName: "eventful", EventType: step.event,
			ProviderEventDetails: of.ProviderEventDetails{Message: "planted"}}
		for began := time.Now(); runs() != step.arm; time.Sleep(5 * time.Millisecond) {
			if time.Since(began) > time.Minute {
				t.Fatalf("after %s the %s runs: %q", step.event, runs(), said.all)
			}
		}
	}
	if !said.has("its provider is ERROR") || !said.has("its provider is STALE") {
		t.Errorf("it says %q", said.all)
	}
}

// eventful is a provider whose flag changes.
type eventful struct {
	*memprovider.InMemoryProvider
	mu     sync.Mutex
	events chan of.Event
}

func (p *eventful) set(variant string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.InMemoryProvider = memprovider.NewInMemoryProvider(flagOf(variant))
}

func (p *eventful) StringEvaluation(ctx context.Context, flag, std string,
	flat of.FlattenedContext) of.StringResolutionDetail {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.InMemoryProvider.StringEvaluation(ctx, flag, std, flat)
}

func (p *eventful) EventChannel() <-chan of.Event   { return p.events }
func (p *eventful) Init(of.EvaluationContext) error { return nil }
func (p *eventful) Shutdown()                       {}

// TestRequests checks that the flag is asked once for a request, and not while nothing runs.
func TestRequests(t *testing.T) {
	asked := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Write([]byte(`{"key":"x","value":"placebo","variant":"placebo","reason":"SPLIT"}`))
	}))
	said := new(lines)
	f := &Flag{Client: client(t, &OFREP{Address: s.URL}), Name: "x", Say: said.say}
	defer f.Requests()()
	request := func() rollout.Arm {
		ctx, r := rollout.BeginContext(t.Context())
		defer r.End(false)
		var arm rollout.Arm
		for range 5 {
			c := sw.EnterContext(ctx)
			arm = c.Arm
			c.Done(false)
			c.Leave()
		}
		return arm
	}
	if arm := request(); arm != rollout.Original || asked != 0 {
		t.Fatalf("while nothing runs: %s, asked %d times", arm, asked)
	}
	lease := do(t, wire.Request{Verb: wire.VerbRolloutStart, Rollout: &wire.RolloutOrders{Function: "p.F",
		Build: "b1", Unit: wire.UnitRequest, Share: 0.2,
		Arms: [][]string{{wire.Candidate, wire.Original, wire.Placebo}}}}).Lease
	defer do(t, wire.Request{Verb: wire.VerbRolloutStop})
	for !sw.On() {
		time.Sleep(time.Millisecond)
	}
	for range 3 {
		if arm := request(); arm != rollout.Placebo {
			t.Errorf("the request runs the %s", arm)
		}
	}
	if asked != 3 {
		t.Errorf("asked %d times for 3 requests", asked)
	}
	s.Close()
	if arm := request(); arm != rollout.Original || !said.has("the request runs the original") {
		t.Errorf("with the provider down: %s, %q", arm, said.all)
	}
	if r := do(t, wire.Request{Verb: wire.VerbRolloutBeat, Lease: lease}); r.NoArm != 1 || r.NoArmWhy == "" {
		t.Errorf("the controller gets %d, %q", r.NoArm, r.NoArmWhy)
	}
}

// TestOFREP checks that every failure of a server is an error, and that the default value stays.
func TestOFREP(t *testing.T) {
	for _, row := range []struct {
		status     int
		body, want string
	}{
		{404, `{"errorCode":"FLAG_NOT_FOUND","errorDetails":"no x"}`, "FLAG_NOT_FOUND"},
		{400, `{"errorDetails":"no key"}`, "INVALID_CONTEXT"},
		{500, `{}`, "answers 500"},
		{401, `{}`, "answers 401"},
		{200, `nonsense`, "PARSE_ERROR"},
		{200, `{"value":7,"reason":"STATIC"}`, "TYPE_MISMATCH"},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer secret" || r.URL.Path != "/ofrep/v1/evaluate/flags/x" {
				t.Errorf("%s %q", r.URL, r.Header)
			}
			w.WriteHeader(row.status)
			w.Write([]byte(row.body))
		}))
		c := client(t, &OFREP{Address: s.URL, Token: "secret"})
		v, err := c.StringValue(t.Context(), "x", "original", of.NewEvaluationContext("k", nil))
		if v != "original" || err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%d %s: %q, %v", row.status, row.body, v, err)
		}
		s.Close()
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte(`{"value":7,"reason":"STATIC"}`))
	}))
	defer s.Close()
	c := client(t, &OFREP{Address: s.URL})
	if v, err := c.IntValue(t.Context(), "x", 1, of.EvaluationContext{}); v != 7 || err != nil {
		t.Errorf("%d, %v", v, err)
	}
	if v, err := c.FloatValue(t.Context(), "x", 1, of.EvaluationContext{}); v != 7 || err != nil {
		t.Errorf("%g, %v", v, err)
	}
}
