package pilot

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/rollout"
)

// An Answer is the judge's answer to Argo Rollouts' web metric, and to any other client.
type Answer struct {
	Advance  bool    `json:"advance"`  // the experiment is past the share in question
	Rollback bool    `json:"rollback"` // it was rolled back
	Why      string  `json:"why"`
	Phase    string  `json:"phase"`
	Share    float64 `json:"share"` // of traffic on the candidate
	Blocks   int     `json:"blocks"`
}

// AnswerOf returns the judge's answer for a share: whether the experiment has passed it. Above 0.5,
// and when none is given, that means that it shipped.
func AnswerOf(e *rollout.Experiment, d rollout.Decision, share float64) Answer {
	a := Answer{Why: d.Cause, Phase: string(e.State.Phase), Share: e.Share(), Blocks: e.State.Blocks}
	switch e.State.Phase {
	case rollout.RolledBack:
		a.Rollback, a.Why = true, e.State.Cause
	case rollout.Holdout, rollout.Released:
		a.Advance = true
	case rollout.Ramping:
		a.Advance = e.State.Held == "" && share > 0 && e.Share() > share
	}
	return a
}

// A Source lets a handler look at an experiment.
type Source func(func(*rollout.Experiment, rollout.Decision))

// Handler answers for one experiment: Argo's web metric, Flagger's webhooks, OFREP, and Prometheus.
func Handler(id string, look Source) http.Handler {
	m := http.NewServeMux()
	answer := func(r *http.Request) (a Answer) {
		share, _ := strconv.ParseFloat(r.URL.Query().Get("share"), 64)
		look(func(e *rollout.Experiment, d rollout.Decision) { a = AnswerOf(e, d, share) })
		return a
	}
	base := "/v1/rollouts/" + id
	m.HandleFunc(base+"/argo", func(w http.ResponseWriter, r *http.Request) { writeJSON(w, http.StatusOK, answer(r)) })
	m.HandleFunc("POST "+base+"/flagger/advance", func(w http.ResponseWriter, r *http.Request) {
		a := answer(r)
		if status := http.StatusOK; a.Advance {
			w.WriteHeader(status)
		} else {
			w.WriteHeader(http.StatusPreconditionFailed)
		}
		fmt.Fprintln(w, a.Why) // Flagger shows it in its events
	})
	m.HandleFunc("POST "+base+"/flagger/rollback", func(w http.ResponseWriter, r *http.Request) {
		a := answer(r)
		if !a.Rollback {
			w.WriteHeader(http.StatusNotFound) // 2xx means: roll back
		}
		fmt.Fprintln(w, a.Why)
	})
	m.HandleFunc("POST /ofrep/v1/evaluate/flags/{key}", func(w http.ResponseWriter, r *http.Request) {
		ofrep(w, r, id, look)
	})
	m.HandleFunc("POST /ofrep/v1/evaluate/flags", func(w http.ResponseWriter, r *http.Request) {
		key, err := targetingKey(r)
		if err != nil {
			writeJSON(w, http.StatusBadRequest, map[string]string{"errorCode": "INVALID_CONTEXT",
				"errorDetails": err.Error()})
			return
		}
		found := flag(id, key, look)
		tag := fmt.Sprintf("%q", fmt.Sprint(found["variant"], "-", found["reason"]))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified) // a client that keeps flags asks so
			return
		}
		writeJSON(w, http.StatusOK, map[string]any{"flags": []any{found}})
	})
	m.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		look(func(e *rollout.Experiment, _ rollout.Decision) { fmt.Fprint(w, Metrics(id, e)) })
	})
	return m
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(v)
}

// targetingKey reads the key of an evaluation context of OFREP.
func targetingKey(r *http.Request) (string, error) {
	var q struct {
		Context map[string]any `json:"context"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(nil, r.Body, 1<<20)).Decode(&q); err != nil {
		return "", fmt.Errorf("the request is not JSON of OFREP: %w", err)
	}
	key, _ := q.Context["targetingKey"].(string)
	if key == "" {
		return "", fmt.Errorf("the context has no targetingKey: give that of the process or of the request")
	}
	return key, nil
}

func ofrep(w http.ResponseWriter, r *http.Request, id string, look Source) {
	if name := r.PathValue("key"); name != id {
		writeJSON(w, http.StatusNotFound, map[string]string{"key": name, "errorCode": "FLAG_NOT_FOUND",
			"errorDetails": "this is the judge of " + id})
		return
	}
	key, err := targetingKey(r)
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"key": id, "errorCode": "TARGETING_KEY_MISSING",
			"errorDetails": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, flag(id, key, look))
}

// flag assigns an arm. Below half of the traffic the original gets the same share as the candidate,
// and so does the placebo: all other requests belong to no arm and run the original.
func flag(id, key string, look Source) map[string]any {
	variant, reason := "original", "SPLIT"
	look(func(e *rollout.Experiment, _ rollout.Decision) {
		h := fnv.New64a()
		fmt.Fprint(h, id, "\x00", key)
		place := float64(mix(h.Sum64())>>11) / (1 << 53)
		switch share := e.Share(); {
		case e.Over():
			reason = "STATIC"
			if share == 1 {
				variant = "candidate"
			}
		case place < share:
			variant = "candidate"
		case !e.Plan.NoPlacebo && e.State.Phase == rollout.Ramping && place >= 1-min(share, (1-share)/2):
			variant = "placebo"
		}
	})
	return map[string]any{"key": id, "reason": reason, "variant": variant, "value": variant}
}

// mix spreads a hash over all bits, so that keys that differ at their end lie apart.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

// Metrics returns an experiment's state in Prometheus' text form.
func Metrics(id string, e *rollout.Experiment) string {
	var b strings.Builder
	gauge := func(name, labels string, v float64) {
		fmt.Fprintf(&b, "beagle_rollout_%s{rollout=%q%s} %g\n", name, id, labels, v)
	}
	for _, phase := range []rollout.Phase{rollout.Ramping, rollout.Holdout, rollout.Released, rollout.RolledBack} {
		on := 0.0
		if phase == e.State.Phase {
			on = 1
		}
		gauge("phase", fmt.Sprintf(",phase=%q", phase), on)
	}
	gauge("share", "", e.Share())
	gauge("blocks", "", float64(e.State.Blocks))
	gauge("refused_blocks", "", float64(e.State.Refused))
	gauge("exposed_requests", "", e.State.Exposure.Requests)
	for _, s := range e.Standings() {
		if s.Effect.N < 2 {
			continue
		}
		labels := fmt.Sprintf(",metric=%q,role=%q", s.Metric, s.Role)
		gauge("effect", labels, s.Effect.Estimate)
		gauge("effect_low", labels, s.Effect.Low)
		gauge("effect_high", labels, s.Effect.High)
	}
	return b.String()
}
