package main

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/profiles"
)

// TestHotspotsLive: a live profile is spread over minutes unless flags say otherwise. The command
// says so, and an interrupt ranks what was taken until then.
func TestHotspotsLive(t *testing.T) {
	t.Parallel() // it waits
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module ex.com/s\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	data, err := sketch.Sketch{Kind: "cpu", Seconds: 1, Stacks: []string{"50 ex.com/s/a.F@a/f.go:4"}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name      string
		args      []string
		interrupt int // at this slice; 0 for none
		out, said []string
	}{
		{"default", nil, 2, []string{"in 50 samples of 1 profile", "one profile does not show", "100.0 %"},
			[]string{"Profiling for 5m0s, in 60 short slices", "--seconds 30 takes one piece",
				"Slices of 2 s: 120 s of profile in all", "stopped after 1 of 60 slices"}},
		{"spread", []string{"--seconds", "10", "--over", "11s"}, 6,
			[]string{"in 250 samples of 5 profiles", "the spread between 5 profiles"},
			[]string{"Profiling for 11s, in 10 short slices", "stopped after 5 of 10 slices"}},
		{"one piece", []string{"--seconds", "1"}, 0, []string{"in 50 samples of 1 profile"}, nil},
		{"nothing", []string{"--quiet"}, 1, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			asked := 0
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if asked++; asked == c.interrupt {
					interrupt()
					<-r.Context().Done()
				}
				w.Write(data)
			}))
			defer s.Close()
			var out, said bytes.Buffer
			status, err := runHotspots(ctx, hotspotsCommand,
				append(c.args, "-C", dir, s.URL+"/debug/pprof/profile"), stdio{&out, &said})
			if c.out == nil {
				if !errors.Is(err, context.Canceled) || said.Len() > 0 {
					t.Fatalf("status %d, %v: %s", status, err, said.String())
				}
				return
			}
			if err != nil || status != exitOK {
				t.Fatalf("status %d, %v: %s", status, err, said.String())
			}
			for _, want := range c.out {
				if !strings.Contains(out.String(), want) {
					t.Errorf("the output lacks %q:\n%s", want, out.String())
				}
			}
			for _, want := range c.said {
				if !strings.Contains(said.String(), want) {
					t.Errorf("standard error lacks %q:\n%s", want, said.String())
				}
			}
			if c.said == nil && said.Len() > 0 {
				t.Errorf("standard error: %s", said.String())
			}
		})
	}
}

// TestShowProfilingSources checks that two services of one host count as two.
func TestShowProfilingSources(t *testing.T) {
	out := &lockedBuilder{}
	watch := newProgress(out, false)
	watch.live = true // prints what passes
	show := showProfiling(watch, "")
	plan := profiles.Plan{Slices: 10, Seconds: 1, Over: time.Minute}
	for _, source := range []string{"h:80/a/debug/pprof/profile", "h:80/b/debug/pprof/profile"} {
		show(profiles.Progress{Source: source, Taken: 3, Plan: plan})
	}
	if text := out.String(); !strings.Contains(text, "6 of 20 slices") || strings.Contains(text, "\n\n") {
		t.Error(text)
	}
}

// TestHotspotsDiffLength checks that a live profile to compare with is as long as the first one,
// and not spread over minutes.
func TestHotspotsDiffLength(t *testing.T) {
	dir := t.TempDir()
	data, err := sketch.Sketch{Kind: "cpu", Seconds: 7, Stacks: []string{"50 ex.com/s/a.F@a/f.go:4"}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module ex.com/s\n", "cpu.pprof": string(data)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	var asked []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("seconds"))
		w.Write(data)
	}))
	defer s.Close()
	args := []string{"-C", dir, "--quiet", "--diff", s.URL + "/debug/pprof/profile", filepath.Join(dir, "cpu.pprof")}
	var out, said bytes.Buffer
	status, err := runHotspots(t.Context(), hotspotsCommand, args, stdio{&out, &said})
	if err != nil || status != exitOK {
		t.Fatalf("status %d, %v: %s", status, err, said.String())
	}
	if want := []string{"7"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q seconds, want %q", asked, want)
	}
}

// TestHotspotsInterruptedLater: an interrupt after the profile ends the command, too.
func TestHotspotsInterruptedLater(t *testing.T) {
	dir := t.TempDir()
	data, err := sketch.Sketch{Kind: "cpu", Seconds: 1, Stacks: []string{"50 ex.com/s/a.F@a/f.go:4"}}.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module ex.com/s\n", "cpu.pprof": string(data)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		interrupt()
		<-r.Context().Done()
	}))
	defer s.Close()
	args := []string{"-C", dir, "--diff", s.URL + "/old.pprof", filepath.Join(dir, "cpu.pprof")}
	var out, said bytes.Buffer
	if status, err := runHotspots(ctx, hotspotsCommand, args, stdio{&out, &said}); !errors.Is(err, context.Canceled) {
		t.Errorf("status %d, %v: %s%s", status, err, out.String(), said.String())
	}
}
