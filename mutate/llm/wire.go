package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// These constants bound a server's answer.
const (
	maxRaw       = 64 << 20 // bytes of one answer; a token of text takes some 200 bytes of stream
	defaultText  = 1 << 20
	defaultStall = 3 * time.Minute
)

var (
	errStalled  = errors.New("the server sent nothing for too long")
	errLimit    = errors.New("the time limit of the call is over")
	errOversize = errors.New("the answer is longer than the limit")
)

// wire watches one attempt from below [chat]. It ends a silent attempt, cuts off a long one, and
// keeps the text of a refusal.
type wire struct {
	maxText int
	stall   time.Duration
	cancel  context.CancelCauseFunc
	silence *time.Timer

	// These fields describe the answer, once there is one.
	status int
	header http.Header
	body   []byte // if the status is an error
}

type wireKey struct{}

// watch puts a wire into the context of an attempt.
func watch(ctx context.Context, stall time.Duration, maxText int) (context.Context, *wire) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &wire{maxText: maxText, stall: stall, cancel: cancel}
	w.silence = time.AfterFunc(stall, func() { cancel(errStalled) })
	return context.WithValue(ctx, wireKey{}, w), w
}

// end stops the watch.
func (w *wire) end() {
	w.silence.Stop()
	w.cancel(nil)
}

// streams reports whether the answer is a stream of events, or was made from one.
func (w *wire) streams() bool {
	switch kind, _, _ := mime.ParseMediaType(w.header.Get("Content-Type")); kind {
	case "text/event-stream", "application/json", "":
		return true
	}
	return false
}

// transport hands every answer to its attempt's wire.
type transport struct{ http.RoundTripper }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(req)
	w, ok := req.Context().Value(wireKey{}).(*wire)
	if err != nil || !ok {
		return res, err
	}
	w.silence.Reset(w.stall)
	w.status, w.header = res.StatusCode, res.Header
	res.Body = &replyBody{ReadCloser: res.Body, wire: w, left: maxRaw, line: 8 * w.maxText}
	return res, nil
}

// replyBody reads the body of a reply, and bounds its length and its pauses.
type replyBody struct {
	io.ReadCloser
	wire *wire
	left int // bytes that may still come
	line int // bytes that a line may have
	run  int // bytes of the line so far
}

func (b *replyBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.wire.silence.Reset(b.wire.stall)
	}
	b.left -= n
	if last := bytes.LastIndexByte(p[:n], '\n'); last >= 0 {
		b.run = n - last - 1
	} else {
		b.run += n
	}
	if b.left < 0 || b.run > b.line {
		return 0, errOversize
	}
	return n, err
}

// httpClient makes the connections of a client. It follows no redirects, because the key would go
// to an address that the user did not give. Offline, it reaches this machine only, whatever names
// and proxies say.
func httpClient(offline bool) *http.Client {
	dial := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial.DialContext,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    32,
		IdleConnTimeout:        90 * time.Second,
		TLSHandshakeTimeout:    15 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
	if offline {
		t.Proxy = nil
		dial.Control = onlyLoopback
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &http.Client{Transport: transport{t}, CheckRedirect: stay}
}

var errOffline = errors.New("not on this machine, and the run is offline")

func onlyLoopback(_, address string, _ syscall.RawConn) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return fmt.Errorf("%s is %w", address, errOffline)
	}
	return nil
}

// connections makes its clients when they are first needed.
type connections struct {
	once sync.Once
	http *http.Client
}

func (c *connections) get(offline bool) *http.Client {
	c.once.Do(func() { c.http = httpClient(offline) })
	return c.http
}
