package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

const (
	monitoringToken = "the-operators-own-token"
	monitoringKey   = "4f1cd2c0a9b84b2a9d0a6c1f3e5b7d90"
)

// monitored are an agent that sends to an intake with customers and to a receiver of remote write,
// and a Prometheus that watches both with the files of deploy.
type monitored struct {
	t                       *testing.T
	agent, intake           string // where /metrics is
	udp, prometheus         string
	agentProcess, intakeRun *exec.Cmd
	refuses                 atomic.Bool  // the receiver of remote write
	engine                  *http.Server // Docker's, without containers
}

// TestMonitoring loads the alert rules into a real Prometheus and asks it every query of the
// dashboard: none is empty, and no alert fires. Then it breaks things, until the alerts for them
// fire. It shortens only the times in the rules, so that it need not wait for them.
func TestMonitoring(t *testing.T) {
	if testing.Short() {
		t.Skip("the agent sends every ten seconds")
	}
	binary, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("Prometheus is not installed (apt-get install prometheus): dashboard and alerts are not tested")
	}
	m := &monitored{t: t, agent: freePort(t, "tcp"), intake: freePort(t, "tcp"), udp: freePort(t, "udp")}
	m.start()
	rules := m.watch(binary)
	m.t.Cleanup(m.traffic())
	m.dashboard()
	m.quiet()
	m.namesExist(rules)

	m.breakThings()
	m.engine.Close()
	m.fires("MetricsdKernelDrops", "MetricsdDropsMetrics", "MetricsdMalformedLines", "MetricsdOutputLoses",
		"MetricsdIntakeRefuses", "MetricsdIntakeQueueFills", "MetricsdIntakeDenies", "MetricsdIntakeNamesFull",
		"MetricsdTaggerAway")
	m.intakeRun.Process.Kill()
	m.fires("MetricsdDown", "MetricsdOutputWaits")
}

// start starts the intake, the receiver and the agent. The intake writes no counts for an hour, so
// that its queue of a megabyte fills.
func (m *monitored) start() {
	dir := m.t.TempDir()
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("acme "+monitoringKey+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	m.intakeRun = program(m.t, "intake", "-intake.http", m.intake, "-intake.customers", keys,
		"-intake.token", monitoringToken, "-intake.customer_names=100", "-intake.flush=3600",
		"-intake.queue.bytes=1048576", "-intake.queue.dir", filepath.Join(dir, "queue"),
		"-intake.index.dir", filepath.Join(dir, "index"))
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		if m.refuses.Load() {
			http.Error(w, "no", http.StatusBadRequest)
		}
	}))
	m.t.Cleanup(receiver.Close)
	socket := filepath.Join(dir, "docker.sock")
	m.startEngine(socket)
	m.agentProcess = program(m.t, "agent", "-http", m.agent, "-listen.udp", m.udp, "-listen.receive_buffer=4096",
		"-limits.contexts=200", "-datadog.url", "http://"+m.intake, "-datadog.api_key", monitoringKey,
		"-datadog.queue", filepath.Join(dir, "out"), "-remote_write.url", receiver.URL,
		"-remote_write.queue", filepath.Join(dir, "written"), "-tagger.docker", socket)
	await(m.t, m.agent, "metricsd_contexts 0")
}

// startEngine answers like a Docker Engine that runs no container.
func (m *monitored) startEngine(socket string) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		m.t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.47") })
	mux.HandleFunc("/v1.47/containers/json", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "[]") })
	mux.HandleFunc("/v1.47/events", func(w http.ResponseWriter, r *http.Request) {
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	m.engine = &http.Server{Handler: mux}
	go m.engine.Serve(l)
	m.t.Cleanup(func() { m.engine.Close() })
}

var (
	pauses  = regexp.MustCompile(`for: \d+m`)
	windows = regexp.MustCompile(`\[\d+m\]`)
)

// watch starts a Prometheus with the files of deploy, with other addresses and times, and returns
// the rules.
func (m *monitored) watch(binary string) (rules string) {
	dir := m.t.TempDir()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("deploy", "prometheus", name))
		if err != nil {
			m.t.Fatal(err)
		}
		return string(text)
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			m.t.Fatal(err)
		}
		return path
	}
	rules = read("metricsd.rules.yml")
	write("metricsd.rules.yml", windows.ReplaceAllString(pauses.ReplaceAllString(rules, "for: 1s"), "[15s]"))
	config := write("prometheus.yml", replace(read("prometheus.yml"), "15s", "1s", "127.0.0.1:9125", m.agent,
		"127.0.0.1:9126", m.intake, "# authorization:", "authorization:",
		"/etc/metricsd/token", write("token", monitoringToken)))
	m.prometheus = freePort(m.t, "tcp")
	server := exec.Command(binary, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+m.prometheus)
	said := new(bytes.Buffer)
	server.Stderr = said
	if err := server.Start(); err != nil {
		m.t.Fatal(err)
	}
	m.t.Cleanup(func() {
		server.Process.Kill()
		server.Wait()
		if m.t.Failed() {
			m.t.Logf("Prometheus said:\n%s", said)
		}
	})
	return rules
}

// send sends datagrams to the agent.
func (m *monitored) send(lines ...string) {
	m.t.Helper()
	conn, err := net.Dial("udp", m.udp)
	if err != nil {
		m.t.Fatal(err)
	}
	defer conn.Close()
	for _, l := range lines {
		conn.Write([]byte(l))
	}
}

// traffic sends a little until it is stopped.
func (m *monitored) traffic() (stop func()) {
	ended, quit := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-time.After(100 * time.Millisecond):
				m.send(fmt.Sprintf("web.hits:1|c|#shard:%d", i%10))
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// get asks Prometheus, and repeats until the answer is accepted.
func (m *monitored) get(what, path string, v any, ok func() bool) {
	m.t.Helper()
	last := ""
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		resp, err := http.Get("http://" + m.prometheus + path)
		if err != nil {
			last = err.Error()
			continue
		}
		text, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		last = string(text)
		if resp.StatusCode == http.StatusBadRequest {
			break // an answer that cannot be parsed does not get better
		}
		if json.Unmarshal(text, v) == nil && ok() {
			return
		}
	}
	m.t.Errorf("%s: not as wanted: %s", what, last)
}

// dashboard asks every query of the dashboard: each has an answer of numbers.
func (m *monitored) dashboard() {
	text, err := os.ReadFile("deploy/grafana/metricsd.json")
	if err != nil {
		m.t.Fatal(err)
	}
	var d struct {
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &d); err != nil {
		m.t.Fatal(err)
	}
	asked := 0
	for _, p := range d.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			m.t.Errorf("%s asks nothing", p.Title)
		}
		for _, target := range p.Targets {
			asked++
			question := replace(target.Expr, "$job", ".*", "$instance", ".*", "$__rate_interval", "30s")
			var answer struct {
				Data struct {
					Result []struct {
						Metric map[string]string
						Value  [2]any
					}
				}
			}
			m.get(p.Title+": "+question, "/api/v1/query?query="+url.QueryEscape(question), &answer, func() bool {
				for _, r := range answer.Data.Result {
					n, err := strconv.ParseFloat(fmt.Sprint(r.Value[1]), 64)
					if err != nil || math.IsNaN(n) || math.IsInf(n, 0) || !legible(target.LegendFormat, r.Metric) {
						return false
					}
				}
				return len(answer.Data.Result) > 0
			})
		}
	}
	if asked < 20 {
		m.t.Errorf("the dashboard asks %d questions", asked)
	}
}

var legendLabel = regexp.MustCompile(`\{\{(\w+)\}\}`)

// legible reports whether an answer has the labels that its legend shows.
func legible(legend string, labels map[string]string) bool {
	for _, l := range legendLabel.FindAllStringSubmatch(legend, -1) {
		if labels[l[1]] == "" {
			return false
		}
	}
	return true
}

// alerts are the states of the alerts, by name.
type alerts struct {
	Data struct {
		Alerts []struct {
			State       string
			Labels      map[string]string
			Annotations map[string]string
		}
	}
}

// quiet waits until no alert fires: all is well.
func (m *monitored) quiet() {
	m.t.Helper()
	var a alerts
	m.get("alerts while all is well", "/api/v1/alerts", &a, func() bool { return len(a.Data.Alerts) == 0 })
}

// fires waits until each alert fires, or fired meanwhile, and checks the text of those that fire
// now.
func (m *monitored) fires(names ...string) {
	m.t.Helper()
	for _, name := range names {
		var answer struct{ Data struct{ Result []any } }
		question := fmt.Sprintf(`count_over_time(ALERTS{alertname=%q,alertstate="firing"}[10m])`, name)
		m.get(name, "/api/v1/query?query="+url.QueryEscape(question), &answer, func() bool {
			return len(answer.Data.Result) > 0
		})
	}
	var a alerts
	m.get("alerts", "/api/v1/alerts", &a, func() bool { return len(a.Data.Alerts) > 0 })
	for _, alert := range a.Data.Alerts {
		said := fmt.Sprint(alert.Annotations)
		if strings.Contains(said, "no value") || strings.Contains(said, "<error") ||
			alert.Annotations["description"] == "" {
			m.t.Errorf("%s says %q", alert.Labels["alertname"], said)
		}
	}
}

var metricName = regexp.MustCompile(`\bmetricsd_\w+`)

// namesExist checks that every metric of a rule exists: a rule on a missing one never fires.
func (m *monitored) namesExist(rules string) {
	var known struct{ Data []string }
	m.get("names", "/api/v1/label/__name__/values", &known, func() bool { return len(known.Data) > 0 })
	looked := metricName.FindAllString(rules, -1)
	for _, name := range looked {
		if !slices.Contains(known.Data, name) && !strings.HasSuffix(name, "_") {
			m.t.Errorf("a rule looks at %s, which is nowhere", name)
		}
	}
	if len(looked) < 20 {
		m.t.Errorf("the rules look at %d metrics", len(looked))
	}
}

// breakThings makes kernel and agent drop and the receiver refuse, and fills the intake's queue and
// its directory of names. It goes on until the test ends.
func (m *monitored) breakThings() {
	m.refuses.Store(true)
	quit := make(chan struct{})
	ended := make(chan struct{})
	m.t.Cleanup(func() { close(quit); <-ended })
	go func() {
		defer close(ended)
		for i := 0; ; i++ {
			select {
			case <-quit:
				return
			case <-time.After(time.Second):
			}
			m.agentProcess.Process.Signal(syscall.SIGSTOP)
			for j := range 300 { // more than the buffer holds
				m.send(fmt.Sprintf("flood.n%d:1|c|#round:%d\nbroken", j, i))
			}
			m.agentProcess.Process.Signal(syscall.SIGCONT)
			for j := range 20 {
				m.post(monitoringKey, fmt.Sprintf("flood.%d.%d", i, j))
			}
			m.post("99999999999999999999999999999999", "nobody.sees")
		}
	}()
}

// post posts a body with new names, which hardly compress.
func (m *monitored) post(key, name string) {
	var body bytes.Buffer
	body.WriteString(`{"series":[`)
	for i := range 100 {
		if i > 0 {
			body.WriteByte(',')
		}
		fmt.Fprintf(&body, `{"metric":"%s.%d","tags":["x:%x"],"points":[[1700000000,1]]}`, name, i,
			time.Now().UnixNano()*int64(i+1))
	}
	body.WriteString(`]}`)
	req, _ := http.NewRequest("POST", "http://"+m.intake+"/api/v1/series", &body)
	req.Header.Set("DD-API-KEY", key)
	if resp, err := http.DefaultClient.Do(req); err == nil {
		resp.Body.Close()
	}
}
