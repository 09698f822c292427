package probe

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/beagle-go/beagle/probe/wire"
)

// leastToken is the shortest token that is accepted, in bytes.
const leastToken = 16

// sameToken compares two tokens in a time that reveals nothing of either.
func sameToken(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// checkToken refuses a token that could be guessed.
func checkToken(token string) error {
	if len(token) < leastToken {
		return fmt.Errorf("the probe's token has %d bytes: give at least %d random ones", len(token), leastToken)
	}
	return nil
}

// Serve carries out one request of a controller, as JSON, and returns the reply as a line of JSON
// with its payload. [Listen] and probehttp call it for each request. Any bytes may come; those that
// are no request get a reply with an error.
func Serve(token string, request []byte) []byte { return process.serve(token, request) }

func (p *prober) serve(token string, request []byte) []byte { return serve(token, request, p.carryOut) }

// A carrier carries out the request of a controller that has the token.
type carrier func(q *wire.Request) (wire.Reply, []byte, error)

func serve(token string, request []byte, do carrier) []byte {
	var q wire.Request
	if len(request) > wire.MaxRequest {
		return answer(wire.Reply{Error: fmt.Sprintf("a request of %d bytes: at most %d are read", len(request),
			wire.MaxRequest)}, nil)
	}
	if err := json.Unmarshal(request, &q); err != nil {
		return answer(wire.Reply{Error: "the request is not the JSON of a request: " + err.Error()}, nil)
	}
	if checkToken(token) != nil || !sameToken(q.Token, token) {
		return answer(wire.Reply{Error: "the token is not the probe's"}, nil)
	}
	reply, payload, err := do(&q)
	if err != nil {
		reply.Error = err.Error()
	}
	return answer(reply, payload)
}

func answer(r wire.Reply, payload []byte) []byte {
	r.Payload = len(payload)
	line, err := json.Marshal(r)
	if err != nil { // a NaN in a figure
		line, payload = []byte(`{"error":"the reply has no form in JSON"}`), nil
	}
	return append(append(line, '\n'), payload...)
}

// carryOut answers a controller's request.
func (p *prober) carryOut(q *wire.Request) (r wire.Reply, payload []byte, err error) {
	switch q.Verb {
	case wire.VerbStatus:
	case wire.VerbStart:
		err = p.start(q, &r)
	case wire.VerbBeat:
		_, err = p.leased(q.Lease)
	case wire.VerbAsk, wire.VerbUnask:
		err = p.question(q, &r)
	case wire.VerbPull:
		payload, r.More, err = p.pull(q.Max)
	case wire.VerbStop:
		// Without a lease the request means whatever is armed, else a session of the caller's own.
		if s := p.current(); s != nil && (q.Lease == "" || q.Lease == s.lease) {
			p.end(s, "a controller stopped it")
		}
	default:
		return r, nil, extended(q, &r)
	}
	if err == nil {
		r.Status = p.status()
	}
	return r, payload, err
}

func (p *prober) start(q *wire.Request, r *wire.Reply) error {
	if q.Start == nil {
		return fmt.Errorf("start names nothing to arm")
	}
	s, err := p.begin(*q.Start)
	if err != nil {
		return err
	}
	r.Lease = s.lease
	go s.run(p)
	return nil
}

// question adds a question to the session that is alive, or ends one. It needs no lease: a holder
// of the token may use another controller's session.
func (p *prober) question(q *wire.Request, r *wire.Reply) (err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.session == nil:
		return fmt.Errorf("nothing is armed%s", reasonText(p.disarmed))
	case q.Verb == wire.VerbUnask:
		var a wire.Answer
		if a, err = p.session.remove(q.ID); err == nil {
			r.Answer = &a
		}
	case q.Program == nil:
		return fmt.Errorf("ask has no program")
	default:
		r.ID, err = p.session.add(q.Site, q.Program)
	}
	return err
}

// pull takes events out of the ring of the session that is alive.
func (p *prober) pull(limit int) (events []byte, more bool, err error) {
	s := p.current()
	if s == nil {
		return nil, false, fmt.Errorf("nothing is armed%s", reasonText(p.disarmed))
	}
	if s.ring == nil {
		return nil, false, nil
	}
	if limit <= 0 || limit > wire.MaxPull {
		limit = wire.MaxPull
	}
	events, more = s.ring.drain(nil, limit)
	return events, more, nil
}

var extensions struct {
	sync.Mutex
	verbs map[string]func(*wire.Request, *wire.Reply) error
}

// Extend lets another package carry out the requests of a verb. Package rollout does so.
func Extend(verb string, f func(*wire.Request, *wire.Reply) error) {
	extensions.Lock()
	defer extensions.Unlock()
	if extensions.verbs == nil {
		extensions.verbs = map[string]func(*wire.Request, *wire.Reply) error{}
	}
	extensions.verbs[verb] = f
}

func extended(q *wire.Request, r *wire.Reply) error {
	extensions.Lock()
	f := extensions.verbs[q.Verb]
	extensions.Unlock()
	if f == nil {
		return fmt.Errorf("no verb %q", q.Verb)
	}
	return f(q, r)
}
