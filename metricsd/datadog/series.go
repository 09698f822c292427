package datadog

import (
	"encoding/json"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// series is one series with one point.
type series struct {
	Metric string
	Host   string
	Tags   []string
	Count  bool // else it is a gauge
	Time   int64
	Value  float64
}

// expand calls yield with the series that a point becomes. Values that are not finite, such as an
// overflowed count, cannot be sent.
func expand(p *aggregate.Point, yield func(*series)) (unsendable int) {
	s := series{Host: p.Host, Tags: p.Tags, Time: p.Time}
	emit := func(suffix string, count bool, value float64) {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			unsendable++
			return
		}
		s.Metric, s.Count, s.Value = p.Name+suffix, count, value
		yield(&s)
	}
	if p.Summary == nil {
		emit("", p.Type == dogstatsd.Count, p.Value)
	} else {
		expandSummary(p.Summary, emit)
	}
	return unsendable
}

// expandSummary emits a distribution as the numbers that the Agent derives from one, under its
// names.
func expandSummary(s *aggregate.Summary, emit func(suffix string, count bool, value float64)) {
	if s.Count == 0 { // a sketch could hold none of the values
		return
	}
	emit(".count", true, s.Count)
	emit(".sum", true, s.Sum)
	emit(".avg", false, s.Sum/s.Count)
	emit(".min", false, s.Min)
	emit(".max", false, s.Max)
	for _, q := range []struct {
		suffix   string
		quantile float64
	}{{".median", 0.5}, {".95percentile", 0.95}, {".99percentile", 0.99}} {
		if v, err := s.Sketch.GetValueAtQuantile(q.quantile); err == nil {
			// A sketch answers with the middle of a bin, which may lie outside of all values: the
			// bounds are known exactly.
			emit(q.suffix, false, min(max(v, s.Min), s.Max))
		}
	}
}

// format is one version of the API. A payload is opening, series joined with the
// separator, closing.
type format struct {
	path, contentType           string
	opening, separator, closing string
	add                         func(to []byte, s *series) []byte
}

var formats = map[string]format{
	"v1": {"/api/v1/series", "application/json", `{"series":[`, ",", "]}", appendJSON},
	"v2": {"/api/v2/series", "application/x-protobuf", "", "", "", appendProtobuf},
}

// appendJSON writes a point as /api/v1/series has it. Only counts have an interval: the receiver
// divides by it.
func appendJSON(to []byte, s *series) []byte {
	kind, interval := "gauge", 0
	if s.Count {
		kind, interval = "count", aggregate.BucketSeconds
	}
	b, err := json.Marshal(struct {
		Metric   string        `json:"metric"`
		Points   [1][2]float64 `json:"points"`
		Type     string        `json:"type"`
		Interval int           `json:"interval,omitempty"`
		Host     string        `json:"host,omitempty"`
		Tags     []string      `json:"tags,omitempty"`
	}{s.Metric, [1][2]float64{{float64(s.Time), s.Value}}, kind, interval, s.Host, s.Tags})
	if err != nil {
		panic(err) // expand leaves out values that JSON cannot express
	}
	return append(to, b...)
}

// The numbers of the fields in the message MetricPayload, and of its types.
const (
	fieldSeries = 1

	fieldResources = 1
	fieldMetric    = 2
	fieldTags      = 3
	fieldPoints    = 4
	fieldType      = 5
	fieldInterval  = 8

	fieldResourceType = 1
	fieldResourceName = 2

	fieldValue     = 1
	fieldTimestamp = 2

	typeCount = 1
	typeGauge = 3
)

// appendProtobuf writes a point as a field of the message of /api/v2/series. It works from the
// inside out, since each length stands before its content.
func appendProtobuf(to []byte, s *series) []byte {
	var m []byte
	if s.Host != "" {
		resource := appendString(nil, fieldResourceType, "host")
		m = appendBytes(m, fieldResources, appendString(resource, fieldResourceName, s.Host))
	}
	m = appendString(m, fieldMetric, s.Metric)
	for _, tag := range s.Tags {
		m = appendString(m, fieldTags, tag)
	}
	point := protowire.AppendTag(nil, fieldValue, protowire.Fixed64Type)
	point = protowire.AppendFixed64(point, math.Float64bits(s.Value))
	m = appendBytes(m, fieldPoints, appendNumber(point, fieldTimestamp, uint64(s.Time)))
	if s.Count {
		m = appendNumber(m, fieldType, typeCount)
		m = appendNumber(m, fieldInterval, aggregate.BucketSeconds)
	} else {
		m = appendNumber(m, fieldType, typeGauge)
	}
	return appendBytes(to, fieldSeries, m)
}

func appendString(to []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(to, field, protowire.BytesType), s)
}

func appendBytes(to []byte, field protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), b)
}

func appendNumber(to []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(to, field, protowire.VarintType), n)
}

// maxBody bounds a payload before compression. Datadog takes 5 MB, 500 KB
// compressed, in version 2; series compress at least threefold.
const maxBody = 1 << 20

// pack puts points into payloads.
func pack(f format, points []aggregate.Point) (bodies [][]byte, unsendable int) {
	var body []byte
	end := func() {
		if len(body) > 0 {
			bodies = append(bodies, append(body, f.closing...))
			body = nil
		}
	}
	for i := range points {
		unsendable += expand(&points[i], func(s *series) {
			if len(body) == 0 {
				body = append(body, f.opening...)
			} else {
				body = append(body, f.separator...)
			}
			body = f.add(body, s)
			if len(body) >= maxBody {
				end()
			}
		})
	}
	end()
	return bodies, unsendable
}
