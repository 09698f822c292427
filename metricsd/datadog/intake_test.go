package datadog

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"
)

// intake is a server of the series API. It reads bodies with decoders of its own, and refuses on
// demand.
type intake struct {
	*httptest.Server
	mu       sync.Mutex
	status   int
	received []series
	headers  []http.Header
}

func newIntake(t *testing.T) *intake {
	in := &intake{status: http.StatusAccepted}
	in.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.status/100 == 2 {
			got, err := decode(r)
			if err != nil {
				t.Errorf("body: %v", err)
			}
			in.received = append(in.received, got...)
			in.headers = append(in.headers, r.Header)
		}
		w.WriteHeader(in.status)
	}))
	t.Cleanup(in.Close)
	return in
}

func (in *intake) answer(status int) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.status = status
}

// sums adds up the values by name and host.
func (in *intake) sums() map[string]float64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	sums := make(map[string]float64)
	for _, s := range in.received {
		sums[s.Metric] += s.Value
	}
	return sums
}

func decode(r *http.Request) ([]series, error) {
	body, err := inflate(r)
	if err != nil {
		return nil, err
	}
	switch r.URL.Path {
	case "/api/v1/series":
		return decodeJSON(body)
	case "/api/v2/series":
		return decodeProtobuf(body)
	}
	return nil, fmt.Errorf("path %s", r.URL.Path)
}

func inflate(r *http.Request) ([]byte, error) {
	var reader io.Reader = r.Body
	switch e := r.Header.Get("Content-Encoding"); e {
	case "deflate":
		z, err := zlib.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		reader = z
	case "zstd":
		z, err := zstd.NewReader(r.Body)
		if err != nil {
			return nil, err
		}
		defer z.Close()
		reader = z
	case "":
	default:
		return nil, fmt.Errorf("encoding %q", e)
	}
	return io.ReadAll(reader)
}

func decodeJSON(body []byte) (all []series, err error) {
	var payload struct {
		Series []struct {
			Metric, Type, Host string
			Points             [][2]float64
			Tags               []string
			Interval           int64
		}
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&payload); err != nil {
		return nil, err
	}
	for _, s := range payload.Series {
		if s.Type == "count" != (s.Interval == 10) {
			err = fmt.Errorf("%s of type %s has interval %d", s.Metric, s.Type, s.Interval)
		}
		all = append(all, series{s.Metric, s.Host, s.Tags, s.Type == "count", int64(s.Points[0][0]), s.Points[0][1]})
	}
	return all, err
}

// each calls f with every field of a protobuf message.
func each(b []byte, f func(field protowire.Number, number uint64, bytes []byte)) error {
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protowire.ParseError(n)
		}
		b = b[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			number, n = protowire.ConsumeFixed64(b)
		default:
			content, n = protowire.ConsumeBytes(b)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		f(field, number, content)
		b = b[n:]
	}
	return nil
}

func decodeProtobuf(body []byte) (all []series, err error) {
	return all, each(body, func(_ protowire.Number, _ uint64, b []byte) {
		var s series
		each(b, func(field protowire.Number, number uint64, b []byte) {
			switch field {
			case 1:
				each(b, func(field protowire.Number, _ uint64, b []byte) {
					if field == 2 {
						s.Host = string(b)
					}
				})
			case 2:
				s.Metric = string(b)
			case 3:
				s.Tags = append(s.Tags, string(b))
			case 4:
				each(b, func(field protowire.Number, number uint64, _ []byte) {
					if field == 1 {
						s.Value = math.Float64frombits(number)
					} else {
						s.Time = int64(number)
					}
				})
			case 5:
				s.Count = number == 1
			}
		})
		all = append(all, s)
	})
}
