package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/tail"
)

// leastAlike is the goal for the benchmark of one function of metricsd.
const leastAlike = 0.98

// alikeTarget is the function whose benchmark is compared with the service. It is not inlined, and
// its calls can be captured.
const alikeTarget = "./dogstatsd.Split"

// campaigns profiles metricsd under load, writes the benchmark of one of its functions, and runs a
// small campaign over its hot spots.
func campaigns(ctx context.Context, l *lab) (*section, error) {
	seconds, candidates := 300, 24
	if l.quick {
		seconds, candidates = 20, 6
	}
	calls := filepath.Join(l.dir, "calls.jsonl")
	if err := l.record(ctx, calls); err != nil {
		return nil, err
	}
	svc, err := l.startService(ctx)
	if err != nil {
		return nil, err
	}
	profile := filepath.Join(l.dir, "production.pprof")
	err = download(ctx, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", svc.address, seconds), profile)
	svc.stop() // it would compete with the next steps for the processor
	if err != nil {
		return nil, err
	}
	checkout := filepath.Join(l.root, "metricsd")
	var made beagle.ProductionBenchmark
	if err := l.call(ctx, l.home("campaign"), &made, "bench", "--json", "--quiet", "-C", checkout, "--corpus",
		calls, "--profile", profile,
		"--pgo", filepath.Join(checkout, "default.pgo"), "--seconds", "10", "-o", filepath.Join(l.dir, "made_test.go"),
		alikeTarget); err != nil {
		return nil, err
	}
	var c beagle.Campaign
	if err := l.call(ctx, l.home("campaign"), &c, "campaign", "--json", "--quiet", "-C", checkout, "--targets", "3",
		"--candidates", strconv.Itoa(candidates), "--processor", "30m", profile); err != nil {
		return nil, err
	}
	s := &section{text: alikeText(&made) + "\n" + campaignText(&c)}
	if worst := min(made.Fit.Callees.Estimate, made.Fit.Lines.Estimate); worst < leastAlike {
		s.miss("the benchmark of %s is %.1f %% alike to production", alikeTarget, 100*worst)
	}
	return s, nil
}

// record captures calls of the function in a metricsd that beagle build made.
func (l *lab) record(ctx context.Context, file string) error {
	// Build metricsd with a probe.
	program, socket := filepath.Join(l.dir, "metricsd-probe"), filepath.Join(l.dir, "probe.sock")
	token := filepath.Join(l.dir, "token")
	if err := os.WriteFile(token, []byte(rand.Text()), 0o600); err != nil {
		return err
	}
	build := l.command(ctx, l.home("campaign"), "build", "--probe", alikeTarget, "-o", program, ".")
	build.Dir = filepath.Join(l.root, "metricsd")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("beagle build: %w\n%s", err, tail.Of(out))
	}
	// Start its agent, and wait for its socket.
	inputs := filepath.Join(l.dir, "probed.sock")
	agent := exec.CommandContext(ctx, program, "agent", "-http=", "-listen.udp=", "-listen.unixgram", inputs)
	agent.Env = append(os.Environ(), "BEAGLE_PROBE_SOCKET="+socket, "BEAGLE_PROBE_TOKEN="+token, "BEAGLE_PROBE_RAW=1")
	agent.Dir, agent.Stderr = l.dir, os.Stderr
	if err := agent.Start(); err != nil {
		return err
	}
	defer func() { agent.Process.Signal(syscall.SIGTERM); agent.Wait() }()
	for range 100 {
		if _, err := os.Stat(inputs); err == nil {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	// Send traffic to it.
	traffic := exec.CommandContext(ctx, program, "load", "-shape", "narrow", "-network", "unixgram", "-address", inputs,
		"-for", "1h")
	if err := traffic.Start(); err != nil {
		return err
	}
	defer func() { traffic.Process.Kill(); traffic.Wait() }()
	// Capture calls.
	capture := l.command(ctx, l.home("campaign"), "capture", "start", "--at", socket, "--token", token, "--for", "30s",
		"--rate", "100", "--raw", "--follow", "--call-bytes", "8192", "--out", file, "-C",
		filepath.Join(l.root, "metricsd"), alikeTarget)
	if out, err := capture.CombinedOutput(); err != nil {
		return fmt.Errorf("beagle capture: %w\n%s", err, tail.Of(out))
	}
	return nil
}

func download(ctx context.Context, address, file string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}

func alikeText(m *beagle.ProductionBenchmark) string {
	row := func(by string, s beagle.Similarity) string {
		return fmt.Sprintf("| %s | %.1f %% | %.1f to %.1f %% | %.1f %% | %.0f | %.0f |\n", by,
			100*s.Estimate, 100*s.Low,
			100*s.High, 100*s.Plain, s.Samples, s.BenchSamples)
	}
	return fmt.Sprintf("`%s`, %.1f %% of the service's time, %s\n\n"+
		"| alike by | estimate | 95 %% | as counted | samples, service | samples, benchmark |\n"+
		"|---|---|---|---|---|---|\n%s%s",
		alikeTarget, 100*m.Fit.Share, m.Rule, row("callee", m.Fit.Callees), row("line", m.Fit.Lines))
}

func campaignText(c *beagle.Campaign) string {
	var b strings.Builder
	fmt.Fprintf(&b,
		"A campaign over %d functions, %.0f s of processor time, predicts that the service saves %.2f %% of its "+
			"processor time (95 %%: %.2f to %.2f).\n\n| function | taken up | outcome | faster by | saves |\n"+
			"|---|---|---|---|---|\n",
		len(c.Targets), c.Spent.ProcessorSeconds, 100*c.Saving.Share, 100*c.Saving.Low, 100*c.Saving.High)
	for _, t := range c.Targets {
		faster, saves := "", ""
		if t.Ratio != nil {
			faster = t.Ratio.Spelled()
		}
		if t.Saving != nil {
			saves = fmt.Sprintf("%.2f %%", 100*t.Saving.Share)
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", strings.TrimPrefix(t.Target, c.Module+"/"), t.Why,
			t.State, faster,
			saves)
	}
	return b.String()
}
