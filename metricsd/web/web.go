// Package web is what every HTTP server of metricsd does alike: bounded headers,
// profiles, a clean stop.
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
func Serve(l net.Listener, h http.Handler) *Server {
	s := &Server{
		http:   &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10},
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
	if s.http.Shutdown(ctx) != nil { // somebody holds a connection, a profile perhaps
		s.http.Close()
	}
	if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Debug adds /debug/pprof.
func Debug(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
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
