package pyroscopetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/google/pprof/profile"
	googlev1 "github.com/grafana/pyroscope/api/gen/proto/go/google/v1"
	querierv1 "github.com/grafana/pyroscope/api/gen/proto/go/querier/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	typesv1 "github.com/grafana/pyroscope/api/gen/proto/go/types/v1"
)

// A pushed profile is a profile that a client sent.
type pushed struct {
	service     string
	from, until time.Time
	profile     *profile.Profile
}

// A server speaks Pyroscope's push and query API over what clients push.
type server struct {
	querierv1connect.UnimplementedQuerierServiceHandler
	mu       sync.Mutex
	profiles []pushed
	arrived  chan bool
}

func newServer(t *testing.T) (*server, string) {
	s := &server{arrived: make(chan bool, 100)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /ingest", s.ingest)
	mux.Handle(querierv1connect.NewQuerierServiceHandler(s))
	h := httptest.NewServer(mux)
	t.Cleanup(h.Close)
	return s, h.URL
}

func (s *server) ingest(w http.ResponseWriter, r *http.Request) {
	if err := s.keep(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func (s *server) keep(r *http.Request) error {
	file, _, err := r.FormFile("profile")
	if err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	p, err := profile.ParseData(data)
	if err != nil {
		return err
	}
	service, _, _ := strings.Cut(r.URL.Query().Get("name"), "{")
	one := pushed{service: service, profile: p}
	for key, at := range map[string]*time.Time{"from": &one.from, "until": &one.until} {
		n, err := strconv.ParseInt(r.URL.Query().Get(key), 10, 64)
		if err != nil {
			return err
		}
		*at = time.Unix(0, n)
	}
	s.mu.Lock()
	s.profiles = append(s.profiles, one)
	s.mu.Unlock()
	s.arrived <- true
	return nil
}

// has reports whether a profile of a sample type has arrived.
func (s *server) has(sampleType string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.profiles {
		for _, t := range one.profile.SampleType {
			if t.Type == sampleType {
				return true
			}
		}
	}
	return false
}

func (s *server) LabelValues(context.Context,
	*connect.Request[typesv1.LabelValuesRequest]) (*connect.Response[typesv1.LabelValuesResponse], error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return connect.NewResponse(&typesv1.LabelValuesResponse{Names: []string{s.profiles[0].service}}), nil
}

var selector = regexp.MustCompile(`^\{service_name="([^"]*)"\}$`)

func (s *server) SelectMergeStacktraces(
	_ context.Context, r *connect.Request[querierv1.SelectMergeStacktracesRequest],
) (*connect.Response[querierv1.SelectMergeStacktracesResponse], error) {
	m := selector.FindStringSubmatch(r.Msg.LabelSelector)
	kind := strings.Split(r.Msg.ProfileTypeID, ":")
	if m == nil || len(kind) != 5 || r.Msg.Format != querierv1.ProfileFormat_PROFILE_FORMAT_PPROF {
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("bad query"))
	}
	answer := &querierv1.SelectMergeStacktracesResponse{Pprof: &querierv1.PprofProfile{Profile: &googlev1.Profile{}}}
	merged, err := s.merge(m[1], kind[1], r.Msg.Start, r.Msg.End)
	if merged != nil {
		var raw bytes.Buffer
		if err = merged.WriteUncompressed(&raw); err == nil {
			err = answer.Pprof.Profile.UnmarshalVT(raw.Bytes())
		}
	}
	if err != nil {
		return nil, connect.NewError(connect.CodeInternal, err)
	}
	return connect.NewResponse(answer), nil
}

// merge adds up one sample type of a service, as the store keeps them apart.
func (s *server) merge(service, sampleType string, start, end int64) (*profile.Profile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []*profile.Profile
	for _, one := range s.profiles {
		if one.service != service || one.until.UnixMilli() < start || one.from.UnixMilli() >= end {
			continue
		}
		p := one.profile.Copy()
		for i, t := range p.SampleType {
			if t.Type == sampleType {
				p.SampleType = p.SampleType[i : i+1]
				for _, x := range p.Sample {
					x.Value = x.Value[i : i+1]
				}
				all = append(all, p)
				break
			}
		}
	}
	if len(all) == 0 {
		return nil, nil
	}
	return profile.Merge(all)
}
