package main

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// chain is all steps. Each rests on the results of those before it.
var chain = []step{
	{"build", "build Beagle and metricsd", "Both programs, from this checkout. metricsd is built without its profile " +
		"for the compiler (-pgo=off), in all versions.", buildStep},
	{"hotspots", "rank hot spots by money", "beagle hotspots reads the CPU and allocation profiles of the running " +
		"service, under load, and ranks its functions by their cost a year. Functions without an entry come first if " +
		"their search reaches several entries.", hotspotsStep},
	{"capture", "capture real calls", "beagle build puts a probe into the costliest functions, by an overlay. " +
		"beagle capture records calls of the running process.", captureStep},
	{"campaign", "search for faster versions", "beagle campaign searches the hot spots within its budget, with the " +
		"captured calls where there are any, otherwise in the package's own tests and benchmarks. A caller comes " +
		"before its callees of the same package. Rewrites only, no model. Every winner passes the package's own tests.",
		campaignStep},
	{"rollout", "shadow and roll out each winner", "beagle rollout shadow replays the captured calls with both " +
		"versions. beagle rollout start then lets original, candidate and placebo take turns in a process under " +
		"load, and ships only a version that is better beyond doubt.", rolloutStep},
	{"measure", "measure the service before and after", "Whole programs: with all promoted changes, and without, in " +
		"several link layouts each. They take turns at the same load. The old program runs twice (A/A): their " +
		"difference is not an effect.", measureStep},
	{"ledger", "enter the result", "beagle ledger puts the predicted saving beside the proven one.", ledgerStep},
}

type built struct {
	Go, Commit, Machine string
	Processors          int
}

// buildStep builds Beagle and the service, and notes the toolchain and the sources. The token is
// the demo's own: its services accept no other.
func buildStep(ctx context.Context, d *demo, w *work) (any, error) {
	token := make([]byte, 24)
	if _, err := rand.Read(token); err != nil {
		return nil, err
	}
	if err := os.WriteFile(d.token(), []byte(base64.StdEncoding.EncodeToString(token)), 0o600); err != nil {
		return nil, err
	}
	if _, err := w.must(ctx, "beagle", d.root, "go", "build", "-ldflags=-s -w", "-o", d.bin(""),
		"./cmd/beagle", "./cmd/beagle-flame"); err != nil {
		return nil, err
	}
	if _, err := w.must(ctx, "metricsd", d.module, "go", "build", "-pgo=off", "-o", d.bin("metricsd"),
		"."); err != nil {
		return nil, err
	}
	// A source tree without git is fine, too.
	commit, status, err := w.program(ctx, "commit", d.root, "git", "describe", "--always", "--dirty")
	if err != nil || status != 0 {
		commit = []byte("no git")
	}
	return built{runtime.Version(), strings.TrimSpace(string(commit)), processorName(), runtime.NumCPU()}, ctx.Err()
}

// processorName names the processor, since no figure holds for another one.
func processorName() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// A spots is the part of 'beagle hotspots --json' that the demo reads.
type spots struct {
	Cores    float64 `json:"cores"`
	Hotspots []spot  `json:"hotspots"`
}

type spot struct {
	Target   string  `json:"target"`
	Net      float64 `json:"net"`
	NetLow   float64 `json:"net_low"`
	NetHigh  float64 `json:"net_high"`
	Cum      float64 `json:"cum"`
	CostYear float64 `json:"cost_year"`
}

// hotspotsStep profiles the service under load. It writes the profiles once, with the flame graph,
// and reads them again for the numbers, so that page and graph show the same profile.
func hotspotsStep(ctx context.Context, d *demo, w *work) (any, error) {
	s, err := w.serve(ctx, d.bin("metricsd"), "profiled")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := s.keepBusy(ctx, d.bin("metricsd")); err != nil {
		return nil, err
	}
	if err := pause(ctx, 2*time.Second); err != nil { // until all contexts are known
		return nil, err
	}
	if err := os.RemoveAll(w.file("profiles")); err != nil {
		return nil, err
	}
	_, err = w.must(ctx, "hotspots", d.module, d.bin("beagle"), "hotspots", "--price", "aws/c7g",
		"--seconds", fmt.Sprint(d.set.Profile), "--save", w.file("profiles"), "--html", w.file("flame.html"),
		"http://"+s.http)
	if err != nil {
		return nil, err
	}
	// The campaign takes up heads, too. Their calls are captured like those of the costliest
	// functions.
	out, err := w.must(ctx, "json", d.module, d.bin("beagle"), "hotspots", "--json", "--quiet", "--price", "aws/c7g",
		"--heads", "--across", w.file("profiles"))
	if err != nil {
		return nil, err
	}
	var found spots
	return &found, json.Unmarshal(out, &found)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// A captured is the record of a function's calls.
type captured struct {
	Target string
	File   string // of the calls, relative to the results; empty without any
	Says   string // the command's own words
}

// captureStep records calls of the hottest functions. The campaign replays them.
func captureStep(ctx context.Context, d *demo, w *work) (any, error) {
	found, err := resultOf[spots](d, "hotspots")
	if err != nil {
		return nil, err
	}
	var sites []string
	var all []captured
	// Put all sites into one program: building and loading one for each would take most of the
	// time.
	for _, h := range found.Hotspots[:min(len(found.Hotspots), d.set.Spots)] {
		sites = append(sites, h.Target)
	}
	_, err = w.must(ctx, "build", d.module, d.bin("beagle"), "build", "--skip-refused",
		"--probe", strings.Join(sites, ","), "-o", d.bin("probed"), ".")
	if err != nil {
		return nil, err
	}
	// The build's log has the reason for each function that cannot be probed; the page shows it in
	// place of calls.
	refused := refusals(w.file("build.log"))
	s, err := w.serve(ctx, d.bin("probed"), "probed")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	if err := s.keepBusy(ctx, d.bin("metricsd")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(w.file("calls"), 0o755); err != nil {
		return nil, err
	}
	for _, target := range sites {
		if why, ok := refused[target]; ok {
			all = append(all, captured{Target: target, Says: why})
			continue
		}
		c, err := w.record(ctx, s, target)
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// record captures calls of one function.
func (w *work) record(ctx context.Context, s *service, target string) (captured, error) {
	short := path.Base(target)
	file := w.file(filepath.Join("calls", short+".jsonl"))
	out, status, err := w.beagle(ctx, "capture-"+short, "capture", "start", "--at", s.probe, "--for",
		fmt.Sprintf("%ds", w.set.Capture), "--rate", "200", "--raw", "--follow", "--call-bytes", "65536",
		"--elements", "512",
		"--bytes", "4000000", "--out", file, target)
	c := captured{Target: target, Says: w.shortenNames(strings.TrimSpace(string(out)))}
	if err != nil {
		return c, err
	}
	// A function without calls is no failure: the page says why there are none.
	if status != 0 {
		c.Says = w.shortenNames(complaint(w.file("capture-" + short + ".log")))
	} else if _, err := os.Stat(file); err == nil {
		c.File = w.relative(w.out, file)
	}
	return c, nil
}

// complaint returns the last words of a beagle command.
func complaint(file string) string {
	data, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	_, said, ok := strings.Cut(string(data), "beagle capture: ")
	if !ok {
		return lastLines(file, 1)
	}
	return strings.Join(strings.Fields(said), " ")
}

// shortenNames shortens the names of files to those that the page knows.
func (w *work) shortenNames(text string) string { return strings.ReplaceAll(text, w.out+"/", "") }

// refusals reads which functions a build could not instrument, and why.
func refusals(log string) map[string]string {
	out := map[string]string{}
	data, _ := os.ReadFile(log) // the command just wrote it
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "left out "); ok {
			target, why, _ := strings.Cut(rest, ": ")
			out[target] = why
		}
	}
	return out
}

// A campaignResult is the part of 'beagle campaign --json' that the demo reads.
type campaignResult struct {
	ID      string   `json:"id"`
	State   string   `json:"state"`
	Spent   cost     `json:"spent"`
	Targets []target `json:"targets"`
	Saving  saving   `json:"saving"`
	Notes   []string `json:"notes"`
}

type cost struct {
	Processor float64 `json:"processor_seconds"`
}

type target struct {
	Target  string `json:"target"`
	State   string `json:"state"`
	InPlace bool   `json:"in_place"` // it was judged in its package's tests and benchmarks
	Report  bool   `json:"report"`   // its search came to a report

	Why    string  `json:"why"`
	Reason string  `json:"reason"`
	Inputs string  `json:"inputs"`
	Run    string  `json:"run"`
	Net    float64 `json:"net"`
	Ratio  *struct{ Point, Low, High float64 }
	Saving *saving `json:"saving"`
	Tests  string  `json:"tests"`
}

// A saving is a share of the service's processor time.
type saving struct {
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// leastCampaign is the least time of a campaign, even when no time is left: without a search the
// demo ends.
const leastCampaign = 2 * time.Minute

// campaignStep searches for faster versions until its share of the time ends. It resumes an
// interrupted attempt.
func campaignStep(ctx context.Context, d *demo, w *work) (any, error) {
	last := d.deadline(campaignShare)
	if soon := time.Now().Add(leastCampaign); last.Before(soon) {
		last = soon // the machine is slow, or the demo was stopped and goes on
	}
	args := []string{"campaign", "--json", "--heads", "--across", "--fastest", "--targets", fmt.Sprint(d.set.Targets),
		"--candidates", fmt.Sprint(d.set.Each), "--measure", d.set.Measure, "--fuzz", d.set.Fuzz}
	if d.set.Rules != "" {
		args = append(args, "--rules", d.set.Rules)
	}
	if id := d.begunCampaign(w); id != "" {
		args = append(args, "--processor", d.set.Processor, "--resume", id)
	} else {
		args = append(args, "--processor", processorUntil(time.Until(last), d.set.Processor), "--price", "aws/c7g",
			"--inputs", filepath.Join(d.out, "3-capture", "calls"), filepath.Join(d.out, "2-hotspots", "profiles"))
	}
	bounded, end := context.WithDeadline(ctx, last)
	defer end()
	out, status, err := w.beagle(bounded, "campaign", args...)
	if err != nil {
		return nil, err
	}
	// A campaign that the deadline ends still prints its results; it has failed only without them.
	var r campaignResult
	if err := json.Unmarshal(out, &r); err != nil {
		return nil, fmt.Errorf("campaign: status %d: %s", status, lastLines(w.file("campaign.log"), 3))
	}
	for i := range r.Targets {
		if r.Targets[i].Run == "" {
			continue
		}
		if err := d.keepReport(w, &r.Targets[i]); err != nil {
			return nil, err
		}
	}
	return &r, nil
}

// processorUntil returns the processor time of a campaign that has this time left, and at most the
// given one. A campaign shares its processor time out among its targets. If it had more than it can
// use, the first slow search would take the time of the others.
func processorUntil(left time.Duration, most string) string {
	if d, err := time.ParseDuration(most); err == nil && d <= left {
		return most
	}
	return left.Round(time.Second).String()
}

// keepReport copies a search's report, so that the page can link it.
func (d *demo) keepReport(w *work, t *target) error {
	var result struct {
		InPlace *struct{} `json:"in_place"`
	}
	// It is known before the search whether a target is judged in its own tests.
	if readJSON(filepath.Join(d.home(), "runs", t.Run, "prepared.json"), &result) == nil {
		t.InPlace = result.InPlace != nil
	}
	for _, name := range []string{"report.html", "patch.diff"} {
		data, err := os.ReadFile(filepath.Join(d.home(), "runs", t.Run, name))
		if err != nil {
			continue // no patch, or the budget ended within the search
		}
		if err := os.WriteFile(w.file(path.Base(t.Target)+"."+name), data, 0o644); err != nil {
			return err
		}
		t.Report = t.Report || name == "report.html"
	}
	return nil
}

// begunCampaign returns the campaign of an interrupted attempt at this step, or "".
func (d *demo) begunCampaign(w *work) string {
	start, err := os.Stat(w.file("key"))
	if err != nil {
		return ""
	}
	files, _ := filepath.Glob(filepath.Join(d.home(), "campaigns", "*.json")) // the pattern is well formed
	slices.Reverse(files)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil && info.ModTime().After(start.ModTime()) {
			return strings.TrimSuffix(filepath.Base(f), ".json")
		}
	}
	return ""
}
