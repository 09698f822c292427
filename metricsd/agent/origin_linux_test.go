package agent

import (
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/tagger"
)

// TestOriginOnUnixSockets sends over real sockets. The kernel names the process, and the test makes
// up its entry in /proc, since it may run in no container.
func TestOriginOnUnixSockets(t *testing.T) { inShapes(t, testOriginOnUnixSockets) }

func testOriginOnUnixSockets(t *testing.T, c config.Config) {
	proc, id := t.TempDir(), strings.Repeat("0123456789abcdef", 4)
	self := filepath.Join(proc, fmt.Sprint(os.Getpid()))
	if err := os.Mkdir(self, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(self, "cgroup"), []byte("0::/docker/"+id+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.Tagger = config.Tagger{Credentials: true, Cardinality: "low", Entities: map[string]config.Entity{
		id:       {Low: []string{"env:prod"}, High: []string{"task:7"}},
		"c0ffee": {Low: []string{"env:test"}},
	}}
	a, err := New(c, slog.New(slog.DiscardHandler), &points{})
	if err != nil {
		t.Fatal(err)
	}
	a.containers = tagger.NewContainers(proc)
	defer runOpened(t, a)()
	gram, stream := dial(t, a, "unixgram"), dial(t, a, "unix")
	unbound, err := net.Dial("udp", a.Addresses()["udp"])
	if err != nil {
		t.Fatal(err)
	}
	defer unbound.Close()
	gram.Write([]byte("gram:1|c\nsaid:1|c|c:c0ffee\nhigh:1|c|card:high\nnone:1|c|card:none\n_sc|db|0"))
	for range 3 { // the kernel's room for credentials is offered anew for every batch
		gram.Write([]byte("again:1|c|#env:prod"))
	}
	stream.Write([]byte("\x0a\x00\x00\x00stream:1|c"))
	unbound.Write([]byte("far:1|c"))
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{
			`gram_total{env="prod"} 1`, `said_total{env="test"} 1`, `none_total 1`, `stream_total{env="prod"} 1`, `far_total 1`, `again_total{env="prod"} 3`,
			`high_total{container_id="` + id + `",env="prod",task="7"} 1`,
			`metricsd_origin_contexts{origin="` + id + `"} 5`, `metricsd_origin_contexts{origin="udp"} 1`,
		})
	})
	c.Tagger.Entities = map[string]config.Entity{id: {Low: []string{"env:stage"}}}
	if err := a.Reload(c); err != nil {
		t.Fatal(err)
	}
	gram.Write([]byte("later:1|c\nsaidlater:1|c|c:c0ffee"))
	waitFor(t, func() string {
		return missing(scrape(t, a), []string{`later_total{env="stage"} 1`, `saidlater_total 1`})
	})
	c.Tagger.Entities[id] = config.Entity{Low: []string{""}}
	if err := a.Reload(c); err == nil {
		t.Error("an empty tag was taken")
	}
	if checks := a.Checks.List(); len(checks) != 1 || fmt.Sprint(checks[0].Item.Tags) != "[env:prod]" {
		t.Errorf("the check is %+v", checks)
	}
}
