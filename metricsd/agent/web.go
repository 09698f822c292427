package agent

import (
	"net/http"

	"github.com/beagle-go/beagle/metricsd/expose"
	"github.com/beagle-go/beagle/metricsd/web"
)

// Handler answers /metrics, /healthz, /malformed, /events and /debug/pprof. All but /healthz ask
// for the token, if there is one.
func (a *Agent) Handler() http.Handler {
	mux := http.NewServeMux()
	guard := web.Guard(a.config.HTTPToken)
	mux.Handle("GET /metrics", guard(a.serveMetrics))
	mux.HandleFunc("GET /healthz", a.serveHealth)
	mux.Handle("GET /malformed", guard(func(w http.ResponseWriter, _ *http.Request) {
		web.JSON(w, http.StatusOK, a.Malformed.List())
	}))
	mux.Handle("GET /events", guard(func(w http.ResponseWriter, _ *http.Request) {
		web.JSON(w, http.StatusOK, map[string]any{"events": a.Events.List(), "checks": a.Checks.List()})
	}))
	web.Debug(mux, a.config.HTTPToken, guard)
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
	a.writeOwnMetrics(&page, states)
	page.States(states)
	page.OwnGauge("metricsd_exposition_collisions",
		"Series left out of this page: another one has their name and labels.",
		float64(page.Collisions()))
	w.Header().Set("Content-Type", expose.ContentType)
	page.WriteTo(w)
}
