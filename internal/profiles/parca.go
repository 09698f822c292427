package profiles

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// parcaTypes are the profile types of Go services that Parca scrapes, by kind. All are deltas: sums
// over a window. By default Parca takes deltas of processor time alone and scrapes the others as
// sums since the start of the process, of which the sum over a window says nothing. A service's
// scrape configuration has them with "delta: true".
var parcaTypes = []storeType{
	{hotspots.CPU, "process_cpu:cpu:nanoseconds:cpu:nanoseconds:delta"},
	{hotspots.Alloc, "memory:alloc_space:bytes:space:bytes:delta"},
	{hotspots.Mutex, "mutex:delay:nanoseconds:contentions:count:delta"},
	{hotspots.Block, "block:delay:nanoseconds:contentions:count:delta"},
}

// parca asks a Parca server for the merged profiles of a service. It speaks
// gRPC-Web, as Parca's own pages do: servers answer it on their usual port,
// under any path. A query that names a type asks for that one alone.
func parca(ctx context.Context, address string, o Options) ([]*hotspots.Profile, error) {
	q, err := storeSource(address, "job", o)
	if err != nil {
		return nil, err
	}
	s := &parcaServer{q, o}
	if strings.HasPrefix(q.selector, "{") {
		typed := func(ctx context.Context, id string, from, to time.Time) (*hotspots.Profile, error) {
			return s.merged(ctx, id+q.selector, from, to)
		}
		return q.kinds(ctx, parcaTypes, o, typed, func() error {
			return s.noProfilesError(parcaTypes[0].id + q.selector)
		})
	}
	all, err := q.slices(ctx, func(ctx context.Context, from, to time.Time) (*hotspots.Profile, error) {
		return s.merged(ctx, q.selector, from, to)
	})
	if err == nil && len(all) == 0 {
		err = s.noProfilesError(q.selector)
	}
	for _, p := range all {
		p.Group = q.group()
	}
	return all, err
}

// noProfilesError says that the store has no profiles of a query.
func (s *parcaServer) noProfilesError(query string) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s has no profiles of %s from %s until %s", s.base.Redacted(), query,
			s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339)),
		Remedy: "check the labels and the window; the agent's profiles are of another type: " +
			"query=parca_agent:samples:count:cpu:nanoseconds:delta{comm=\"NAME\"}",
	}
}

type parcaServer struct {
	*storeQuery
	o Options
}

// merged asks for the sum of a query in a window: nil when there is nothing in it.
func (s *parcaServer) merged(ctx context.Context, query string, from, to time.Time) (*hotspots.Profile, error) {
	const (
		modeMerge = 2
		asPprof   = 1
	)
	// Write the request: the sum over the window, as a pprof profile.
	var merge []byte
	merge = protowire.AppendTag(merge, 1, protowire.BytesType)
	merge = protowire.AppendString(merge, query)
	merge = appendTime(merge, 2, from)
	merge = appendTime(merge, 3, to)
	var m []byte
	m = protowire.AppendTag(m, 1, protowire.VarintType)
	m = protowire.AppendVarint(m, modeMerge)
	m = protowire.AppendTag(m, 3, protowire.BytesType)
	m = protowire.AppendBytes(m, merge)
	m = protowire.AppendTag(m, 5, protowire.VarintType)
	m = protowire.AppendVarint(m, asPprof)
	// Send it, and take the profile out of the answer.
	answer, err := s.call(ctx, "parca.query.v1alpha1.QueryService/Query", m)
	if errors.Is(err, errNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	data, ok, err := field(answer, 6)
	if err != nil || !ok {
		return nil, s.foreign(fmt.Sprintf("an answer of %d bytes without a pprof profile", len(answer)))
	}
	name := fmt.Sprintf("%s %s %s", s.base.Redacted(), query, from.UTC().Format(time.RFC3339))
	return hotspots.Parse(name, data)
}

// appendTime appends a field with a google.protobuf.Timestamp to a message.
func appendTime(m []byte, number protowire.Number, t time.Time) []byte {
	var at []byte
	at = protowire.AppendTag(at, 1, protowire.VarintType)
	at = protowire.AppendVarint(at, uint64(t.Unix()))
	at = protowire.AppendTag(at, 2, protowire.VarintType)
	at = protowire.AppendVarint(at, uint64(t.Nanosecond()))
	m = protowire.AppendTag(m, number, protowire.BytesType)
	return protowire.AppendBytes(m, at)
}

var errNotFound = errors.New("not found")

// foreign returns the error for an answer that is not Parca's.
func (s *parcaServer) foreign(what string) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s does not answer as Parca: %s", s.base.Redacted(), what),
		Remedy: "name the address of the Parca server, as in parca+http://localhost:7070?service=NAME",
	}
}

// call makes a unary call of gRPC-Web.
func (s *parcaServer) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	body := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.base.JoinPath(method).String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/grpc-web+proto")
	r.Header.Set("X-Grpc-Web", "1")
	data, answer, err := send(r, s.o)
	switch {
	case tooLarge(err):
		return nil, err
	case err != nil:
		return nil, unreached(r, err)
	case answer.StatusCode != http.StatusOK:
		return nil, refusalError(r, answer.StatusCode, string(data))
	case !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/grpc-web"):
		return nil, s.foreign("it sends " + answer.Header.Get("Content-Type"))
	}
	return s.unframe(data, answer.Header)
}

// unframe takes the message and the status out of an answer. A server that
// fails at once may put the status into the header instead.
func (s *parcaServer) unframe(data []byte, head http.Header) (message []byte, err error) {
	// Read the frames: the message, and a trailer with the status.
	status, said := head.Get("Grpc-Status"), head.Get("Grpc-Message")
	for len(data) > 0 {
		if len(data) < 5 || uint64(len(data)-5) < uint64(binary.BigEndian.Uint32(data[1:5])) {
			return nil, s.foreign("an answer that is cut off")
		}
		n := 5 + int(binary.BigEndian.Uint32(data[1:5]))
		if data[0]&0x80 == 0 {
			message = data[5:n]
		} else {
			status, said = trailer(string(data[5:n]))
		}
		data = data[n:]
	}
	// Turn the status into an error.
	if text, err := url.PathUnescape(said); err == nil {
		said = text
	}
	switch status {
	case "0":
		return message, nil
	case "5":
		return nil, errNotFound
	case "8":
		return nil, &tooLargeError{&beagle.UsageError{
			What:   fmt.Sprintf("%s refuses the answer for its size: %q", s.base.Redacted(), said),
			Remedy: "ask for fewer series: add labels to the query",
		}}
	case "":
		return nil, s.foreign("an answer without a status")
	}
	return nil, &beagle.UsageError{
		What:   fmt.Sprintf("%s answers with gRPC status %s: %q", s.base.Redacted(), status, said),
		Remedy: "correct the query: TYPE{label=\"value\",...}; Parca's page lists types and labels",
	}
}

// trailer returns the status and the message of gRPC's trailers.
func trailer(text string) (status, said string) {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.ToLower(key) {
		case "grpc-status":
			status = strings.TrimSpace(value)
		case "grpc-message":
			said = strings.TrimSpace(value)
		}
	}
	return status, said
}
