package llmtest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxCount is more tokens than any call has: a script that reports more lies.
const maxCount = 100_000_000

// answer does what the script says.
func (s *Server) answer(w http.ResponseWriter, req *http.Request, p protocol, c *Call) {
	r := s.reply(c)
	if !pause(req, time.Duration(r.After)) {
		return
	}
	if r.Fault != "" {
		f, ok := faults[r.Fault]
		if !ok {
			f = fault{status: 500, kind: "server_error", message: "the script names no known fault: " + r.Fault}
		}
		f.retryAfter = time.Duration(r.RetryAfter)
		f.message, f.anthropic = strings.ReplaceAll(f.message, "MODEL", c.Model),
			strings.ReplaceAll(f.anthropic, "MODEL", c.Model)
		if r.Text != "" {
			f.message, f.anthropic = r.Text, ""
		}
		s.refuse(w, p, f)
		return
	}
	if r.Raw != "" {
		w.Header().Set("Content-Type", r.ContentType)
		w.WriteHeader(max(r.Status, 200))
		w.Write([]byte(r.Raw))
		return
	}
	counted := usage{in: tokens(len(c.Prompt())), out: tokens(len(r.Text) * max(r.Repeat, 1))}
	u := usage{in: cmp.Or(r.In, counted.in), out: cmp.Or(r.Out, counted.out)}
	charged := u
	if u.in < 0 || u.in > maxCount || u.out < 0 || u.out > maxCount {
		charged = counted // it says what cannot be, and is paid for what it did
	}
	s.count(func(st *Stats) { st.TokensIn += charged.in })
	if !c.Stream || r.Whole {
		text := *r
		text.Text = strings.Repeat(r.Text, max(r.Repeat, 1))
		s.noteAnswer(c, charged.in, charged.out, charged.out) // first, as in a stream
		writeJSON(w, 200, p.answer(c, &text, u))
		return
	}
	x := &stream{s: s, w: w, req: req, p: p, c: c, r: r, u: u, charged: charged, control: http.NewResponseController(w)}
	x.run()
}

// refuse sends an error in the provider's form.
func (s *Server) refuse(w http.ResponseWriter, p protocol, f fault) {
	s.count(func(st *Stats) { st.Refused++ })
	w.Header().Set("Request-Id", "req_llmtest")
	if f.retryAfter > 0 {
		if f.retryAfter < time.Second {
			w.Header().Set("Retry-After-Ms", strconv.Itoa(int(f.retryAfter.Milliseconds())+1))
		} else {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.retryAfter.Seconds()))))
		}
	}
	if p.name() == "messages" && f.own != 0 {
		f.status = f.own
	}
	writeJSON(w, f.status, p.fault(f, s))
}

// pause waits, and reports whether the client is still there.
func pause(req *http.Request, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-req.Context().Done():
		return false
	}
}

// A stream is one answer in pieces.
type stream struct {
	s       *Server
	w       http.ResponseWriter
	req     *http.Request
	p       protocol
	c       *Call
	r       *Reply
	u       usage // as it says
	charged usage // as it is paid for
	control *http.ResponseController
	sent    int
}

// run streams the reply in pieces, or breaks it off half-way if the script says so.
func (x *stream) run() {
	x.w.Header().Set("Content-Type", "text/event-stream")
	x.w.WriteHeader(200)
	for _, e := range x.p.begin(x.c, x.u) {
		x.send(e)
	}
	total := len(x.r.Text) * max(x.r.Repeat, 1)
	for range max(x.r.Repeat, 1) {
		for rest := x.r.Text; rest != ""; {
			if x.r.Break != "" && x.sent*2 >= total {
				x.cutOff()
				return
			}
			piece := cut(rest, x.r.piece())
			rest = rest[len(piece):]
			if !x.send(x.p.piece(x.c, piece)) || !pause(x.req, time.Duration(x.r.Every)) {
				x.s.count(func(st *Stats) { st.TokensOut += tokens(x.sent) })
				return
			}
			x.sent += len(piece)
		}
	}
	if x.r.Break != "" {
		x.cutOff()
		return
	}
	// Record before sending the last event, so that a client that saw it also sees the counters.
	x.s.noteAnswer(x.c, x.charged.in, x.charged.out, min(tokens(x.sent), x.charged.out))
	for _, e := range x.p.end(x.c, x.r, x.u) {
		x.send(e)
	}
}

// cut returns the first n bytes of a text, or a few more so that no character is cut in two.
func cut(text string, n int) string {
	for n < len(text) && text[n]&0xc0 == 0x80 {
		n++
	}
	return text[:min(n, len(text))]
}

func (x *stream) send(e event) bool {
	data, ok := e.data.(string)
	if !ok {
		raw, err := json.Marshal(e.data)
		if err != nil {
			panic(err) // of this package's own making
		}
		data = string(raw)
	}
	if e.name != "" {
		fmt.Fprintf(x.w, "event: %s\n", e.name)
	}
	if _, err := fmt.Fprintf(x.w, "data: %s\n\n", data); err != nil {
		return false
	}
	return x.control.Flush() == nil
}

// cutOff counts what was sent before something goes wrong.
func (x *stream) cutOff() {
	x.s.count(func(st *Stats) { st.TokensOut += tokens(x.sent) })
	x.snap()
}

// snap is the fault in the middle of a stream.
func (x *stream) snap() {
	switch x.r.Break {
	case "stall":
		<-x.req.Context().Done()
	case "error":
		x.send(event{name: "error", data: x.p.fault(faults["overloaded"], x.s)})
	case "garbage":
		x.send(event{name: "content_block_delta", data: `{"choices":[{"delta":{"content":"half a mes`})
	case "end": // as if all were well
	default: // "close"
		panic(http.ErrAbortHandler)
	}
}
