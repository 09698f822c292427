// Package probehttp lets a service open its probe to controllers under an address of its own HTTP
// server. It is a package of its own so that programs without a server do not link one.
package probehttp

import (
	"io"
	"net/http"

	"github.com/beagle-go/beagle/probe"
	"github.com/beagle-go/beagle/probe/wire"
)

// Handler returns a handler that carries out the requests of controllers that have the token. It
// answers POST requests and nothing else. Mount it where only operators reach it, and behind TLS
// where the network is not trusted: the token and captured values go through it.
func Handler(token string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "the probe answers POST requests of beagle capture", http.StatusMethodNotAllowed)
			return
		}
		request, err := io.ReadAll(http.MaxBytesReader(w, r.Body, wire.MaxRequest))
		if err != nil {
			http.Error(w, "the request cannot be read: "+err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Cache-Control", "no-store")
		w.Write(probe.Serve(token, request))
	})
}
