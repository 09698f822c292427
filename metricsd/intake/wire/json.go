package wire

import (
	"encoding/json"
	"fmt"
)

// seriesV1 is a series in the JSON of version 1.
type seriesV1 struct {
	Metric   string        `json:"metric"`
	Points   [][2]*float64 `json:"points"`
	Type     string        `json:"type"`
	Interval *float64      `json:"interval"`
	Host     string        `json:"host"`
	Device   string        `json:"device"`
	Tags     []string      `json:"tags"`
}

// SeriesV1 reads the JSON body of /api/v1/series.
func SeriesV1(body []byte, l Limits) ([]Series, error) {
	var in struct {
		Series []seriesV1 `json:"series"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body is not the JSON of /api/v1/series: %w", err)
	}
	// Allocate by the bound, not by the body's claim.
	out := make([]Series, 0, min(len(in.Series), l.Series))
	for i, s := range in.Series {
		if err := l.room(i); err != nil {
			return nil, err
		}
		// Later versions have fields for what is a tag here: the device.
		series := Series{Metric: s.Metric, Host: s.Host, Tags: s.Tags, Kind: kindNamed(s.Type)}
		if s.Interval != nil {
			series.Interval = int64(*s.Interval)
		}
		if s.Device != "" {
			series.Tags = append(series.Tags, "device:"+s.Device)
		}
		for _, p := range s.Points {
			if p[0] != nil && p[1] != nil { // clients send null for a value that JSON cannot express
				series.Points = append(series.Points, Point{int64(*p[0]), *p[1]})
			}
		}
		if err := l.check(&series, i); err != nil {
			return nil, err
		}
		out = append(out, series)
	}
	return out, nil
}

// seriesV2 is a series in the JSON of version 2.
type seriesV2 struct {
	Metric    string   `json:"metric"`
	Tags      []string `json:"tags"`
	Type      Kind     `json:"type"`
	Interval  int64    `json:"interval"`
	Resources []struct {
		Type string `json:"type"`
		Name string `json:"name"`
	} `json:"resources"`
	Points []struct {
		Timestamp int64   `json:"timestamp"`
		Value     float64 `json:"value"`
	} `json:"points"`
}

// SeriesV2JSON reads the JSON body of /api/v2/series.
func SeriesV2JSON(body []byte, l Limits) ([]Series, error) {
	var in struct {
		Series []seriesV2 `json:"series"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, fmt.Errorf("the body is not the JSON of /api/v2/series: %w", err)
	}
	out := make([]Series, 0, min(len(in.Series), l.Series))
	for i, s := range in.Series {
		if err := l.room(i); err != nil {
			return nil, err
		}
		series := Series{Metric: s.Metric, Tags: s.Tags, Kind: s.Type, Interval: s.Interval}
		if s.Type > Gauge {
			return nil, fmt.Errorf("series %d (%q) has the type %d; types are 0 to 3", i, clip(s.Metric), s.Type)
		}
		for _, r := range s.Resources {
			series.resource(r.Type, r.Name)
		}
		for _, p := range s.Points {
			series.Points = append(series.Points, Point{p.Timestamp, p.Value})
		}
		if err := l.check(&series, i); err != nil {
			return nil, err
		}
		out = append(out, series)
	}
	return out, nil
}

// resource takes one resource of a series: its host, or a tag.
func (s *Series) resource(kind, name string) {
	if kind == "host" {
		s.Host = name
	} else if kind != "" && name != "" {
		s.Tags = append(s.Tags, kind+":"+name)
	}
}

func (l Limits) room(i int) error {
	if i >= l.Series {
		return fmt.Errorf("%w: the body holds more than %d series", ErrTooLarge, l.Series)
	}
	return nil
}

// check refuses a series that cannot be kept.
func (l Limits) check(s *Series, i int) error {
	switch {
	case s.Metric == "":
		return fmt.Errorf("series %d has no metric name", i)
	case len(s.Metric) > l.Name:
		return fmt.Errorf("series %d has a metric name of %d bytes; %d are allowed", i, len(s.Metric), l.Name)
	case len(s.Host) > l.Name:
		return fmt.Errorf("series %d (%q) has a host of %d bytes; %d are allowed", i, clip(s.Metric),
			len(s.Host), l.Name)
	case len(s.Tags) > l.Tags:
		return fmt.Errorf("series %d (%q) has %d tags; %d are allowed", i, clip(s.Metric), len(s.Tags), l.Tags)
	}
	if size := s.Size(); size > MaxSeries {
		return fmt.Errorf("series %d (%q) takes %d bytes; %d are allowed: send fewer points at once", i, clip(s.Metric),
			size, MaxSeries)
	}
	for _, t := range s.Tags {
		if len(t) > l.Name {
			return fmt.Errorf("series %d (%q) has a tag of %d bytes; %d are allowed", i, clip(s.Metric), len(t), l.Name)
		}
	}
	return nil
}

func clip(s string) string { return s[:min(len(s), 80)] }
