package datadog

import (
	"cmp"
	"encoding/json"

	"github.com/beagle-go/beagle/metricsd/deliver"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// Events go where Datadog's agent sends its own, many in a payload. The public API takes one event
// in a request.
var (
	eventForm = deliver.Form{Path: "/intake/", ContentType: "application/json"}
	checkForm = deliver.Form{Path: "/api/v1/check_run", ContentType: "application/json"}
)

// eventJSON has the fields of the agent's payload.
type eventJSON struct {
	Title      string   `json:"msg_title"`
	Text       string   `json:"msg_text"`
	Time       int64    `json:"timestamp"`
	Priority   string   `json:"priority,omitempty"`
	Host       string   `json:"host"`
	Tags       []string `json:"tags,omitempty"`
	Alert      string   `json:"alert_type,omitempty"`
	Key        string   `json:"aggregation_key,omitempty"`
	SourceType string   `json:"source_type_name,omitempty"`
}

type checkJSON struct {
	Check   string   `json:"check"`
	Host    string   `json:"host_name"`
	Time    int64    `json:"timestamp"`
	Status  int      `json:"status"`
	Message string   `json:"message"`
	Tags    []string `json:"tags"`
}

// mustMarshal marshals a value that consists of texts and whole numbers.
func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // such values have a form in JSON
	}
	return b
}

// packEvents puts events into payloads, by the type of their source.
func packEvents(events []dogstatsd.Event) (bodies [][]byte) {
	bySource, size := map[string][]json.RawMessage{}, 0
	end := func() {
		if size > 0 {
			bodies = append(bodies,
				mustMarshal(map[string]any{"apiKey": "", "internalHostname": "", "events": bySource}))
			bySource, size = map[string][]json.RawMessage{}, 0
		}
	}
	for i := range events {
		e := &events[i]
		b := mustMarshal(eventJSON{e.Title, e.Text, e.Timestamp, e.Priority, e.Source.Host, e.Tags, e.Alert, e.Key,
			e.SourceType})
		source := cmp.Or(e.SourceType, "api")
		bySource[source] = append(bySource[source], b)
		if size += len(b); size >= maxBody {
			end()
		}
	}
	end()
	return bodies
}

// packChecks puts service checks into payloads.
func packChecks(checks []dogstatsd.Check) (bodies [][]byte) {
	var body []byte
	end := func() {
		if len(body) > 0 {
			bodies, body = append(bodies, append(body, ']')), nil
		}
	}
	for i := range checks {
		c := &checks[i]
		separator := byte(',')
		if len(body) == 0 {
			separator = '['
		}
		tags := c.Tags
		if tags == nil {
			tags = []string{} // the agent does so too
		}
		body = append(append(body, separator),
			mustMarshal(checkJSON{c.Name, c.Source.Host, c.Timestamp, c.Status, c.Message, tags})...)
		if len(body) >= maxBody {
			end()
		}
	}
	end()
	return bodies
}

// Events packs events and service checks and puts the payloads into the queue.
func (o *Output) Events(events []dogstatsd.Event, checks []dogstatsd.Check) {
	o.post(eventForm, packEvents(events))
	o.post(checkForm, packChecks(checks))
}
