// Package web is the common part of all HTTP servers of metricsd: bounded headers, profiles, a
// clean stop.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/pprof"
	"time"
)

// A Server serves one listener. The zero value serves nothing and stops at once.
type Server struct {
	http   *http.Server
	served chan error
}

// Serve begins to answer.
func Serve(l net.Listener, h http.Handler) *Server { return serve(l, h, time.Minute) }

// serve bounds the time in which a request may arrive: a slower sender would keep for ever a place
// that others need.
func serve(l net.Listener, h http.Handler, arrival time.Duration) *Server {
	s := &Server{
		http: &http.Server{
			Handler: h, ReadHeaderTimeout: min(5*time.Second, arrival), ReadTimeout: arrival,
			IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		},
		served: make(chan error, 1),
	}
	go func() { s.served <- s.http.Serve(l) }()
	return s
}

// Stop lets requests under way finish, for a moment, and closes the listener.
func (s *Server) Stop(patience time.Duration) error {
	if s.http == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if s.http.Shutdown(ctx) != nil { // a client holds a connection, perhaps for a profile
		s.http.Close()
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Debug adds /debug/pprof, which shows the command line with any secrets in it. The guard keeps
// others out when there is a token; without one it admits only callers on this machine.
func Debug(mux *http.ServeMux, token string, guard func(http.HandlerFunc) http.Handler) {
	if token == "" {
		guard = LoopbackOnly
	}
	for path, handler := range map[string]http.HandlerFunc{
		"": pprof.Index, "cmdline": pprof.Cmdline, "profile": pprof.Profile, "symbol": pprof.Symbol,
		"trace": pprof.Trace,
	} {
		mux.Handle("/debug/pprof/"+path, guard(handler))
	}
}

// JSON answers with a value.
func JSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.Encode(v)
}
