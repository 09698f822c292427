package pilot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A Guard is a figure that others watch.
type Guard struct {
	Name  string  `yaml:"name"`
	Query string  `yaml:"query"` // PromQL: one value
	Above float64 `yaml:"above"` // it is bad above this
	Then  string  `yaml:"then"`  // "hold", the default, or "roll-back"
}

// Guards are what a Prometheus server says of a service.
type Guards struct {
	Prometheus string            `yaml:"prometheus"` // its address
	Alerts     map[string]string `yaml:"alerts"`     // labels of the service's alerts
	Guardrails []Guard           `yaml:"guardrails"`
	Token      string            `yaml:"-"`

	client http.Client
}

// Check says what is wrong with the settings.
func (g *Guards) Check() error {
	if u, err := url.Parse(g.Prometheus); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("rollout: prometheus: %q is no address: write http://prometheus:9090", g.Prometheus)
	}
	for _, r := range g.Guardrails {
		switch {
		case r.Name == "" || r.Query == "":
			return fmt.Errorf("rollout: a guardrail needs name, query and above")
		case r.Then != "" && r.Then != "hold" && r.Then != "roll-back":
			return fmt.Errorf("rollout: guardrail %s: then is %q: write hold or roll-back", r.Name, r.Then)
		}
	}
	return nil
}

// Ask returns why the step is to be held, and why the experiment is to end. A server that does not
// answer, and a query without data, hold: nobody can say that nothing is wrong.
func (g *Guards) Ask(ctx context.Context) (hold, end string) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if name, err := g.firing(ctx); err != nil {
		hold = "the alerts cannot be read: " + err.Error()
	} else if name != "" {
		hold = "alert " + name + " is firing"
	}
	for _, r := range g.Guardrails {
		v, err := g.value(ctx, r.Query)
		switch {
		case err != nil:
			hold = fmt.Sprintf("guardrail %s: %v", r.Name, err)
		case v > r.Above && r.Then == "roll-back":
			return hold, fmt.Sprintf("guardrail %s is %g, above %g", r.Name, v, r.Above)
		case v > r.Above:
			hold = fmt.Sprintf("guardrail %s is %g, above %g", r.Name, v, r.Above)
		}
	}
	return hold, ""
}

// mostReply bounds what a server may answer.
const mostReply = 4 << 20

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
	if err := json.NewDecoder(io.LimitReader(r.Body, mostReply)).Decode(&reply); err != nil {
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

// value asks for one number.
func (g *Guards) value(ctx context.Context, query string) (float64, error) {
	var data struct {
		Type   string          `json:"resultType"`
		Result json.RawMessage `json:"result"`
	}
	if err := g.get(ctx, "/api/v1/query", url.Values{"query": {query}}, &data); err != nil {
		return 0, err
	}
	var point [2]any
	switch data.Type {
	case "vector":
		var all []struct {
			Value [2]any `json:"value"`
		}
		if err := json.Unmarshal(data.Result, &all); err != nil {
			return 0, err
		}
		if len(all) != 1 {
			return 0, fmt.Errorf("the query gives %d series, not one: no data, or sum() is missing", len(all))
		}
		point = all[0].Value
	case "scalar":
		if err := json.Unmarshal(data.Result, &point); err != nil {
			return 0, err
		}
	default:
		return 0, fmt.Errorf("the query gives a %s, not one value", data.Type)
	}
	text, _ := point[1].(string)
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) {
		return 0, fmt.Errorf("the query gives %q: there is no data", text)
	}
	return v, nil
}
