package chattest

import (
	"bytes"
	"io"
	"net/http"
	"strings"
)

// A tap is a transport that keeps what goes through it.
type tap struct {
	prefix string // of paths, taken off on the way to the server: what a gateway does
	sent   SentRequest
	answer Answer
}

// RoundTrip sends a request on.
func (t *tap) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	t.sent = SentRequest{Method: req.Method, Path: req.URL.RequestURI(), Header: headers(req.Header)}
	t.sent.Body = bytes.TrimSpace(body)
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.URL.Path, req.URL.RawPath = strings.TrimPrefix(req.URL.EscapedPath(), t.prefix), ""
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	said, err := io.ReadAll(res.Body)
	t.answer = Answer{Status: res.StatusCode, Header: headers(res.Header), Body: string(said), Cut: err != nil}
	res.Body = io.NopCloser(io.MultiReader(bytes.NewReader(said), failing{err}))
	return res, nil
}

// failing ends a body with an error, if there is one.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	return 0, io.EOF
}
