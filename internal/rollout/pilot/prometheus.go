package pilot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Guard is a figure that others watch: one query, or the ratio of two.
type Guard struct {
	Name  string
	Query string  // PromQL: one value
	Bad   string  // or bad events in a window,
	Total string  // among all events in it
	Least float64 // events without which the ratio says nothing; default 1
	// Absent "zero" takes bad events without any series for none. Otherwise the step is held: the
	// series may have another name.
	Absent string
	Above  float64 // it is bad above this
	Then   string  // "hold", the default, or "roll-back"
}

// Guards are guardrails of a service on a Prometheus server.
type Guards struct {
	Prometheus string            // its address
	Alerts     map[string]string // labels of the service's alerts
	Rules      []string          // alerts that must be loaded, evaluated without error, and quiet
	Guardrails []Guard
	Token      string    `json:"-"` // of the environment, on the machine that asks
	At         time.Time `json:"-"` // the time of the figures; now when zero

	client http.Client
}

// counters are names that a counter has by custom.
var counters = regexp.MustCompile(`\b[a-zA-Z_:][a-zA-Z0-9_:]*_(total|count|bucket)\b`)

// window matches a query's form for the change of counters, by which it heeds their resets.
var window = regexp.MustCompile(`\b(rate|increase|irate|histogram_fraction)\s*\(`)

// Check returns the fault of the settings.
func (g *Guards) Check() error {
	if u, err := url.Parse(g.Prometheus); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("rollout: prometheus: %q is not an address: write http://prometheus:9090", g.Prometheus)
	}
	for _, r := range g.Guardrails {
		switch {
		case r.Name == "" || (r.Query == "") == (r.Bad == "" && r.Total == "") || (r.Bad == "") != (r.Total == ""):
			return fmt.Errorf("rollout: guardrail %q: it needs a name, above, and query, or bad and total", r.Name)
		case math.IsNaN(r.Above) || math.IsNaN(r.Least) || r.Least < 0:
			return fmt.Errorf("rollout: guardrail %s: above is %g and least %g: give numbers", r.Name, r.Above, r.Least)
		case r.Absent != "" && r.Absent != "zero":
			return fmt.Errorf("rollout: guardrail %s: absent is %q: write zero, or leave it out", r.Name, r.Absent)
		case r.Then != "" && r.Then != "hold" && r.Then != "roll-back":
			return fmt.Errorf("rollout: guardrail %s: then is %q: write hold or roll-back", r.Name, r.Then)
		}
		for _, q := range []string{r.Bad, r.Total} {
			if name := counters.FindString(q); name != "" && !window.MatchString(q) {
				return fmt.Errorf("rollout: guardrail %s: %s is a counter, which a restart sets back: write "+
					"sum(increase(%s[5m]))", r.Name, name, name)
			}
		}
	}
	return nil
}

// Ask returns the reason to hold the step, and the reason to end the experiment. A server that does
// not answer, and a query without data, hold: then nothing shows that all is well.
func (g *Guards) Ask(ctx context.Context) (hold, end string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	// Hold for an alert.
	name, err := g.firing(ctx)
	switch {
	case err != nil:
		hold = "the alerts cannot be read: " + err.Error()
	case name != "":
		hold = "alert " + name + " is firing"
	default:
		hold = g.rules(ctx)
	}
	// Hold or end for a guardrail.
	for _, r := range g.Guardrails {
		v, err := g.Figure(ctx, &r)
		why := ""
		switch {
		case err != nil:
			why = fmt.Sprintf("guardrail %s: %v", r.Name, err)
		case v > r.Above:
			why = fmt.Sprintf("guardrail %s is %g, above %g", r.Name, v, r.Above)
			if r.Then == "roll-back" {
				return hold, why
			}
		}
		if hold == "" {
			hold = why
		}
	}
	return hold, ""
}

// maxReply bounds a server's answer.
const maxReply = 4 << 20

// get decodes the data of a reply of Prometheus's API into a value.
func (g *Guards) get(ctx context.Context, path string, query url.Values, into any) error {
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(g.Prometheus,
		"/")+path+"?"+query.Encode(),
		nil)
	if err != nil {
		return err
	}
	if g.Token != "" {
		q.Header.Set("Authorization", "Bearer "+g.Token)
	}
	r, err := g.client.Do(q)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	var reply struct {
		Status string          `json:"status"`
		Error  string          `json:"error"`
		Data   json.RawMessage `json:"data"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxReply)).Decode(&reply); err != nil {
		return fmt.Errorf("the server answers %s, and no JSON of Prometheus", r.Status)
	}
	if reply.Status != "success" {
		return fmt.Errorf("the server refuses: %s", reply.Error)
	}
	return json.Unmarshal(reply.Data, into)
}

// firing returns the name of an alert of the service that is firing, or "".
func (g *Guards) firing(ctx context.Context) (string, error) {
	if len(g.Alerts) == 0 {
		return "", nil
	}
	var data struct {
		Alerts []struct {
			State  string            `json:"state"`
			Labels map[string]string `json:"labels"`
		} `json:"alerts"`
	}
	if err := g.get(ctx, "/api/v1/alerts", nil, &data); err != nil {
		return "", err
	}
	for _, a := range data.Alerts {
		mine := a.State == "firing"
		for name, value := range g.Alerts {
			mine = mine && a.Labels[name] == value
		}
		if mine {
			return a.Labels["alertname"], nil
		}
	}
	return "", nil
}

// rules returns the fault of the named alerts, or "".
func (g *Guards) rules(ctx context.Context) string {
	if len(g.Rules) == 0 {
		return ""
	}
	var data struct {
		Groups []struct {
			Rules []struct{ Name, State, Health, LastError string }
		}
	}
	if err := g.get(ctx, "/api/v1/rules", url.Values{"type": {"alert"}}, &data); err != nil {
		return "the rules cannot be read: " + err.Error()
	}
	// A firing alert is the fault, and otherwise a rule that cannot be computed.
	found := map[string]bool{}
	why := ""
	for _, group := range data.Groups {
		for _, r := range group.Rules {
			if !slices.Contains(g.Rules, r.Name) {
				continue
			}
			found[r.Name] = true
			switch {
			case r.State == "firing":
				return "alert " + r.Name + " is firing"
			case r.Health != "ok":
				why = fmt.Sprintf("the rule of alert %s is %s: %s", r.Name, r.Health, r.LastError)
			}
		}
	}
	// An alert that the server does not know could never fire.
	for _, name := range g.Rules {
		if !found[name] {
			return fmt.Sprintf("the server has no alert %s: load its rule file there", name)
		}
	}
	return why
}

// Figure returns a guardrail's value now, or at the time of g.
func (g *Guards) Figure(ctx context.Context, r *Guard) (float64, error) {
	if r.Query != "" {
		return g.value(ctx, r.Query)
	}
	total, err := g.value(ctx, r.Total)
	if err != nil {
		return 0, fmt.Errorf("total: %w", err)
	}
	if least := max(r.Least, 1e-9); total < least {
		return 0, fmt.Errorf("only %g events, and %g are needed: %w", total, least, ErrFewEvents)
	}
	bad, err := g.value(ctx, r.Bad)
	if r.Absent == "zero" && errors.Is(err, errNoSeries) {
		bad, err = 0, nil
	}
	switch {
	case errors.Is(err, errNoSeries):
		return 0, fmt.Errorf("bad: %w; write 'absent: zero' where the series begins with the first bad event", err)
	case err != nil:
		return 0, fmt.Errorf("bad: %w", err)
	case bad < 0 || bad > total*(1+1e-6):
		return 0, fmt.Errorf("%g bad events of %g: the queries count different things", bad, total)
	}
	return bad / total, nil
}

// ErrFewEvents says that there are too few events for a ratio.
var ErrFewEvents = errors.New("nothing can be said")

var errNoSeries = errors.New("the query gives 0 series, not one: no data")

// value asks for one number.
func (g *Guards) value(ctx context.Context, query string) (float64, error) {
	var data struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	}
	// Ask for the value now, or at the given time.
	ask := url.Values{"query": {query}}
	if !g.At.IsZero() {
		ask.Set("time", g.At.UTC().Format(time.RFC3339))
	}
	if err := g.get(ctx, "/api/v1/query", ask, &data); err != nil {
		return 0, err
	}
	// Take the only point, of a vector or a scalar.
	var point [2]any
	switch data.Type {
	case "vector":
		var all []struct {
			Value [2]any `json:"value"`
		}
		if err := json.Unmarshal(data.Result, &all); err != nil {
			return 0, err
		}
		if len(all) == 0 {
			return 0, errNoSeries
		}
		if len(all) != 1 {
			return 0, fmt.Errorf("the query gives %d series, not one: sum() is missing", len(all))
		}
		point = all[0].Value
	case "scalar":
		if err := json.Unmarshal(data.Result, &point); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("the query gives a %s, not one value", data.Type)
	}
	// Read the number.
	text, _ := point[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, fmt.Errorf("the query gives %q: there is no data", text)
	}
	return v, nil
}
