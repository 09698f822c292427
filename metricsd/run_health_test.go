package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/config"
)

func TestHealth(t *testing.T) {
	well := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !well || r.URL.Path != "/healthz" {
			http.Error(w, "stopping", http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	if code, out, err := metricsd("", "health", address, address); code != 0 || out+err != "" {
		t.Errorf("%d %s %s", code, out, err)
	}
	well = false
	for what, args := range map[string][]string{
		"503": {address}, "refused": {freePort(t, "tcp")},
	} {
		if code, _, err := metricsd("", append([]string{"health"}, args...)...); code != 1 ||
			!strings.Contains(err, what) {
			t.Errorf("%d %s; want %s", code, err, what)
		}
	}
}

// TestHealthOfWhatRunsHere starts each service at other addresses than the default, given by flags,
// the environment and a file, and asks for health without an address. It asks what is served, and
// nothing else. It runs a copy of this program, of which there are no other processes.
func TestHealthOfWhatRunsHere(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows processes in /proc")
	}
	binary := copyOfSelf(t)
	run := func(environ []string, args ...string) *exec.Cmd {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(append(os.Environ(), "TEST_AS_METRICSD=1"), environ...)
		return cmd
	}
	health := func() string {
		text, err := run(nil, "health", "-within=1s").CombinedOutput()
		if err != nil {
			return err.Error() + ": " + string(text)
		}
		return string(text)
	}
	if said := health(); !strings.Contains(said, "runs here") {
		t.Errorf("while nothing runs: %s", said)
	}
	agent, intake, dir := freePort(t, "tcp"), freePort(t, "tcp"), t.TempDir()
	file := filepath.Join(dir, "metricsd.yaml")
	text := "intake: {http: '" + intake + "', queue: {dir: " + dir + "/queue}, index: {dir: " + dir + "/index}}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(agent, ":")
	for what, cmd := range map[string]*exec.Cmd{
		"agent":        run(nil, "agent", "-listen.udp=", "-listen.unixgram="+dir+"/a", "-http=0.0.0.0:"+port),
		"no page":      run(nil, "agent", "-listen.udp=", "-listen.unixgram="+dir+"/b", "-http="),
		"a file":       run(nil, "intake", "-config="+file),
		"environment":  run([]string{"METRICSD_HTTP=" + agent, "METRICSD_CONFIG=" + file}, "all", "-listen.udp=127.0.0.1:0"),
		"IPv4 and six": run(nil, "agent", "-listen.udp=", "-listen.unixgram="+dir+"/c", "-http=:"+port),
	} {
		t.Run(what, func(t *testing.T) {
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
			said := ""
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
				if said = health(); said == "" {
					break
				}
			}
			if said != "" {
				t.Fatalf("it is not well: %s", said)
			}
			if what == "no page" {
				return
			}
			cmd.Process.Signal(syscall.SIGSTOP)
			if said := health(); said == "" {
				t.Error("a process that stands is well")
			}
		})
	}
}

// copyOfSelf copies this program under another name.
func copyOfSelf(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "metricsd")
	if err := os.WriteFile(name, text, 0o700); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestServed(t *testing.T) {
	c := config.Default()
	c.HTTP, c.Intake.HTTP = "[::]:1", "10.0.0.7:2"
	for verb, want := range map[string][]string{
		"agent": {"[::1]:1"}, "intake": {"10.0.0.7:2"}, "all": {"[::1]:1", "10.0.0.7:2"},
	} {
		if got := verbAddresses(verb, c); !slices.Equal(got, want) {
			t.Errorf("%s is asked at %q, want %q", verb, got, want)
		}
	}
}
