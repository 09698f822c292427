package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A receiver is another project's server. It takes what the agent shows and sends, and returns it
// for queries in PromQL.
type receiver struct {
	binary string   // to be found in PATH
	args   []string // DIR, ADDRESS and SCRAPE stand for the test's choices
	agent  []string // further flags of the agent
	// queries and their expected answers; hits, values and took stand for what was sent
	questions map[string]string
}

const scraped, written = `job="scraped"`, `job=""`

// byPrometheus returns the queries that both servers must answer, for one way of sending.
func byPrometheus(way string) map[string]string {
	return map[string]string{
		"sum(web_hits_total{" + way + "})":   "hits",
		"count(web_hits_total{" + way + "})": "contexts",
		"sum(web_took_sum{" + way + "})":     "took",
		"sum(web_took_count{" + way + "})":   "values",
	}
}

func merged(all ...map[string]string) map[string]string {
	m := map[string]string{}
	for _, one := range all {
		for k, v := range one {
			m[k] = v
		}
	}
	return m
}

var receivers = map[string]receiver{
	"Prometheus": {
		binary: "prometheus",
		args: []string{"--config.file=SCRAPE", "--storage.tsdb.path=DIR", "--web.listen-address=ADDRESS",
			"--web.enable-remote-write-receiver"},
		agent:     []string{"-remote_write.url=http://ADDRESS/api/v1/write", "-remote_write.queue=DIR"},
		questions: merged(byPrometheus(scraped), byPrometheus(written)),
	},
	"VictoriaMetrics": {
		binary: "victoria-metrics",
		args: []string{"-promscrape.config=SCRAPE", "-storageDataPath=DIR", "-httpListenAddr=ADDRESS",
			"-search.latencyOffset=0s"},
		agent:     []string{"-remote_write.url=http://ADDRESS/api/v1/write", "-remote_write.queue=DIR"},
		questions: merged(byPrometheus(scraped), byPrometheus(written)),
	},
	"VictoriaMetrics by Datadog's API": {
		binary: "victoria-metrics",
		args:   []string{"-storageDataPath=DIR", "-httpListenAddr=ADDRESS", "-search.latencyOffset=0s"},
		agent: []string{"-datadog.url=http://ADDRESS/datadog", "-datadog.queue=DIR", "-datadog.api=v1",
			"-datadog.events=false"},
		questions: map[string]string{ // newer versions turn dots into underscores
			`sum(sum_over_time({__name__=~"web.hits"}[1h]))`:       "hits",
			`sum(sum_over_time({__name__=~"web.took.sum"}[1h]))`:   "took",
			`sum(sum_over_time({__name__=~"web.took.count"}[1h]))`: "values",
		},
	},
}

// TestReceiversGiveBack sends to an agent that real servers scrape and receive from, and queries
// them: every sum must be exact.
func TestReceiversGiveBack(t *testing.T) {
	t.Parallel()
	for name, r := range receivers {
		t.Run(name, func(t *testing.T) {
			if testing.Short() {
				t.Skip("the agent sends every ten seconds")
			}
			t.Parallel()
			binary, err := exec.LookPath(r.binary)
			if err != nil {
				t.Skipf("%s is not installed (apt-get install %s): what it gives back is not tested", name, r.binary)
			}
			dir, address, web := t.TempDir(), freePort(t, "tcp"), freePort(t, "tcp")
			scrape := filepath.Join(dir, "scrape.yml")
			text := fmt.Sprintf("scrape_configs:\n- job_name: scraped\n  scrape_interval: 1s\n"+
				"  static_configs: [{targets: [%q]}]\n", web)
			if err := os.WriteFile(scrape, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			filled := func(args []string) (out []string) {
				for i, a := range args {
					own := filepath.Join(dir, strconv.Itoa(i)) // every argument has a directory of its own
					out = append(out, replace(a, "DIR", own, "ADDRESS", address, "SCRAPE", scrape))
				}
				return out
			}
			server := exec.Command(binary, filled(r.args)...)
			if err := server.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { server.Process.Kill(); server.Wait() })
			socket := filepath.Join(dir, "s")
			program(t,
				append([]string{"agent", "-listen.udp=", "-listen.unixgram=" + socket, "-http=" + web},
					filled(r.agent)...)...)
			want := sendKnown(t, socket)
			for question, sent := range r.questions {
				answered(t, address, question, want[sent])
			}
		})
	}
}

// sendKnown sends counts with a rate and distributions, and returns the sums to expect.
func sendKnown(t *testing.T, socket string) map[string]float64 {
	t.Helper()
	var conn net.Conn
	for deadline := time.Now().Add(patience); conn == nil; time.Sleep(20 * time.Millisecond) {
		var err error
		if conn, err = net.Dial("unixgram", socket); err != nil && time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	defer conn.Close()
	want := map[string]float64{"contexts": 97}
	for i := range 3000 {
		fmt.Fprintf(conn, "web.hits:%d|c|@0.5|#shard:%d\nweb.took:%d.25|d|#shard:%d", i, i%97, i, i%97)
		want["hits"] += float64(2 * i)
		want["took"] += float64(i) + 0.25
		want["values"]++
	}
	return want
}

func replace(s string, pairs ...string) string { return strings.NewReplacer(pairs...).Replace(s) }

// answered asks until the answer is the expected one.
func answered(t *testing.T, address, question string, want float64) {
	t.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get("http://" + address + "/api/v1/query?query=" + url.QueryEscape(question))
		if err != nil {
			last = err.Error()
			continue
		}
		var answer struct {
			Data struct {
				Result []struct{ Value [2]any }
			}
		}
		err = json.NewDecoder(resp.Body).Decode(&answer)
		resp.Body.Close()
		if err != nil || len(answer.Data.Result) != 1 {
			last = fmt.Sprint(answer, err)
			continue
		}
		if last = fmt.Sprint(answer.Data.Result[0].Value[1]); last == strconv.FormatFloat(want, 'f', -1, 64) {
			return
		}
	}
	t.Errorf("%s: %s, want %v", question, last, want)
}
