//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/porttest"
	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/windows"
)

// backfilled starts a real Prometheus that has a request a second for four days, of which 5 % fail
// since two hours, and returns its address.
func backfilled(t *testing.T, now time.Time) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("no prometheus on the PATH: Debian's package has it")
	}
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	var good, bad bytes.Buffer
	failed := 0
	for i := range 4 * 24 * 60 {
		at := now.Add(time.Duration(i-4*24*60) * time.Minute)
		if now.Sub(at) < 2*time.Hour {
			failed += 3
		}
		fmt.Fprintf(&good, "requests_total{code=\"200\"} %d %d\n", 60*i-failed, at.Unix())
		fmt.Fprintf(&bad, "requests_total{code=\"500\"} %d %d\n", failed, at.Unix())
	}
	metrics := write("metrics.txt", "# TYPE requests counter\n"+good.String()+bad.String()+"# EOF\n")
	data := filepath.Join(dir, "data")
	out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", metrics, data).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	address := porttest.Address(t)
	cmd := exec.Command(program, "--config.file="+write("prometheus.yml", "global: {}\n"), "--storage.tsdb.path="+data,
		"--web.listen-address="+address, "--log.level=error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for begin := time.Now(); ; time.Sleep(100 * time.Millisecond) {
		if r, err := http.Get("http://" + address + "/-/ready"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return "http://" + address
			}
		}
		if time.Since(begin) > 5*time.Minute { // generous: the machine is shared
			t.Fatal("prometheus is not ready within five minutes")
		}
	}
}

// TestWatchSLO: burn rates of a real Prometheus are findings, which are reported once. Windows keep
// the share of bad events in their own time, and their mean is held against the objective.
func TestWatchSLO(t *testing.T) {
	now := time.Now().UTC()
	address := backfilled(t, now)
	dir := t.TempDir()
	t.Setenv("BEAGLE_HOME", t.TempDir())
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("slo.yml", `version: prometheus/v1
service: intake
slos:
- name: availability
  objective: 99.9
  sli:
    events:
      error_query: 'sum(increase(requests_total{code="500"}[{{.window}}]))'
      total_query: 'sum(increase(requests_total[{{.window}}]))'
`)
	write("beagle.yaml", "services:\n  intake:\n    watch: {prometheus: \""+address+"\", from: [slo.yml]}\n")
	profiles := filepath.Join(dir, "profiles")
	if err := os.Mkdir(profiles, 0o755); err != nil {
		t.Fatal(err)
	}
	for hour := 6; hour > 0; hour-- {
		start := now.Truncate(time.Hour).Add(-time.Duration(hour) * time.Hour)
		s, err := sketch.Parse("kind cpu\nseconds 60\nstart " + start.Format(time.RFC3339) +
			"\n100 example.com/m/serve.Handle@/src/serve.go:3\n")
		if err != nil {
			t.Fatal(err)
		}
		text, err := s.Bytes()
		if err == nil {
			err = os.WriteFile(filepath.Join(profiles, fmt.Sprintf("%d.pprof", 9-hour)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	look := func(args ...string) *windows.Report {
		t.Helper()
		var out, errs bytes.Buffer
		_, err := watchCommand.run(t.Context(), watchCommand, append([]string{"--once", "--json", "-C", dir}, args...),
			stdio{out: &out, err: &errs})
		if err != nil || strings.Contains(errs.String(), "SLO") {
			t.Fatalf("%v\n%s", err, errs.String())
		}
		r := new(windows.Report)
		if err := json.Unmarshal(out.Bytes(), r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	found := map[watch.Kind]watch.Finding{}
	for _, f := range look(profiles).Findings {
		found[f.Kind] = f
	}
	burn, breached := found[watch.BurnRate], found[watch.SLOBreached]
	if burn.Subject != "slo availability" || !strings.Contains(burn.Cause, "the events of 1h") || burn.After < 0.04 ||
		burn.After > 0.06 || burn.Service != "intake" {
		t.Errorf("%+v", found)
	}
	// Two of six hours fail 5 %, give or take the hour that is not over.
	if breached.After < 0.004 || breached.After > 0.02 || breached.Before != 0.001 && breached.Before > 0.0011 {
		t.Errorf("%+v", found)
	}
	for _, f := range look("--all", profiles).Findings[2:] {
		t.Errorf("told again: %+v", f)
	}
}
