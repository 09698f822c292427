package agent

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/beagle-go/beagle/metricsd/expose"
)

// serveWeb starts the HTTP server, if there is to be one.
func (a *Agent) serveWeb() (*http.Server, <-chan error) {
	served := make(chan error, 1)
	if a.web == nil {
		served <- http.ErrServerClosed
		return nil, served
	}
	server := &http.Server{Handler: a.Handler(), ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { served <- server.Serve(a.web) }()
	return server, served
}

func stopWeb(server *http.Server, served <-chan error) error {
	if server != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil { // somebody holds a connection, a profile perhaps
			server.Close()
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler answers /metrics, /healthz, /malformed, /events and /debug/pprof.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", a.serveMetrics)
	mux.HandleFunc("GET /healthz", a.serveHealth)
	mux.HandleFunc("GET /malformed", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, a.Malformed.List()) })
	mux.HandleFunc("GET /events", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, map[string]any{"events": a.Events.List(), "checks": a.Checks.List()})
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

func (a *Agent) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if a.ending.Load() {
		http.Error(w, "stopping", http.StatusServiceUnavailable)
		return
	}
	w.Write([]byte("ok\n"))
}

func (a *Agent) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	var page expose.Page
	states := a.Aggregator.States()
	a.own(&page, states)
	page.States(states)
	page.Own("metricsd_exposition_collisions", "gauge", "Series left out of this page: another one has their name and labels.",
		expose.Value{Value: float64(page.Collisions())})
	w.Header().Set("Content-Type", expose.ContentType)
	page.WriteTo(w)
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.Encode(v)
}
