package pilot

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/probe/wire"
)

func experiment(t *testing.T, phase rollout.Phase, step int) *rollout.Experiment {
	t.Helper()
	e, err := rollout.New(rollout.Plan{Function: "p.F", Build: "b1"})
	if err != nil {
		t.Fatal(err)
	}
	e.State.Phase, e.State.Step, e.State.Cause = phase, step, "because"
	return e
}

// judge serves an experiment as `beagle rollout start --listen` does.
func judge(t *testing.T, e *rollout.Experiment) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(Handler("x", func(f func(*rollout.Experiment, rollout.Decision)) {
		f(e, rollout.Decision{Action: rollout.Hold, Cause: "not yet", Share: e.Share()})
	}))
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, method, url, body string) (status int, text string) {
	t.Helper()
	q, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	data, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(data)
}

// TestAnswers: the judge advances past a share only when the experiment did, and rolls back only
// when it was rolled back.
func TestAnswers(t *testing.T) {
	for _, row := range []struct {
		phase             rollout.Phase
		step              int
		share, held       string
		advance, rollback bool
	}{
		{rollout.Ramping, 0, "0.01", "", false, false},
		{rollout.Ramping, 1, "0.01", "", true, false},
		{rollout.Ramping, 1, "0.01", "an alert", false, false},
		{rollout.Ramping, 4, "", "", false, false},
		{rollout.Ramping, 4, "nonsense", "", false, false},
		{rollout.Holdout, 4, "", "", true, false},
		{rollout.Released, 4, "", "", true, false},
		{rollout.RolledBack, 4, "0.01", "", false, true},
	} {
		name := fmt.Sprintf("%s, step %d, share %q", row.phase, row.step, row.share)
		e := experiment(t, row.phase, row.step)
		e.Hold(row.held)
		base := judge(t, e).URL + "/v1/rollouts/x"
		_, text := ask(t, "GET", base+"/argo?share="+row.share, "")
		var a Answer
		if err := json.Unmarshal([]byte(text), &a); err != nil || a.Advance != row.advance ||
			a.Rollback != row.rollback ||
			a.Why == "" {
			t.Errorf("%s: argo gets %s", name, text)
		}
		status, why := ask(t, "POST", base+"/flagger/advance?share="+row.share, "{}")
		if (status == 200) != row.advance || why == "" {
			t.Errorf("%s: flagger's advance gets %d %q", name, status, why)
		}
		if status, _ := ask(t, "POST", base+"/flagger/rollback", "{}"); (status == 200) != row.rollback {
			t.Errorf("%s: flagger's rollback gets %d", name, status)
		}
	}
}

// TestOFREP checks that keys get the arms by the share, always the same, and that malformed
// requests get an error.
func TestOFREP(t *testing.T) {
	e := experiment(t, rollout.Ramping, 3) // a quarter
	s := judge(t, e)
	got := map[string]int{}
	for i := range 2000 {
		body := fmt.Sprintf(`{"context":{"targetingKey":"pod-%d"}}`, i)
		status, text := ask(t, "POST", s.URL+"/ofrep/v1/evaluate/flags/x", body)
		var v struct{ Key, Value, Variant, Reason string }
		if err := json.Unmarshal([]byte(text), &v); err != nil || status != 200 || v.Key != "x" ||
			v.Value != v.Variant {
			t.Fatalf("%d %s", status, text)
		}
		got[v.Value]++
		if i < 20 {
			if _, again := ask(t, "POST", s.URL+"/ofrep/v1/evaluate/flags/x", body); again != text {
				t.Errorf("%s and then %s", text, again)
			}
		}
	}
	for arm, want := range map[string]int{"candidate": 500, "placebo": 500, "original": 1000} {
		if n := got[arm]; n < want-100 || n > want+100 { // five standard deviations
			t.Errorf("%d of 2000 keys get %s", n, arm)
		}
	}
	bulk := func(tag string) *http.Response {
		q, _ := http.NewRequest("POST", s.URL+"/ofrep/v1/evaluate/flags",
			strings.NewReader(`{"context":{"targetingKey":"a"}}`))
		q.Header.Set("If-None-Match", tag)
		r, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		r.Body.Close()
		return r
	}
	tag := bulk("").Header.Get("ETag")
	if again := bulk(tag); tag == "" || again.StatusCode != http.StatusNotModified {
		t.Errorf("tag %s: %s", tag, again.Status)
	}
	e.State.Phase = rollout.RolledBack
	if r := bulk(tag); r.StatusCode == http.StatusNotModified && !strings.Contains(tag, "STATIC") {
		t.Error("a client that keeps flags is not told of the end")
	}
	if _, text := ask(t, "POST", s.URL+"/ofrep/v1/evaluate/flags",
		`{"context":{"targetingKey":"a"}}`); !strings.Contains(text,
		`"value":"original"`) || !strings.Contains(text, `"flags"`) {
		t.Errorf("bulk, rolled back: %s", text)
	}
	for _, row := range []struct {
		path, body, want string
		status           int
	}{
		{"/ofrep/v1/evaluate/flags/y", `{}`, "FLAG_NOT_FOUND", 404},
		{"/ofrep/v1/evaluate/flags/x", `{}`, "TARGETING_KEY_MISSING", 400},
		{"/ofrep/v1/evaluate/flags/x", `no`, "not JSON", 400},
		{"/ofrep/v1/evaluate/flags", `{"context":{"targetingKey":7}}`, "INVALID_CONTEXT", 400},
	} {
		if status, text := ask(t, "POST", s.URL+row.path, row.body); status != row.status || !strings.Contains(text,
			row.want) {
			t.Errorf("%s %s: %d %s", row.path, row.body, status, text)
		}
	}
}

// TestGuards: what a Prometheus server says holds the step or ends the rollout, and so does a
// server that says nothing.
func TestGuards(t *testing.T) {
	alerts, value := `{"alerts":[]}`, `{"resultType":"vector","result":[{"metric":{},"value":[1,"0.5"]}]}`
	status := "success"
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data := value
		if r.URL.Path == "/api/v1/alerts" {
			data = alerts
		}
		fmt.Fprintf(w, `{"status":%q,"error":"planted","data":%s}`, status, data)
	}))
	defer s.Close()
	g := &Guards{Prometheus: s.URL, Alerts: map[string]string{"service": "web"},
		Guardrails: []Guard{{Name: "burn", Query: "x", Above: 1}}}
	for _, row := range []struct {
		name, hold, end string
		plant           func()
	}{
		{"fine", "", "", func() {}},
		{"another service's alert", "", "", func() {
			alerts = `{"alerts":[{"state":"firing","labels":{"alertname":"A","service":"db"}}]}`
		}},
		{"pending", "", "", func() {
			alerts = `{"alerts":[{"state":"pending","labels":{"alertname":"A","service":"web"}}]}`
		}},
		{"firing", "alert A is firing", "", func() {
			alerts = `{"alerts":[{"state":"firing","labels":{"alertname":"A","service":"web"}}]}`
		}},
		{"above", "guardrail burn is 2, above 1", "", func() {
			alerts, value = `{"alerts":[]}`, `{"resultType":"scalar","result":[1,"2"]}`
		}},
		{"roll back", "", "guardrail burn is 2, above 1", func() { g.Guardrails[0].Then = "roll-back" }},
		{"NaN", "there is no data", "", func() { value = `{"resultType":"scalar","result":[1,"NaN"]}` }},
		{"nothing", "0 series", "", func() { value = `{"resultType":"vector","result":[]}` }},
		{"a matrix", "not one value", "", func() { value = `{"resultType":"matrix","result":[{"metric":{}}]}` }},
		{"refused", "planted", "", func() { status = "error" }},
		{"down", "connection refused", "", func() { s.Close() }},
	} {
		row.plant()
		hold, end := g.Ask(t.Context())
		if (hold == "") != (row.hold == "") || !strings.Contains(hold, row.hold) || end != row.end {
			t.Errorf("%s: hold %q, end %q", row.name, hold, end)
		}
	}
	for _, bad := range []*Guards{{Prometheus: "prometheus:9090"}, {Prometheus: "http://p",
		Guardrails: []Guard{{Name: "a"}}},
		{Prometheus: "http://p", Guardrails: []Guard{{Name: "a", Query: "x", Then: "explode"}}}} {
		if bad.Check() == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

// TestPlan: guardrails are those of which a process can tell.
func TestPlan(t *testing.T) {
	has := func(p rollout.Plan, m rollout.Metric) bool {
		for _, g := range p.Guardrails {
			if g.Metric == m {
				return true
			}
		}
		return false
	}
	p, notes := Plan(rollout.Plan{}, &wire.RolloutSwitch{Function: "p.F", Build: "b"})
	if has(p, rollout.ErrorRate) || has(p, rollout.SlowShare) || len(notes) != 2 || p.Build != "b" {
		t.Errorf("%+v %q", p, notes)
	}
	p, notes = Plan(rollout.Plan{SlowMillis: 5}, &wire.RolloutSwitch{Function: "p.F", Build: "b", Requests: true})
	if !has(p, rollout.ErrorRate) || !has(p, rollout.SlowShare) || len(notes) != 0 {
		t.Errorf("%+v %q", p, notes)
	}
	if _, err := rollout.New(p); err != nil {
		t.Error(err)
	}
	p, notes = Plan(rollout.Plan{Unit: rollout.Requests}, &wire.RolloutSwitch{Function: "p.F", Build: "b"})
	if has(p, rollout.ServiceCPU) || !has(p, rollout.RequestTime) || len(notes) != 2 {
		t.Errorf("by requests: %+v %q", p, notes)
	}
	if _, err := rollout.New(p); err != nil {
		t.Error(err)
	}
	for what, s := range map[string]wire.RolloutSwitch{"gets no context": {Carried: true},
		"has not begun a request": {Contexts: true}, "": {Contexts: true, Carried: true}} {
		if err := CanDraw(&s); (err == nil) != (what == "") || err != nil && !strings.Contains(err.Error(), what) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}

// TestMetrics: the text form has a value for each name.
func TestMetrics(t *testing.T) {
	_, text := ask(t, "GET", judge(t, experiment(t, rollout.Ramping, 2)).URL+"/metrics", "")
	for _, want := range []string{`beagle_rollout_phase{rollout="x",phase="ramp"} 1`,
		`beagle_rollout_share{rollout="x"} 0.1`,
		`beagle_rollout_phase{rollout="x",phase="rolled-back"} 0`} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}
