// Package flagtest asks for arms with the OpenFeature SDK: by OFREP from Beagle's own judge, and by
// Datadog's provider from a server on loopback.
package flagtest

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	datadog "github.com/DataDog/dd-trace-go/v2/openfeature"
	of "github.com/open-feature/go-sdk/openfeature"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	probe "github.com/beagle-go/beagle/probe/rollout"

	"github.com/beagle-go/beagle/probe/openfeature"
)

var sw probe.Switch

func init() { probe.Register(&sw, "example.com/p.F", "b1") }

func runs() string {
	if !sw.On() {
		return "original"
	}
	c := sw.Enter()
	defer c.Leave()
	c.Done(false)
	return c.Arm.String()
}

// shares asks for many keys and returns how often each value came.
func shares(t *testing.T, c *of.Client, flag string, n int) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for i := range n {
		v, err := c.StringValue(t.Context(), flag, "default", of.NewEvaluationContext(fmt.Sprint("key-", i), nil))
		if err != nil {
			t.Fatal(err)
		}
		out[v] += 1 / float64(n)
	}
	return out
}

// near reports shares that differ by more than five standard deviations.
func near(t *testing.T, got, want map[string]float64, n int) {
	t.Helper()
	for arm, share := range want {
		if math.Abs(got[arm]-share) > 5*math.Sqrt(share*(1-share)/float64(n)) {
			t.Errorf("%.3f of the keys get %s, want %.3f: %v", got[arm], arm, share, got)
		}
	}
}

// TestJudge: the SDK gets arms from Beagle's judge, in the shares that requests are drawn in, and
// the original when it was rolled back.
func TestJudge(t *testing.T) {
	e, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1", Unit: rollout.Requests})
	if err != nil {
		t.Fatal(err)
	}
	e.State.Step = 3 // a quarter
	s := httptest.NewServer(pilot.Handler("x", func(f func(*rollout.Experiment, rollout.Decision)) {
		f(e, rollout.Decision{})
	}))
	defer s.Close()
	if err := of.SetNamedProviderAndWait("judge", &openfeature.OFREP{Address: s.URL}); err != nil {
		t.Fatal(err)
	}
	c := of.NewClient("judge")
	const n = 2000
	near(t, shares(t, c, "x", n), map[string]float64{"candidate": 0.25, "placebo": 0.25, "original": 0.5}, n)
	if _, err := c.StringValue(t.Context(), "y", "", of.NewEvaluationContext("k", nil)); err == nil ||
		!strings.Contains(err.Error(), "FLAG_NOT_FOUND") {
		t.Errorf("another flag: %v", err)
	}
	if _, err := c.StringValue(t.Context(), "x", "", of.EvaluationContext{}); err == nil {
		t.Error("a context without a key gets an arm")
	}
	e.State.Phase = rollout.RolledBack
	if got := shares(t, c, "x", 50); got["original"] < 0.999 {
		t.Errorf("rolled back: %v", got)
	}
}

// A vendor serves flags as Datadog's endpoint does.
type vendor struct {
	*httptest.Server
	asked atomic.Int64
	share atomic.Int64 // of 10,000 shards that get the candidate
}

func newVendor(t *testing.T) *vendor {
	v := new(vendor)
	v.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := v.asked.Add(1)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("ETag", fmt.Sprintf("%q", fmt.Sprint(n)))
		json.NewEncoder(w).Encode(map[string]any{"data": map[string]any{"id": "1",
			"type": "universal-flag-configuration", "attributes": v.flags()}})
	}))
	t.Cleanup(v.Close)
	return v
}

// flags splits the keys into candidate, placebo and original by their shard.
func (v *vendor) flags() map[string]any {
	const all = 10_000
	s := int(v.share.Load())
	split := func(arm string, from, to int) map[string]any {
		return map[string]any{"variationKey": arm, "shards": []any{map[string]any{"salt": "x", "totalShards": all,
			"ranges": []any{map[string]int{"start": from, "end": to}}}}}
	}
	variations := map[string]any{}
	for _, arm := range []string{"original", "candidate", "placebo"} {
		variations[arm] = map[string]string{"key": arm, "value": arm}
	}
	return map[string]any{"createdAt": "2026-04-17T19:40:53Z", "format": "SERVER",
		"environment": map[string]string{"name": "test"},
		"flags": map[string]any{"rollout": map[string]any{"key": "rollout", "enabled": true,
			"variationType": "STRING", "variations": variations,
			"allocations": []any{map[string]any{"key": "a", "doLog": false, "rules": []any{}, "splits": []any{
				split("candidate", 0, s), split("placebo", s, 2*s), split("original", 2*s, all)}}}}}}
}

// TestDatadog: Datadog's provider gives arms by its own shards. A process follows its flag when the
// configuration changes.
func TestDatadog(t *testing.T) {
	v := newVendor(t)
	v.share.Store(2500)
	t.Setenv("DD_FEATURE_FLAGS_CONFIGURATION_SOURCE", "agentless")
	t.Setenv("DD_FEATURE_FLAGS_CONFIGURATION_SOURCE_AGENTLESS_BASE_URL", v.URL)
	t.Setenv("DD_FEATURE_FLAGS_CONFIGURATION_SOURCE_AGENTLESS_POLL_INTERVAL_SECONDS", "1")
	t.Setenv("DD_FLAGGING_EVALUATION_COUNTS_ENABLED", "false")
	t.Setenv("DD_INSTRUMENTATION_TELEMETRY_ENABLED", "false")
	p, err := datadog.NewDatadogProvider(datadog.ProviderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := of.SetNamedProviderWithContextAndWait(ctx, "datadog", p); err != nil {
		t.Fatal(err)
	}
	defer of.Shutdown()
	if name := p.Metadata().Name; !strings.Contains(name, "Datadog") {
		t.Fatalf("the provider is %q", name)
	}
	c := of.NewClient("datadog")
	const n = 4000
	near(t, shares(t, c, "rollout", n), map[string]float64{"candidate": 0.25, "placebo": 0.25, "original": 0.5}, n)

	v.share.Store(0)
	said := make(chan string, 64)
	f := &openfeature.Flag{Client: c, Name: "rollout", Say: func(s string) { said <- s }}
	waitFor(t, func() bool { return shares(t, c, "rollout", 100)["original"] > 0.999 })
	defer f.Process(t.Context(), "p.F", "pod-1")()
	if arm := runs(); arm != "original" {
		t.Fatalf("at no share the process runs the %s", arm)
	}
	v.share.Store(10_000) // every key
	waitFor(t, func() bool { return runs() == "candidate" })
	v.share.Store(0)
	waitFor(t, func() bool { return runs() == "original" })
	t.Logf("the provider asked %d times; the flag says %q", v.asked.Load(), <-said)
}

// TestDatadogDown: without its server the provider is not ready, and the original runs.
func TestDatadogDown(t *testing.T) {
	v := newVendor(t)
	v.Close()
	t.Setenv("DD_FEATURE_FLAGS_CONFIGURATION_SOURCE", "agentless")
	t.Setenv("DD_FEATURE_FLAGS_CONFIGURATION_SOURCE_AGENTLESS_BASE_URL", v.URL)
	t.Setenv("DD_EXPERIMENTAL_FLAGGING_PROVIDER_INITIALIZATION_TIMEOUT_MS", "500")
	p, err := datadog.NewDatadogProvider(datadog.ProviderConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := of.SetNamedProviderWithContextAndWait(ctx, "down", p); err == nil {
		t.Fatal("the provider is ready without a server")
	}
	said := make(chan string, 64)
	f := &openfeature.Flag{Client: of.NewClient("down"), Name: "rollout", Say: func(s string) { said <- s }}
	defer f.Process(t.Context(), "p.F", "pod-1")()
	if arm := runs(); arm != "original" {
		t.Errorf("the %s runs", arm)
	}
	if text := <-said; !strings.Contains(text, "runs the original") || !strings.Contains(text, "its provider is") {
		t.Errorf("it says %q", text)
	}
}

func waitFor(t *testing.T, done func() bool) {
	t.Helper()
	for began := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > time.Minute {
			t.Fatal("it did not happen within a minute")
		}
	}
}
