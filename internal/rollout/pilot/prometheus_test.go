package pilot

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/porttest"
	"github.com/beagle-go/beagle/internal/rollout"
)

// A scraped service has counters that a test moves.
type scraped struct {
	*httptest.Server
	good, bad, sick atomic.Int64
	away            atomic.Bool
	judge           http.Handler
}

func newScraped(t *testing.T) *scraped {
	s := &scraped{judge: Handler("x", func(f func(*rollout.Experiment, rollout.Decision)) {
		f(experiment(t, rollout.Ramping, 2), rollout.Decision{})
	})}
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, r *http.Request) {
		if s.away.Load() {
			http.Error(w, "away", http.StatusServiceUnavailable)
			return
		}
		s.good.Add(100) // a request every now and then
		fmt.Fprintf(w, "requests_total{code=\"200\"} %d\nrequests_total{code=\"500\"} %d\nsick %d\n", s.good.Load(),
			s.bad.Load(), s.sick.Load())
	})
	mux.Handle("/beagle/", http.StripPrefix("/beagle", s.judge))
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

// prometheus starts a real server that scrapes s every 200 ms, and returns its address and how to
// end it.
func prometheus(t *testing.T, s *scraped) (address string, kill func()) {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus on the PATH: Debian's package has it")
	}
	dir := t.TempDir()
	host := strings.TrimPrefix(s.URL, "http://")
	for name, text := range map[string]string{
		"rules.yml": `groups:
- name: a
  interval: 200ms
  rules:
  - {alert: Sick, expr: sick > 0, labels: {service: intake}}
  - {alert: Broken, expr: 'sick > on() group_left() requests_total'}
`,
		"prometheus.yml": fmt.Sprintf(`global: {scrape_interval: 200ms, evaluation_interval: 200ms, scrape_timeout: 150ms}
rule_files: [rules.yml]
scrape_configs:
- {job_name: service, static_configs: [{targets: ["%s"]}]}
- {job_name: beagle, metrics_path: /beagle/metrics, static_configs: [{targets: ["%s"]}]}
`, host, host),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := porttest.Address(t)
	cmd := exec.Command(program, "--config.file="+filepath.Join(dir, "prometheus.yml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+at, "--log.level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(kill)
	return "http://" + at, kill
}

// TestRealPrometheus: what a real server knows of a service holds a step or rolls back, and what it
// does not know holds.
func TestRealPrometheus(t *testing.T) {
	s := newScraped(t)
	at, kill := prometheus(t, s)
	ratio := Guard{Name: "errors", Bad: `sum(increase(requests_total{code="500"}[3s]))`,
		Total: `sum(increase(requests_total[3s]))`, Least: 10, Above: 0.1, Then: "roll-back"}
	with := func(change func(*Guards)) *Guards {
		g := &Guards{Prometheus: at, Alerts: map[string]string{"service": "intake"}, Rules: []string{"Sick"},
			Guardrails: []Guard{ratio}}
		change(g)
		if err := g.Check(); err != nil {
			t.Fatal(err)
		}
		return g
	}
	plain := with(func(*Guards) {})
	var hold, end string
	becomes := func(what string, g *Guards, done func() bool) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // generous: the machine is shared
		defer cancel()
		for {
			if hold, end = g.Ask(ctx); done() {
				return
			}
			select {
			case <-ctx.Done():
				t.Fatalf("%s: hold %q, end %q", what, hold, end)
			case <-time.After(100 * time.Millisecond):
			}
		}
	}
	holds := func(text string) func() bool {
		return func() bool { return strings.Contains(hold, text) && end == "" }
	}
	quiet := func() bool { return hold == "" && end == "" }
	becomes("before the server is up it holds", plain, holds("cannot be read"))
	becomes("a service without errors", plain, quiet)

	for _, row := range []struct {
		want   string
		change func(*Guards)
	}{
		{"has no alert Missing", func(g *Guards) { g.Rules = append(g.Rules, "Missing") }},
		{"the rule of alert Broken is err", func(g *Guards) { g.Rules = append(g.Rules, "Broken") }},
		{"0 series", func(g *Guards) { g.Guardrails[0].Bad = `sum(increase(requests_total{code="501"}[3s]))` }},
		{"total: the query gives 0 series", func(g *Guards) {
			g.Guardrails[0].Total = "sum(increase(nothing_total[3s]))"
		}},
		{"events, and 1e+09 are needed", func(g *Guards) { g.Guardrails[0].Least = 1e9 }},
		{"count different things", func(g *Guards) { g.Guardrails[0].Bad = "vector(1e12)" }},
		{"there is no data", func(g *Guards) { g.Guardrails[0] = Guard{Name: "nan", Query: "vector(0) / 0"} }},
		{"sum() is missing", func(g *Guards) { g.Guardrails[0] = Guard{Name: "many", Query: "requests_total"} }},
		{"the server refuses", func(g *Guards) { g.Guardrails[0] = Guard{Name: "bad", Query: "sum("} }},
	} {
		becomes(row.want, with(row.change), holds(row.want))
	}
	becomes("no bad events yet", with(func(g *Guards) {
		g.Guardrails[0].Bad, g.Guardrails[0].Absent = `sum(increase(requests_total{code="501"}[3s]))`, "zero"
	}), quiet)
	becomes("Beagle's own state", with(func(g *Guards) {
		g.Guardrails[0] = Guard{Name: "share", Query: `beagle_rollout_share{rollout="x"}`, Above: 0.09}
	}), holds("guardrail share is 0.1, above 0.09"))

	s.good.Store(5) // the service was started again: its counters fell
	for range 10 {
		if _, end := plain.Ask(t.Context()); end != "" {
			t.Fatalf("a restart counts as harm: %s", end)
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.sick.Store(1)
	becomes("a firing alert", plain, holds("alert Sick is firing"))
	s.sick.Store(0)
	becomes("the alert is over", plain, quiet)
	becomes("errors", plain, func() bool {
		s.bad.Add(100_000) // again and again: the window is of three seconds
		return strings.Contains(end, "guardrail errors is")
	})
	s.away.Store(true)
	becomes("the service is away", plain, holds("total: the query gives 0 series"))
	kill()
	becomes("the server is away", plain, holds("cannot be read"))
}
