package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Server answers as its script says. The fields are set before it starts.
type Server struct {
	Script     Script
	Key        string    // when set, calls without it are refused
	Models     []string  // of /v1/models
	Limit      RateLimit // calls that it takes; zero takes all
	Idempotent bool      // calls of the same idempotency key get the same answer, and pay for it once
	KeepFaults bool      // the same error too, as some services do

	listener net.Listener
	http     *http.Server
	started  time.Time

	mu    sync.Mutex
	stats Stats
	calls []Call
	taken []time.Time // calls within the rate limit's window

	making sync.Mutex
	made   map[string]*Reply // by idempotency key
}

// A RateLimit bounds the calls in a time; the server refuses the others and names the time to come
// back.
type RateLimit struct {
	Calls int
	Per   time.Duration
}

// Stats count a server's calls.
type Stats struct {
	Calls     int // all that named a model, refused ones included
	Refused   int // answered with an error
	Whole     int // answered to the end, or all but the word that it is the end
	Paid      int // answers made: a provider takes money for those, whether they arrive or not
	TokensIn  int // of prompts that were answered
	TokensOut int // of replies, as far as they were sent
	Busy      int // under way now
	MostBusy  int // under way at once, at the most
}

// A Call is one request.
type Call struct {
	Number   int // from 1, in the order of arrival
	At       time.Time
	Protocol string
	Model    string
	System   string
	Turns    []Turn // the last is the question
	Stream   bool
	Options  map[string]any // the rest of the request: temperature, seed, ...
	Header   http.Header
	Body     string
	Answered bool // to the end; set just before the client can know
	In, Out  int  // tokens that it is charged for, once it is answered
}

// A Turn is one message.
type Turn struct{ Role, Text string }

// Prompt returns all the text of the call.
func (c Call) Prompt() string {
	var b strings.Builder
	b.WriteString(c.System)
	for _, t := range c.Turns {
		b.WriteString("\n" + t.Text)
	}
	return b.String()
}

// Question returns the last message.
func (c Call) Question() string {
	if len(c.Turns) == 0 {
		return ""
	}
	return c.Turns[len(c.Turns)-1].Text
}

// New starts a server for a test, which ends with it.
func New(t testing.TB, script Script) *Server {
	t.Helper()
	s := &Server{Script: script}
	s.StartFor(t)
	return s
}

// StartFor starts a server for a test, which ends with it.
func (s *Server) StartFor(t testing.TB) {
	t.Helper()
	if err := s.Start("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
}

// Start listens at an address.
func (s *Server) Start(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("llmtest: %w", err)
	}
	mux := http.NewServeMux()
	for _, prefix := range []string{"", "/v1"} {
		mux.HandleFunc("POST "+prefix+"/chat/completions", s.serve(chat{}))
		mux.HandleFunc("POST "+prefix+"/responses", s.serve(responses{}))
		mux.HandleFunc("POST "+prefix+"/messages", s.serve(messages{}))
		mux.HandleFunc("GET "+prefix+"/models", s.models)
	}
	mux.HandleFunc("GET /stats", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, 200, s.Stats()) })
	s.listener, s.started = l, time.Now()
	s.http = &http.Server{Handler: mux}
	go s.http.Serve(l)
	return nil
}

// URL returns the server's address, without a path.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() }

// Close ends the server and all that is under way.
func (s *Server) Close() { s.http.Close() }

// Stats returns the counts so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// Calls returns all calls so far, in the order of arrival.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// A protocol reads requests and writes answers in its own form.
type protocol interface {
	name() string
	read(body map[string]json.RawMessage, c *Call) error
	answer(c *Call, r *Reply, u usage) any
	begin(c *Call, u usage) []event
	piece(c *Call, text string) event
	end(c *Call, r *Reply, u usage) []event
	fault(f fault, s *Server) any
	key(h http.Header) string
}

// An event is one of a stream.
type event struct {
	name string // "" for none
	data any    // a string is sent as it is
}

type usage struct{ in, out int }

const maxRequest = 16 << 20

// serve returns the handler of a protocol's requests.
func (s *Server) serve(p protocol) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		c, err := readCall(p, req)
		if err != nil {
			s.refuse(w, p, fault{status: 400, kind: "invalid_request_error", message: err.Error()})
			return
		}
		wait := s.arrive(c)
		defer s.leave()
		switch {
		case s.Key != "" && p.key(req.Header) != s.Key:
			f := faults["bad-key"]
			f.message = strings.ReplaceAll(f.message, "KEY", mask(p.key(req.Header)))
			s.refuse(w, p, f)
		case wait > 0:
			f := faults["rate-limited"]
			f.retryAfter = wait
			s.refuse(w, p, f)
		default:
			s.answer(w, req, p, c)
		}
	}
}

// readCall decodes a request's model and options. Its errors are worded as a provider words them.
func readCall(p protocol, req *http.Request) (*Call, error) {
	// Read the body as a JSON object.
	body, err := io.ReadAll(io.LimitReader(req.Body, maxRequest))
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return nil, errors.New("we could not parse the JSON body of your request")
	}
	// Take out what all protocols have.
	c := &Call{Protocol: p.name(), Header: req.Header.Clone(), Body: string(body), Options: map[string]any{}}
	for _, f := range []struct {
		name string
		to   any
	}{{"model", &c.Model}, {"stream", &c.Stream}} {
		if raw, ok := fields[f.name]; ok {
			if err := json.Unmarshal(raw, f.to); err != nil {
				return nil, fmt.Errorf("%s: %w", f.name, err)
			}
		}
		delete(fields, f.name)
	}
	if c.Model == "" {
		return nil, errors.New("you must provide a model parameter")
	}
	// Let the protocol take its texts. The rest are options.
	if err := p.read(fields, c); err != nil {
		return nil, err
	}
	for name, raw := range fields {
		var v any
		json.Unmarshal(raw, &v)
		c.Options[name] = v
	}
	return c, nil
}

// arrive counts a call and says how long it must wait for the rate limit.
func (s *Server) arrive(c *Call) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Calls++
	s.stats.Busy++
	s.stats.MostBusy = max(s.stats.MostBusy, s.stats.Busy)
	c.Number, c.At = s.stats.Calls, time.Now()
	s.calls = append(s.calls, *c)
	if s.Limit.Calls == 0 {
		return 0
	}
	now := time.Now()
	s.taken = slices.DeleteFunc(s.taken, func(t time.Time) bool { return now.Sub(t) >= s.Limit.Per })
	if len(s.taken) >= s.Limit.Calls {
		return s.taken[0].Add(s.Limit.Per).Sub(now)
	}
	s.taken = append(s.taken, now)
	return 0
}

// noteAnswer notes that a call has its whole answer, and what it is charged for.
func (s *Server) noteAnswer(c *Call, in, out, sent int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Whole++
	s.stats.TokensOut += sent
	call := &s.calls[c.Number-1]
	call.Answered, call.In, call.Out = true, in, out
}

// reply returns the script's answer to a call, or the one that was made for its idempotency key
// before. Errors are not kept unless the server keeps them: nothing was made.
func (s *Server) reply(c *Call) *Reply {
	key := c.Header.Get("Idempotency-Key")
	if !s.Idempotent || key == "" {
		return s.script(c)
	}
	s.making.Lock()
	defer s.making.Unlock()
	r := s.made[key]
	if r == nil {
		if r = s.script(c); r.Fault == "" || s.KeepFaults {
			if s.made == nil {
				s.made = map[string]*Reply{}
			}
			s.made[key] = r
		}
	}
	return r
}

func (s *Server) script(c *Call) *Reply {
	r := s.Script(*c)
	if r.Fault == "" {
		s.count(func(st *Stats) { st.Paid++ })
	}
	return r
}

func (s *Server) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats.Busy--
}

func (s *Server) count(f func(*Stats)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.stats)
}

func (s *Server) models(w http.ResponseWriter, _ *http.Request) {
	list := []any{}
	for _, m := range s.Models {
		list = append(list,
			map[string]any{"id": m, "object": "model", "type": "model", "display_name": m, "created": s.started.Unix(),
				"created_at": s.started.UTC().Format(time.RFC3339), "owned_by": "llmtest"})
	}
	writeJSON(w, 200, map[string]any{"object": "list", "data": list, "has_more": false})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// tokens returns the server's count of a text's tokens.
func tokens(n int) int { return (n + 3) / 4 }

// mask shows the ends of a key as OpenAI does.
func mask(key string) string {
	if len(key) < 12 {
		return strings.Repeat("*", len(key))
	}
	return key[:8] + strings.Repeat("*", len(key)-12) + key[len(key)-4:]
}
