// Package rollouthttp tells a rollout of the requests of an HTTP server. It is a package of its own
// so that programs without a server do not link one.
package rollouthttp

import (
	"net/http"

	"github.com/beagle-go/beagle/probe/rollout"
)

// Handler returns a handler that counts the requests of another one, and gives them their arms
// while a rollout by requests runs. A status of 500 or more, and a panic, is a failed request.
func Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, request := rollout.BeginContext(r.Context())
		if ctx != r.Context() {
			r = r.WithContext(ctx)
		}
		seen := &writer{ResponseWriter: w}
		failed := true
		defer func() { request.End(failed) }()
		h.ServeHTTP(seen, r)
		failed = seen.status >= http.StatusInternalServerError
	})
}

type writer struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *writer) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the writer.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }
