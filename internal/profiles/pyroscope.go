package profiles

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/tail"
)

// pyroscopeTypes are the profile types of Go services, by kind.
var pyroscopeTypes = []storeType{
	{hotspots.CPU, "process_cpu:cpu:nanoseconds:cpu:nanoseconds"},
	{hotspots.Alloc, "memory:alloc_space:bytes:space:bytes"},
	{hotspots.Mutex, "mutex:delay:nanoseconds:mutex:count"},
	{hotspots.Block, "block:delay:nanoseconds:block:count"},
}

// pyroscope asks a Pyroscope server for the profiles of a service, by its
// Connect API with messages in binary form.
func pyroscope(ctx context.Context, address string, o Options) ([]*hotspots.Profile, error) {
	q, err := storeSource(address, "service_name", o)
	if err != nil {
		return nil, err
	}
	s := &pyroscopeServer{q, o}
	return q.kinds(ctx, pyroscopeTypes, o, s.merged, func() error { return s.noProfilesError(ctx) })
}

type pyroscopeServer struct {
	*storeQuery
	o Options
}

// merged asks for the sum of all profiles of a type in a window: nil when
// there is none.
func (s *pyroscopeServer) merged(ctx context.Context, typeID string, from, to time.Time) (*hotspots.Profile, error) {
	name := fmt.Sprintf("%s %s %s", s.base.Redacted(), s.selector, from.UTC().Format(time.RFC3339))
	var m []byte
	m = protowire.AppendTag(m, 1, protowire.BytesType)
	m = protowire.AppendString(m, typeID)
	m = protowire.AppendTag(m, 2, protowire.BytesType)
	m = protowire.AppendString(m, s.selector)
	m = protowire.AppendTag(m, 3, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(from.UnixMilli()))
	m = protowire.AppendTag(m, 4, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(to.UnixMilli()))
	m = protowire.AppendTag(m, 5, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(s.nodes))
	const asPprof = 4
	withFormat := protowire.AppendVarint(protowire.AppendTag(bytes.Clone(m), 6, protowire.VarintType), asPprof)
	answer, err := s.call(ctx, "SelectMergeStacktraces", withFormat)
	if err != nil {
		return nil, err
	}
	data, ok, err := field(answer, 5)
	if err == nil && ok {
		data, ok, err = field(data, 1)
	}
	if err != nil {
		return nil, s.foreign(err)
	}
	if !ok {
		// Servers before that format have a separate call for it.
		if data, err = s.call(ctx, "SelectMergeProfile", m); err != nil {
			return nil, err
		}
	}
	return storedProfile(name, data)
}

// storedProfile reads a store's answer: nil for a profile without samples.
func storedProfile(name string, data []byte) (*hotspots.Profile, error) {
	if _, some, err := field(data, 2); err == nil && !some {
		return nil, nil // no sample
	}
	return hotspots.Parse(name, data)
}

// fields returns the values of a repeated field of bytes in a message.
func fields(message []byte, number protowire.Number) (values [][]byte, err error) {
	for len(message) > 0 {
		n, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return nil, protowire.ParseError(size)
		}
		message = message[size:]
		if size = protowire.ConsumeFieldValue(n, kind, message); size < 0 {
			return nil, protowire.ParseError(size)
		}
		if n == number && kind == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(message)
			values = append(values, value)
		}
		message = message[size:]
	}
	return values, nil
}

// field returns the first value of a field.
func field(message []byte, number protowire.Number) (value []byte, ok bool, err error) {
	values, err := fields(message, number)
	if err != nil || len(values) == 0 {
		return nil, false, err
	}
	return values[0], true, nil
}

// foreign returns the error for an answer that is not Pyroscope's.
func (s *pyroscopeServer) foreign(err error) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s does not answer as Pyroscope: %v", s.base.Redacted(), err),
		Remedy: "name the address of the Pyroscope server, without /ui or other pages",
	}
}

// call makes a Connect call with binary messages.
func (s *pyroscopeServer) call(ctx context.Context, method string, message []byte) ([]byte, error) {
	u := s.base.JoinPath("querier.v1.QuerierService", method)
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/proto")
	r.Header.Set("Connect-Protocol-Version", "1")
	if s.tenant != "" {
		r.Header.Set("X-Scope-OrgID", s.tenant)
	}
	data, answer, err := send(r, s.o)
	switch {
	case tooLarge(err):
		return nil, err
	case err != nil:
		return nil, s.unreached(r, err)
	case answer.StatusCode != http.StatusOK:
		return nil, s.refusalError(answer.StatusCode, data)
	case !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/proto"):
		return nil, s.foreign(fmt.Errorf("it sends %q", answer.Header.Get("Content-Type")))
	}
	return data, nil
}

// unreached is the function of that name, with a remedy for a profile store.
func (s *pyroscopeServer) unreached(r *http.Request, err error) error {
	err = unreached(r, err)
	var bad *beagle.UsageError
	if errors.As(err, &bad) {
		bad.Remedy = "check the address of the profile store, and ask for a shorter window when it is slow"
	}
	return err
}

// refusalError words a Connect error.
func (s *pyroscopeServer) refusalError(status int, data []byte) error {
	var said struct{ Code, Message string }
	if json.Unmarshal(data, &said) != nil || said.Code == "" {
		said.Message = tail.Short(string(data), 200)
	}
	bad := &beagle.UsageError{
		What:   fmt.Sprintf("%s answers %d %s: %q", s.base.Redacted(), status, said.Code, said.Message),
		Remedy: "name the address of the Pyroscope server, without /ui or other pages",
	}
	switch {
	case said.Code == "resource_exhausted" || status == http.StatusRequestEntityTooLarge:
		bad.Remedy = "ask for one version of the service, as in query={service_name=\"x\",version=\"y\"}"
		return &tooLargeError{bad}
	case said.Code == "unauthenticated" || status == http.StatusUnauthorized || status == http.StatusForbidden:
		bad.Remedy = "it wants a login or a tenant: add tenant=ID, write USER:PASSWORD@HOST, or set " +
			"BEAGLE_PROFILES_TOKEN"
	case said.Code == "invalid_argument":
		bad.Remedy = "correct the query: {label=\"value\",...}"
	case said.Code == "unavailable" || said.Code == "deadline_exceeded":
		bad.Remedy = "ask for a shorter window, or later"
	}
	return bad
}

// noProfilesError says that a query finds no profile, and which services there are.
func (s *pyroscopeServer) noProfilesError(ctx context.Context) error {
	bad := &beagle.UsageError{
		What: fmt.Sprintf("%s has no CPU profiles of %s from %s until %s", s.base.Redacted(), s.selector,
			s.from.UTC().Format(time.RFC3339), s.to.UTC().Format(time.RFC3339)),
		Remedy: "check the labels, the tenant and the window",
	}
	// Ask for the names of services in the window. Without an answer the error stays short.
	var m []byte
	m = protowire.AppendTag(m, 1, protowire.BytesType)
	m = protowire.AppendString(m, "service_name")
	m = protowire.AppendTag(m, 3, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(s.from.UnixMilli()))
	m = protowire.AppendTag(m, 4, protowire.VarintType)
	m = protowire.AppendVarint(m, uint64(s.to.UnixMilli()))
	data, err := s.call(ctx, "LabelValues", m)
	if err != nil {
		return bad
	}
	found, err := fields(data, 1)
	if err != nil {
		return bad
	}
	// Name the first of them.
	var names []string
	for _, name := range found[:min(len(found), 20)] {
		names = append(names, string(name))
	}
	if len(names) > 0 {
		bad.Remedy += "; it has the services " + strings.Join(names, ", ")
	}
	return bad
}
