package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/internal/hotspots/sketch"
	"github.com/beagle-go/beagle/internal/mcp"
)

const probedService = `
-- go.mod --
module example.com/svc

go 1.22
-- token --
0123456789abcdef0123456789abcdef
-- tags/tags.go --
// Package tags is what a service calls.
package tags

import "strings"

func Normalize(tag string) string { return strings.ToLower(strings.TrimSpace(tag)) }
-- main.go --
package main

import (
	"fmt"
	"time"

	"example.com/svc/tags"
)

func main() {
	for i := 0; ; i++ {
		tags.Normalize(fmt.Sprint(" Planted:", i%300))
		time.Sleep(50 * time.Microsecond)
	}
}
`

const probedProfile = `seconds 10
100 example.com/svc/tags.Normalize@/src/svc/tags/tags.go:6 main.main@/src/svc/main.go:12 runtime.main@/go/p.go:1
900 runtime.findRunnable@/go/p.go:9
`

// probed starts a service with a probe, and returns the directory of its module.
func probed(t *testing.T, s *served) {
	t.Helper()
	for _, f := range txtar.Parse([]byte(probedService)).Files {
		path := filepath.Join(s.dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made, err := sketch.Parse(probedProfile)
	if err != nil {
		t.Fatal(err)
	}
	data, err := made.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "cpu.pprof"), data, 0o644); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("beagle", "build", "--probe", "./tags.Normalize", "-o", "svc", ".")
	build.Dir, build.Env = s.dir, s.env
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	service := exec.Command(filepath.Join(s.dir, "svc"))
	service.Dir = s.dir
	service.Env = append(s.env, "BEAGLE_PROBE_TOKEN="+filepath.Join(s.dir, "token"),
		"BEAGLE_PROBE_SOCKET="+filepath.Join(s.dir, "s"))
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { service.Process.Kill(); service.Wait() })
	for range 1200 {
		if _, err := os.Stat(filepath.Join(s.dir, "s")); err == nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the service opens no socket")
}

// TestMCPProduction plays an agent's session with a running service: it lists its probes, asks,
// captures, makes a benchmark of what it captured, and ranks by money.
func TestMCPProduction(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a service")
	}
	t.Parallel()
	dir, err := os.MkdirTemp("", "mcp") // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &served{dir: filepath.Join(dir, "m"), home: filepath.Join(dir, "h")}
	s.env = append(os.Environ(), "BEAGLE_HOME="+s.home, "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod",
		"XDG_CONFIG_HOME="+s.home, briefVariable+"=1")
	if err := shareArchives(s.home); err != nil {
		t.Fatal(err)
	}
	probed(t, s)
	c := connect(t, &sdk.CommandTransport{Command: s.command("--at", filepath.Join(s.dir, "s"), "--token",
		filepath.Join(s.dir, "token"), "--source", filepath.Join(s.dir, "cpu.pprof"))})
	call := func(tool string, args map[string]any) (mcp.Printed, string, bool) {
		t.Helper()
		var p mcp.Printed
		text, failed := c.call(t.Context(), tool, args, &p)
		return p, text, failed
	}
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"capture_status", "capture_start", "capture_ask", "capture_pull", "capture_stop",
		"hotspots", "bench"} {
		if !slices.ContainsFunc(tools.Tools, func(x *sdk.Tool) bool { return x.Name == want }) {
			t.Errorf("there is no tool %s", want)
		}
	}

	_, text, failed := call("capture_status", nil)
	if failed || !strings.Contains(text, "example.com/svc/tags.Normalize") {
		t.Errorf("status: %v %s", failed, text)
	}
	p, text, failed := call("capture_ask",
		map[string]any{"target": "tags.Normalize", "condition": "len(tag) > 5", "seconds": 300, "samples": 50})
	asked, _ := p.Output.(map[string]any)
	if failed || asked["yes"] == nil || asked["yes"].(float64) == 0 || asked["no"].(float64) != 0 {
		t.Errorf("ask: %v %s", failed, text)
	}
	p, text, failed = call("capture_start", map[string]any{"target": "./tags.Normalize", "seconds": 300,
		"samples": 1000, "rate": 500})
	if failed || p.Status != 0 || filepath.Dir(p.File) != filepath.Join(s.home, "captures") {
		t.Fatalf("start: %v %+v %s", failed, p, text)
	}
	corpus := p.Output.(map[string]any)
	if n, ok := corpus["train"].(float64); !ok || n < 20 {
		t.Errorf("the corpus has %v records to search with", corpus["train"])
	}
	if strings.Contains(text, "Planted") || strings.Contains(text, `"top"`) {
		t.Errorf("the answer holds captured values: %s", text)
	}
	kept, err := os.ReadFile(p.File)
	if err != nil || len(kept) == 0 || strings.Contains(string(kept), "Planted") {
		t.Errorf("the calls that are kept: %v, %d bytes", err, len(kept))
	}
	file := p.File
	p, text, failed = call("bench", map[string]any{"target": "./tags.Normalize", "inputs": file})
	made, err := os.ReadFile(p.File)
	if failed || err != nil || p.Text != "" || !strings.Contains(string(made), "func BenchmarkNormalize") {
		t.Errorf("bench: %v %v %s", failed, err, text)
	}
	if files, _ := filepath.Glob(filepath.Join(s.dir, "tags", "*")); len(files) != 1 {
		t.Errorf("the checkout was changed: %v", files)
	}
	for _, args := range []map[string]any{{}, {"profile": "cpu.pprof"}} {
		_, text, failed := call("hotspots", args)
		if failed || !strings.Contains(text, `"target":"example.com/svc/tags.Normalize"`) {
			t.Errorf("hotspots of %v: %v %s", args, failed, text)
		}
	}
	// Calls of another controller's capture wait in the process.
	other := exec.Command("beagle", "capture", "start", "--at", filepath.Join(s.dir, "s"), "--token",
		filepath.Join(s.dir, "token"), "--for", "10m", "--rate", "500", "tags.Normalize")
	other.Env = s.env
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	for tries := 0; ; tries++ {
		p, text, failed = call("capture_pull", map[string]any{"target": "./tags.Normalize"})
		if !failed && strings.Contains(text, `"train"`) || tries == 600 { // generous: the machine is shared
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if failed || filepath.Dir(p.File) != filepath.Join(s.home, "captures") {
		t.Errorf("pull: %v %s", failed, text)
	}
	if _, text, failed := call("capture_stop", nil); failed || !strings.Contains(text, "disarmed") {
		t.Errorf("stop: %v %s", failed, text)
	}
	t.Run("refused", func(t *testing.T) { testRefusedProduction(t, c) })
}

// testRefusedProduction checks that no argument reaches what the server's flags do not name.
func testRefusedProduction(t *testing.T, c *client) {
	for _, x := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"capture_ask", map[string]any{"target": "--at=/run/other", "condition": "true"}, "begins with a dash"},
		{"capture_ask", map[string]any{"target": "tags.Normalize", "condition": "-1 < 0"}, "begins with a dash"},
		{"capture_ask", map[string]any{"target": "tags.Normalize", "condition": "tag > 5"}, "have no order"},
		{"capture_start", map[string]any{"target": "./tags.Nothing"}, "Nothing"},
		{"capture_pull", map[string]any{"target": "--raw"}, "begins with a dash"},
		{"bench", map[string]any{"target": "./tags.Normalize", "inputs": "/etc/hostname"}, "not captured calls"},
		{"bench", map[string]any{"target": "-o=/tmp/x"}, "begins with a dash"},
		{"hotspots", map[string]any{"profile": "../../etc/hostname"}, "escapes"},
		{"hotspots", map[string]any{"profile": "http://localhost:1"}, "no such file"},
	} {
		if text, failed := c.call(t.Context(), x.tool, x.args, nil); !failed || !strings.Contains(text, x.want) {
			t.Errorf("%s %v: failed %v, %q lacks %q", x.tool, x.args, failed, text, x.want)
		}
	}
}
