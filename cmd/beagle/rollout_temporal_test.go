package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// TestRolloutTemporal has a workflow drive a rollout of a real service. The command that started it
// is killed, another stops it, and the first one, started again, tells how it ended.
func TestRolloutTemporal(t *testing.T) {
	server := os.Getenv("BEAGLE_DEVSERVER")
	if server == "" {
		t.Skip("BEAGLE_DEVSERVER names no Temporal server; internal/flow/temporal/ci.sh builds one")
	}
	dir, err := os.MkdirTemp("", "rollout") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a, err := txtar.ParseFile("testdata/service/rollout_live.txtar")
	if err != nil {
		t.Fatal(err)
	}
	unpack(t, dir, a.Files)
	address := temporalServer(t, server, dir)
	socket := filepath.Join(dir, "s")
	env := append(os.Environ(), "BEAGLE_HOME="+filepath.Join(dir, "home"), "GOWORK=off", "GOPROXY=off",
		"GOFLAGS=-mod=mod", "BEAGLE_PROBE_TOKEN="+filepath.Join(dir, "token"), "BEAGLE_PROBE_SOCKET="+socket,
		"CALM=1") // no version's time is judged
	command := func(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		c, out := exec.Command(name, args...), new(bytes.Buffer)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, env, out, out
		return c, out
	}
	begin := func(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		t.Helper()
		c, out := command(name, args...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		return c, out
	}
	build, out := command("beagle", "build", "--rollout", "v/faster.go", "./tags.Count", "-o", "good", ".")
	if build.Run() != nil {
		t.Fatal(out)
	}
	begin("./good")
	until(t, "the service", func() bool { _, err := os.Stat(socket); return err == nil })
	begin("beagle", "worker", "--temporal", address, "--queues", "rollout")

	start := []string{"rollout", "start", "--temporal", address, "--at", "s", "--no-shadow", "--id", "x", "--plan",
		"long.json", "--turns", "2", "--slice", "5ms", "tags.Count"}
	first, said := begin("beagle", start...)
	flight := func() *pilot.Flight {
		f, err := pilot.Load(filepath.Join(dir, "home", "rollouts", "x", "state.json"), "")
		if err != nil {
			return new(pilot.Flight)
		}
		return f
	}
	until(t, "the first block", func() bool {
		if first.ProcessState != nil {
			t.Fatal(said)
		}
		return flight().State.Blocks > 0
	})
	first.Process.Kill()
	first.Wait()
	blocks := flight().State.Blocks
	until(t, "a block without the command", func() bool { return flight().State.Blocks > blocks+3 })

	status := func() (r pilot.Report) {
		t.Helper()
		c, _ := command("beagle", "rollout", "status", "--json", "x")
		c.Stdout, c.Stderr = nil, nil
		out, _ := c.Output()
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return r
	}
	if r := status(); r.Phase != rollout.Ramping || !strings.Contains(r.Controller, "running") {
		t.Errorf("%+v", r)
	}
	if c, out := command("beagle", slices.DeleteFunc(slices.Clone(start), func(w string) bool {
		return w == "--temporal" || w == address
	})...); c.Run() == nil || !strings.Contains(out.String(), "a workflow on "+address+" drives rollout x") {
		t.Errorf("without the server: %s", out)
	}
	order := func() []byte {
		data, err := os.ReadFile(filepath.Join(dir, "home", "rollouts", "x", "order.json"))
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	was := order()
	other, said := begin("beagle",
		append([]string{"rollout", "start", "--slice", "9ms", "--cores", "3"}, start[2:]...)...)
	until(t, "a note on other flags", func() bool { return strings.Contains(said.String(), "change nothing") })
	other.Process.Kill()
	other.Wait()
	if text := said.String(); !strings.Contains(text, "--cores") || !bytes.Equal(was, order()) {
		t.Errorf("other flags: %s", text)
	}
	if c, out := command("beagle", "rollout", "stop", "x"); c.Run() != nil ||
		strings.Contains(out.String(), "warning") {
		t.Errorf("stop: %s", out)
	}
	c, out := command("beagle", start...)
	_ = c.Run()
	if c.ProcessState.ExitCode() != exitNo || !strings.Contains(out.String(), "a person stopped it") {
		t.Errorf("status %d: %s", c.ProcessState.ExitCode(), out)
	}
	until(t, "the end of the workflow", func() bool { return strings.Contains(status().Controller, "completed") })
}
