package pyroscopetest

import (
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/grafana/pyroscope-go"

	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/profiles"
)

var kept atomic.Int64

// TestRealClient checks that what the real client pushes comes back as hot spots.
func TestRealClient(t *testing.T) {
	s, address := newServer(t)
	client, err := pyroscope.Start(pyroscope.Config{
		ApplicationName: "intake", ServerAddress: address, UploadRate: time.Second,
		Tags:         map[string]string{"version": "1"},
		ProfileTypes: []pyroscope.ProfileType{pyroscope.ProfileCPU, pyroscope.ProfileAllocSpace},
	})
	if err != nil {
		t.Fatal(err)
	}
	// It works until there are enough samples, and until the client has pushed
	// allocations: that is once a second, on a fast machine after the rest.
	for i := 0; i < 2500 || !s.has("alloc_space") && t.Context().Err() == nil; i++ {
		kept.Add(int64(Work(300_000)))
		kept.Add(int64(len(Allocate(300))))
	}
	if err := client.Stop(); err != nil {
		t.Fatal(err)
	}
	<-s.arrived
	source := "pyroscope+" + address + "?service=intake&from=now-1h"
	all, err := profiles.Read(t.Context(), []string{source},
		profiles.Options{Warn: func(w string) { t.Errorf("warning: %s", w) }})
	if err != nil {
		t.Fatal(err)
	}
	const own = "github.com/beagle-go/beagle/internal/profiles/pyroscopetest"
	h, err := hotspots.Rank(all, hotspots.Options{Least: 0.005, Checkout: &hotspots.Checkout{Own: []string{own}}})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, x := range h.Hotspots.Hotspots {
		found[x.Target] = x.Net
	}
	if found[own+".Work"] < 0.2 || found[own+".Allocate"] == 0 {
		t.Errorf("%v of %d samples", found, h.Samples)
	}
	if h.GCBy != "allocated bytes" && h.GCBy != "" {
		t.Errorf("the client pushed allocations, and the collector's bill goes by %q", h.GCBy)
	}
	if h.Cores <= 0 || h.Cores > 1 {
		t.Errorf("%g cores in an hour", h.Cores)
	}
	_, err = profiles.Read(t.Context(), []string{strings.Replace(source, "=intake", "=outtake", 1)}, profiles.Options{})
	if err == nil || !strings.Contains(err.Error(), "has the services intake") {
		t.Errorf("a service that is not there: %v", err)
	}
}
