package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/porttest"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// TestCampaignTemporal kills the command and the worker of a campaign that is a workflow. It goes
// on with another worker and without a command. A command that follows it again sees the end, with
// the caller.
func TestCampaignTemporal(t *testing.T) {
	sampletest.Rarely(t, 3)
	t.Parallel()
	server := os.Getenv("BEAGLE_DEVSERVER")
	if server == "" {
		t.Skip("BEAGLE_DEVSERVER names no Temporal server; internal/flow/temporal/ci.sh builds one")
	}
	dir := t.TempDir()
	unpack(t, dir, campaignModule(t))
	address := temporalServer(t, server, dir)
	if err := shareArchives(filepath.Join(dir, "home")); err != nil {
		t.Fatal(err)
	}
	// In TMPDIR lies the lock of the one worker that measures on a machine.
	env := append(os.Environ(), "BEAGLE_HOME="+filepath.Join(dir, "home"), "TMPDIR="+t.TempDir(), "GOWORK=off",
		"GOPROXY=off", "GOFLAGS=-mod=mod", briefVariable+"=1")
	begin := func(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
		t.Helper()
		c, out := exec.Command(name, args...), new(bytes.Buffer)
		c.Dir, c.Env, c.Stdout, c.Stderr = dir, env, out, out
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill(); c.Wait() })
		return c, out
	}
	worker, _ := begin("beagle", "worker", "--temporal", address)

	common := []string{"campaign", "--temporal", address, "--candidates", "4", "--measure", "10s", "--fuzz", "0s",
		"--no-bench"}
	first, said := begin("beagle", slices.Concat(common, []string{"--targets", "1", "--least", "3", "prod.pprof"})...)
	var id string
	until(t, "the search", func() bool {
		runs, _ := filepath.Glob(filepath.Join(dir, "home", "runs", "*-*", "prepared.json"))
		found, _ := filepath.Glob(filepath.Join(dir, "home", "campaigns", "*.json"))
		if len(found) == 1 {
			id = strings.TrimSuffix(filepath.Base(found[0]), ".json")
		}
		return len(runs) == 1 && id != ""
	})
	for _, killed := range []*exec.Cmd{first, worker} {
		killed.Process.Kill()
		killed.Wait()
	}
	begin("beagle", "worker", "--temporal", address)
	until(t, "the end of the first target", func() bool {
		text, err := os.ReadFile(filepath.Join(dir, "home", "campaigns", id+".json"))
		var s struct{ Campaign beagle.Campaign }
		return err == nil && json.Unmarshal(text, &s) == nil && s.Campaign.Targets[0].State == beagle.CampaignImproved
	})

	alone := exec.Command("beagle", "campaign", "--resume", id)
	alone.Dir, alone.Env = dir, env
	if out, _ := alone.CombinedOutput(); !bytes.Contains(out, []byte("a workflow on "+address)) {
		t.Errorf("without the server: %s", out)
	}
	again := exec.Command("beagle", "campaign", "--temporal", address, "--resume", id, "--json")
	var told bytes.Buffer
	again.Dir, again.Env, again.Stderr = dir, env, &told
	out, err := again.Output()
	var c beagle.Campaign
	if err != nil || json.Unmarshal(out, &c) != nil {
		t.Fatalf("%v\n%s\n%s\n%s", err, out, told.String(), said)
	}
	if len(c.Targets) != 2 || c.Targets[0].State != beagle.CampaignImproved ||
		!strings.HasPrefix(c.Targets[0].Run, id+"-") ||
		c.Targets[1].State != beagle.CampaignRefused || c.State != "done" || c.Saving.Share <= 0 {
		t.Errorf("%s\n%s", out, told.String())
	}
}

// unpack writes the files of an archive, which may hold a token: others may not read them.
func unpack(t *testing.T, dir string, files []txtar.File) {
	t.Helper()
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// temporalServer starts a server, and returns its address when it serves.
func temporalServer(t *testing.T, program, dir string) string {
	t.Helper()
	const ip = "127.0.0.1"
	port, db := porttest.Free(t, ip), filepath.Join(dir, "temporal.db")
	porttest.ForTemporal(t, db)
	c := exec.Command(program, "-db", db, "-ip", ip, "-port", fmt.Sprint(port))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if strings.Contains(lines.Text(), "serving") {
			go io.Copy(io.Discard, out)
			return fmt.Sprintf("%s:%d", ip, port)
		}
	}
	t.Fatal("the server ends before it serves")
	return ""
}

// campaignModule returns the module of testdata/service/campaign.txtar, with its profile.
func campaignModule(t *testing.T) []txtar.File {
	t.Helper()
	a, err := txtar.ParseFile("testdata/service/campaign.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name != "prod.txt" {
			continue
		}
		made, err := sketch.Parse(string(f.Data))
		if err != nil {
			t.Fatal(err)
		}
		data, err := made.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		a.Files = append(a.Files, txtar.File{Name: "prod.pprof", Data: data})
		break
	}
	return withoutSettings(a.Files)
}

func withoutSettings(files []txtar.File) (out []txtar.File) {
	for _, f := range files {
		if !strings.HasSuffix(f.Name, ".yaml") {
			out = append(out, f)
		}
	}
	return out
}

// until waits for something that another process does.
func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for start := time.Now(); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Since(start) > 10*time.Minute {
			t.Fatalf("%s does not come", what)
		}
	}
}
