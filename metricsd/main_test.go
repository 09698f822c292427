package main

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/beagle-go/beagle/metricsd/freeport"
)

// metricsd runs a command line and returns what it wrote.
func metricsd(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, streams{strings.NewReader(stdin), &out, &err, nil})
	return code, out.String(), err.String()
}

func TestUsage(t *testing.T) {
	for _, args := range [][]string{nil, {"fly"}} {
		code, out, err := metricsd("", args...)
		if code != 2 || out != "" || !strings.Contains(err, "agent") || !strings.Contains(err, "parse") {
			t.Errorf("%v: %d %q %q", args, code, out, err)
		}
	}
	// Help is the answer, and no mistake.
	for says, args := range map[string][]string{
		"  parse ": {"help"}, "-packets": {"parse", "-h"}, "-listen.udp ": {"agent", "-h"}, "shapes:": {"load", "-h"},
		"ADDRESS": {"health", "-h"},
	} {
		if code, out, err := metricsd("", args...); code != 0 || err != "" || !strings.Contains(out, says) {
			t.Errorf("%v: %d %q %q", args, code, out, err)
		}
	}
	// A mistake gets one line.
	for says, args := range map[string][]string{
		"listen.upd":           {"agent", "-listen.upd=x"},
		`argument "steady"`:    {"load", "steady"},
		`argument "now"`:       {"agent", "now"},
		"metricsd parse -h":    {"parse", "-pakets"},
		"2 files":              {"parse", "a", "b"},
		`invalid value "soon"`: {"health", "-within", "soon"},
	} {
		if code, out, err := metricsd("", args...); code != 2 || out != "" || strings.Count(err, "\n") != 1 ||
			!strings.Contains(err, says) {
			t.Errorf("%v: %d %q %q", args, code, out, err)
		}
	}
}

func TestParse(t *testing.T) {
	code, out, err := metricsd("a:1|c|#<b>\nx:1\r\n\n_e{1,1}:a|b\n_sc|db|2\n", "parse")
	want := `{"line":1,"metric":{"name":"a","type":"count","values":[1],"rate":1,"tags":["<b>"]}}
{"line":2,"error":{"line":"x:1","offset":3,"problem":"no type","remedy":"add |c, |g, |s, |ms, |h or |d"}}
{"line":4,"event":{"title":"a","text":"b","priority":"normal","alert_type":"info"}}
{"line":5,"check":{"name":"db","status":2}}
`
	if code != 0 || out != want || err != "" {
		t.Errorf("%d %s %s\nwant %s", code, out, err, want)
	}
}

func TestParsePackets(t *testing.T) {
	var in []byte
	for _, packet := range []string{"a:1|c\nb:2|g", "", "_sc|db|0"} {
		in = append(binary.LittleEndian.AppendUint32(in, uint32(len(packet))), packet...)
	}
	name := filepath.Join(t.TempDir(), "packets")
	if err := os.WriteFile(name, in, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := metricsd("", "parse", "--packets", name)
	want := `{"packet":1,"line":1,"metric":{"name":"a","type":"count","values":[1],"rate":1}}
{"packet":1,"line":2,"metric":{"name":"b","type":"gauge","values":[2],"rate":1}}
{"packet":3,"line":1,"check":{"name":"db","status":0}}
`
	if code != 0 || out != want {
		t.Errorf("%d %s\nwant %s", code, out, want)
	}
	for what, in := range map[string]string{
		"ends within":       string(in[:8]),
		"length takes":      string(in[:2]),
		"is the input in p": "a:1|c\n",
	} {
		if code, _, err := metricsd(in, "parse", "--packets"); code != 1 || !strings.Contains(err, what) {
			t.Errorf("%q: %d %s, want %q", in, code, err, what)
		}
	}
}

func TestParseRefusesEndlessLines(t *testing.T) {
	code, _, err := metricsd(strings.Repeat("x", maxPacket+1), "parse")
	if code != 1 || !strings.Contains(err, "line 1 is longer") {
		t.Errorf("%d %s", code, err)
	}
}

// TestAgentRunsReloadsAndStops runs the command as an operator does: start, send, look, change a
// limit, stop. It must send the last points.
func TestAgentRunsReloadsAndStops(t *testing.T) {
	file := filepath.Join(t.TempDir(), "metricsd.yaml")
	write := func(contexts int, tag string) {
		os.WriteFile(file,
			fmt.Appendf(nil, "limits:\n  contexts: %d\ntagger:\n  entities:\n    c0ffee: {low: [%q]}\n", contexts, tag),
			0o600)
	}
	write(1, "env:old")
	udp, web := freePort(t, "udp"), freePort(t, "tcp")
	body := make(chan string, 1)
	api := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		select {
		case body <- string(b): // the first is enough
		default:
		}
	}))
	defer api.Close()
	done := make(chan int)
	var said lockedBuffer
	queue := t.TempDir()
	go func() {
		done <- run([]string{"agent", "-config", file, "-listen.udp", udp, "-http", web, "-datadog.url", api.URL,
			"-datadog.queue", queue, "-datadog.api=v1", "-datadog.compression=none"},
			streams{strings.NewReader(""), io.Discard, &said, nil})
	}()
	await(t, web, "metricsd_contexts 0")
	conn, err := net.Dial("udp", udp)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.Write([]byte("a:1|c|c:c0ffee\nb:1|c|c:c0ffee"))
	await(t, web, `a_total{env="old"} 1`, `metricsd_dropped_total{bound="contexts"} 1`)
	write(2, "env:new")
	syscall.Kill(os.Getpid(), syscall.SIGHUP)
	for range looks { // until the new limit holds
		conn.Write([]byte("b:1|c|c:c0ffee"))
		if strings.Contains(page(web), "\nb_total{env=\"new\"} ") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	await(t, web, "metricsd_contexts 2")
	write(3, "") // an empty tag is refused, and the limit beside it with it
	syscall.Kill(os.Getpid(), syscall.SIGHUP)
	for range looks {
		if strings.Contains(said.String(), "the old one holds") {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for range 10 {
		conn.Write([]byte("c:1|c"))
		if time.Sleep(20 * time.Millisecond); strings.Contains(page(web), "\nc_total ") {
			t.Error("the limit of a file that was refused holds")
		}
	}
	syscall.Kill(os.Getpid(), syscall.SIGTERM)
	if sent := <-body; !strings.Contains(sent, `{"metric":"a","points":[[`) {
		t.Errorf("the last points were not sent: %s", sent)
	}
	code := <-done
	if out := said.String(); code != 0 || !strings.Contains(out, "msg=stopped") ||
		!strings.Contains(out, "the old one holds") {
		t.Errorf("the agent ended with %d %s", code, out)
	}
}

// A lockedBuffer is written by a service and read by its test.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func freePort(t *testing.T, network string) string {
	t.Helper()
	address, err := freeport.Address(network)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func page(web string) string {
	answer, err := http.Get("http://" + web + "/metrics")
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return "\n" + string(body)
}

func await(t *testing.T, web string, lines ...string) {
	t.Helper()
	last := ""
	for range looks {
		last = page(web)
		found := 0
		for _, line := range lines {
			if strings.Contains(last, "\n"+line+"\n") {
				found++
			}
		}
		if found == len(lines) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("waited in vain for %q in\n%s", lines, last)
}

func TestLoad(t *testing.T) {
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for most := 50 * time.Millisecond; ; most *= 4 { // on a busy machine it may begin after its time
		code, out, stderr := metricsd("", "load", "-shape", "single", "-address", c.LocalAddr().String(),
			"-for", most.String(), "-rate", "100000")
		idle := strings.HasPrefix(out, "messages 0\n")
		if idle && most < time.Minute {
			continue
		}
		if code != 0 || !strings.Contains(out, "messages_per_second ") || idle {
			t.Errorf("%d %s %s", code, out, stderr)
		}
		break
	}
	if code, _, stderr := metricsd("", "load", "-shape", "round"); code != 1 || !strings.Contains(stderr, "steady") {
		t.Errorf("%d %s", code, stderr)
	}
}

// FuzzParseCommand gives `metricsd parse` any bytes, as lines and as packets: one JSON object for
// each line, and no line longer than the input.
func FuzzParseCommand(f *testing.F) {
	f.Add("a:1|c\nbroken\r\n\n_e{1,1}:a|b|#x\n_sc|db|0|m:y")
	f.Add("\x05\x00\x00\x00a:1|c\x00\x00\x00\x00\xff\xff\xff\xff")
	f.Fuzz(func(t *testing.T, in string) {
		for _, args := range [][]string{{"parse"}, {"parse", "--packets"}} {
			code, out, err := metricsd(in, args...)
			if code != 0 && err == "" {
				t.Errorf("%v fails and does not say why", args)
			}
			decoder := json.NewDecoder(strings.NewReader(out))
			for {
				var answer map[string]any
				if err := decoder.Decode(&answer); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%v: %v in %s", args, err, out)
				}
				delete(answer, "packet")
				if len(answer) != 2 || answer["line"] == nil {
					t.Errorf("%v: answer %v", args, answer)
				}
			}
		}
	})
}
