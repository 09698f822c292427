package dogstatsd

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
)

// Kind is the kind of a line.
type Kind uint8

// The kinds of a line.
const (
	KindInvalid Kind = iota
	KindMetric
	KindEvent
	KindCheck
)

// KindOf tells a line's kind from its first bytes. Everything unknown is a metric: metrics have no
// mark of their own.
func KindOf(line []byte) Kind {
	switch {
	case bytes.HasPrefix(line, []byte("_e{")):
		return KindEvent
	case bytes.HasPrefix(line, []byte("_sc")):
		return KindCheck
	}
	return KindMetric
}

// Type is the type of a metric.
type Type uint8

// The types of a metric, as the protocol has them.
const (
	TypeInvalid Type = iota
	Count
	Gauge
	Set
	Timing
	Histogram
	Distribution
)

var typeNames = [...]string{
	TypeInvalid: "invalid", Count: "count", Gauge: "gauge", Set: "set",
	Timing: "timing", Histogram: "histogram", Distribution: "distribution",
}

// String returns the type's name in words.
func (t Type) String() string {
	if int(t) < len(typeNames) {
		return typeNames[t]
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// MarshalText writes the type in words.
func (t Type) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// Cardinality is the cardinality that a client asks for (`card:`).
type Cardinality uint8

// The cardinalities; unset means that the client left it to the server.
const (
	CardinalityUnset Cardinality = iota
	CardinalityNone
	CardinalityLow
	CardinalityOrchestrator
	CardinalityHigh
)

var cardinalityNames = [...]string{
	CardinalityUnset: "", CardinalityNone: "none", CardinalityLow: "low",
	CardinalityOrchestrator: "orchestrator", CardinalityHigh: "high",
}

// MarshalText writes the word that the protocol uses.
func (c Cardinality) MarshalText() ([]byte, error) { return []byte(cardinalityNames[c]), nil }

// parseCardinality knows the words in any case. Other words mean unset, as the protocol demands.
func parseCardinality(word []byte) Cardinality {
	for c := CardinalityNone; c <= CardinalityHigh; c++ {
		if bytes.EqualFold(word, []byte(cardinalityNames[c])) {
			return c
		}
	}
	return CardinalityUnset
}

// CardinalityNamed returns the cardinality with a name, in lower case.
func CardinalityNamed(name string) (Cardinality, bool) {
	i := slices.Index(cardinalityNames[:], name)
	return Cardinality(max(0, i)), i > 0
}

// Source is the sender that a message names.
type Source struct {
	// Host is the value of the last `host:` tag (or of an event's or a check's
	// h: field). With HostSet and an empty Host the client asks for no host at all.
	Host    string `json:"host,omitempty"`
	HostSet bool   `json:"host_set,omitempty"`
	// ContainerID and Inode are the parts of `c:`.
	ContainerID string `json:"container_id,omitempty"`
	Inode       uint64 `json:"inode,omitempty"`
	// Init, Container and PodUID are the parts of `e:`.
	Init      bool   `json:"init_container,omitempty"`
	Container string `json:"container,omitempty"`
	PodUID    string `json:"pod_uid,omitempty"`
	// Cardinality comes from `card:`, or else from the tag dd.internal.card.
	Cardinality Cardinality `json:"cardinality,omitempty"`
	// EntityID and JMXCheck come from tags that are meant for the server alone.
	EntityID string `json:"entity_id,omitempty"`
	JMXCheck string `json:"jmx_check,omitempty"`
}

// Metric is one metric line. Values and Tags belong to the parser and hold
// until its next call.
type Metric struct {
	Name string `json:"name"`
	Type Type   `json:"type"`
	// Values has one or more items for every type but Set, whose value is in SetValue.
	Values   []float64 `json:"values,omitempty"`
	SetValue string    `json:"set_value,omitempty"`
	Rate     float64   `json:"rate"`
	// Tags are the line's tags without those that Source has taken. They are neither sorted nor
	// free of duplicates.
	Tags []string `json:"tags,omitempty"`
	// Timestamp is in Unix seconds, 0 if the line has none. A point with a timestamp must be
	// neither aggregated nor divided by its rate.
	Timestamp int64  `json:"timestamp,omitempty"`
	Source    Source `json:"source,omitzero"`
	// Warnings are broken parts with which the metric is still accepted.
	Warnings []*SyntaxError `json:"warnings,omitempty"`
}

// Event is one event line.
type Event struct {
	Title      string         `json:"title"`
	Text       string         `json:"text"`
	Timestamp  int64          `json:"timestamp,omitempty"`
	Key        string         `json:"aggregation_key,omitempty"`
	Priority   string         `json:"priority"`
	SourceType string         `json:"source_type,omitempty"`
	Alert      string         `json:"alert_type"`
	Tags       []string       `json:"tags,omitempty"`
	Source     Source         `json:"source,omitzero"`
	Warnings   []*SyntaxError `json:"warnings,omitempty"`
}

// Check is one service check line.
type Check struct {
	Name string `json:"name"`
	// Status is 0 ok, 1 warning, 2 critical, 3 unknown.
	Status    int            `json:"status"`
	Message   string         `json:"message,omitempty"`
	Timestamp int64          `json:"timestamp,omitempty"`
	Tags      []string       `json:"tags,omitempty"`
	Source    Source         `json:"source,omitzero"`
	Warnings  []*SyntaxError `json:"warnings,omitempty"`
}

// SyntaxError is a line, or a part of it, that could not be read.
type SyntaxError struct {
	Line    string `json:"line"`
	Offset  int    `json:"offset"`
	Problem string `json:"problem"`
	Remedy  string `json:"remedy"`
}

// Error names the line, the place, the problem and what to do.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%q, byte %d: %s; %s", e.Line, e.Offset, e.Problem, e.Remedy)
}

// maxSample bounds the part of a broken line that its error keeps.
const maxSample = 256

func syntaxError(line []byte, offset int, problem, remedy string) *SyntaxError {
	if len(line) > maxSample {
		line = line[:maxSample]
	}
	return &SyntaxError{Line: string(line), Offset: offset, Problem: problem, Remedy: remedy}
}

// Lines yields the lines of a datagram without their ends. Empty lines are left
// out.
func Lines(datagram []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for {
			var line []byte
			if line, datagram = NextLine(datagram); line == nil || !yield(line) {
				return
			}
		}
	}
}

// NextLine returns the first line of a datagram that is not empty, without its end, and what comes
// after it. The line is nil when there is none.
func NextLine(datagram []byte) (line, rest []byte) {
	for len(datagram) > 0 {
		end := bytes.IndexByte(datagram, '\n')
		if end < 0 {
			line, datagram = datagram, nil
		} else {
			line, datagram = datagram[:end], datagram[end+1:]
		}
		if n := len(line); n > 0 && line[n-1] == '\r' {
			line = line[:n-1]
		}
		if len(line) > 0 {
			return line, datagram
		}
	}
	return nil, nil
}
