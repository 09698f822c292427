package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

//go:embed page.html
var pageText string

// A page is what the template shows. A part without a result yet is nil.
type page struct {
	Settings settings
	Steps    []shownStep
	Built    *built
	Spots    *spots
	Captured []captured
	Campaign *campaignResult
	Rolled   []rolled
	Measured *finalFigure
	Ledger   *entered
	Whole    bool // all steps have results
	Seconds  float64
}

// shownStep is a step with its commands.
type shownStep struct {
	Name, Title, What, Dir string
	Record                 *record
	Files                  []string // relative to the page
}

// writePage writes the page about all results so far.
func (d *demo) writePage() (string, error) {
	p := &page{Settings: d.set, Whole: true}
	// The page knows the types of these results; it shows only the files of other steps.
	into := map[string]any{"build": &p.Built, "hotspots": &p.Spots, "capture": &p.Captured, "campaign": &p.Campaign,
		"rollout": &p.Rolled, "measure": &p.Measured, "ledger": &p.Ledger}
	for i, s := range d.steps {
		dir := d.dir(i, s)
		r, err := readRecord(dir)
		if err != nil {
			return "", err
		}
		// A page that lacks steps says so, instead of showing nothing for them.
		if r == nil {
			p.Whole = false
		} else {
			p.Seconds += r.Seconds
			if at := into[s.name]; at != nil {
				if err := json.Unmarshal(r.Result, at); err != nil {
					return "", fmt.Errorf("%s: %w", s.name, err)
				}
			}
		}
		p.Steps = append(p.Steps, shownStep{s.name, s.title, s.what, filepath.Base(dir), r, d.artefacts(dir)})
	}
	t, err := template.New("page").Funcs(template.FuncMap{
		"percent": func(share float64) string { return fmt.Sprintf("%.1f", 100*share) },
		"range3":  range3, "short": path.Base, "mean3": mean3, "bar": bar, "scale": p.scale, "rows": p.rows,
		"duration": func(s float64) string { return fmt.Sprintf("%d:%02d", int(s)/60, int(s)%60) },
		"verdict":  p.verdict,
		"goal":     p.goal,
		"proof": func() string {
			s, by := p.proof()
			return range3(s) + ", by " + by
		},
		"reason": p.reason,
	}).Parse(pageText)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, p); err != nil {
		return "", err
	}
	file := filepath.Join(d.out, "index.html")
	return file, os.WriteFile(file, []byte(b.String()), 0o644)
}

// artefacts lists the files of a step, as links from the page. Copies of sources are left out.
func (d *demo) artefacts(dir string) (files []string) {
	_ = filepath.WalkDir(dir, func(at string, e os.DirEntry, err error) error { // a step that did not run has none
		// The tree has the sources of the probed program, far too many to list.
		if err != nil || e.IsDir() && e.Name() == "tree" {
			return filepath.SkipDir
		}
		if !e.IsDir() && e.Name() != "key" && !strings.HasPrefix(e.Name(), "build-") {
			if r, err := filepath.Rel(d.out, at); err == nil {
				files = append(files, r)
			}
		}
		return nil
	})
	slices.Sort(files)
	return files
}

// range3 writes a share with its interval, in percent.
func range3(s saving) string {
	return fmt.Sprintf("%.1f %% (%.1f to %.1f)", 100*s.Share, 100*s.Low, 100*s.High)
}

// mean3 writes a time with its interval, in nanoseconds.
func mean3(e estimate) string {
	if e.Mean == 0 {
		return "not measured"
	}
	return fmt.Sprintf("%.0f ns (%.0f to %.0f)", e.Mean, e.Low, e.High)
}

func bar(share, most float64) float64 { return 100 * share / max(most, 1e-9) }

// scale returns the largest net share.
func (p *page) scale() float64 {
	most := 0.0
	if p.Spots != nil {
		for _, h := range p.Spots.Hotspots {
			most = max(most, h.Net)
		}
	}
	return most
}

// A row is one interval of the plot, in its coordinates.
type row struct {
	Name, Text           string
	Left, Width, At, Top float64
	Zero                 float64
	Kind                 string
}

// Above and the methods below it are the places of a row's parts.
func (r row) Above() float64          { return r.Top - 18 }
func (r row) Below() float64          { return r.Top + 6 }
func (r row) Box() float64            { return r.Top - 9 }
func (r row) Middle() float64         { return r.Top - 4.5 }
func (r row) Height(rows int) float64 { return float64(24*rows + 10) }

// rows returns the intervals that the page draws side by side.
func (p *page) rows() (all []row) {
	if p.Measured == nil {
		return nil
	}
	type line struct {
		name, kind string
		s          saving
	}
	// Place predicted above proven for the same function, to compare them by eye. The program
	// against itself comes first: it shows how no gain looks.
	lines := []line{{"old program against itself (A/A)", "same", p.Measured.Same}}
	for _, r := range p.Rolled {
		lines = append(lines, line{path.Base(r.Target) + ", predicted", "predicted", r.Predicted})
		if r.Proven != nil {
			lines = append(lines, line{path.Base(r.Target) + ", in the rollout", "proven", *r.Proven})
		}
	}
	if len(p.Measured.Promoted) > 0 {
		lines = append(lines, line{"all together, predicted", "predicted", p.Measured.Predicted},
			line{"all together, whole programs", "proven", p.Measured.Proven})
	}
	// The scale includes zero and a margin. Bound an interval that few calls made enormous: it
	// would press all others to a line.
	low, high := -0.05, 0.05
	for _, l := range lines {
		low, high = min(low, max(l.s.Low, -0.5)), max(high, min(l.s.High, 0.9))
	}
	const width = 520
	x := func(v float64) float64 { return width * (min(max(v, low), high) - low) / (high - low) }
	for i, l := range lines {
		all = append(all, row{l.name, range3(l.s), x(l.s.Low), max(2, x(l.s.High)-x(l.s.Low)), x(l.s.Share),
			float64(24*i + 20), x(0), l.kind})
	}
	return all
}

// verdict returns the first line of the page.
func (p *page) verdict() string {
	// From the worst case to the best: not measured, nothing found, not proven, proven.
	m := p.Measured
	switch {
	case m == nil:
		return "Not finished: run the same command again, and it goes on."
	case len(m.Promoted) == 0 && p.cutShort():
		return "Nothing found in the time that there was: no change of a function was proven faster, and the search " +
			"did not come to its end."
	case len(m.Promoted) == 0:
		return "Nothing found that pays: no change of a function was proven faster, and metricsd stays as it is."
	}
	proven, by := p.proof()
	if proven.Low <= 0 {
		return fmt.Sprintf("Nothing proven in whole programs: %d changes were promoted, and the interval of their "+
			"saving, %s, reaches zero.", len(m.Promoted), range3(proven))
	}
	return fmt.Sprintf("metricsd takes %s less processor time for a message, by %s; predicted were %s.",
		range3(proven), by, range3(m.Predicted))
}

// proof returns the more precise measurement of the saving, with its name: that of whole programs
// before and after, or that of a rollout's experiment, which covers one change alone.
func (p *page) proof() (saving, string) {
	whole := p.Measured.Proven
	if len(p.Measured.Promoted) == 1 {
		for _, r := range p.Rolled {
			if s := r.Proven; r.Promoted && s != nil && s.High-s.Low < whole.High-whole.Low {
				return *s, "its rollout"
			}
		}
	}
	return whole, "whole programs"
}

// cutShort reports whether a search ended because the demo's time was over.
func (p *page) cutShort() bool {
	stopped := func(t target) bool { return t.State == "running" }
	return p.Campaign != nil && slices.ContainsFunc(p.Campaign.Targets, stopped)
}

// The demo's goals: a saving, and the largest error of its prediction.
const (
	goalSaving = 0.15
	goalOff    = 0.20
)

// goal reports whether the demo reached its goals.
func (p *page) goal() string {
	m := p.Measured
	if m == nil || len(m.Promoted) == 0 {
		return ""
	}
	said := func(ok bool) string { return map[bool]string{true: "met", false: "missed"}[ok] }
	proven, _ := p.proof()
	off := math.Abs(m.Predicted.Share-proven.Share) / max(math.Abs(proven.Share), 1e-9)
	return fmt.Sprintf("The goals: %.0f %% less, %s; predicted within %.0f %% of what is proven, %s (%.0f %% off).",
		100*goalSaving, said(proven.Share >= goalSaving), 100*goalOff, said(off <= goalOff), 100*off)
}

// reason says in a sentence why the search brought nothing, or returns "".
func (p *page) reason() string {
	if p.Campaign == nil || p.Measured == nil || len(p.Measured.Promoted) > 0 {
		return ""
	}
	by := map[string]int{}
	barren := 0
	for _, t := range p.Campaign.Targets {
		// Each target has one final state; targets without a run had nothing to search among.
		by[t.State]++
		if t.State == "no-improvement" && t.Run == "" {
			barren++
		}
	}
	return fmt.Sprintf(
		"The campaign took up %d functions. No rewrite applies to %d; %d searches found no faster version; %d "+
			"functions cannot be judged; for %d the time or the budget ended; %d became faster, and their rollouts "+
			"did not promote them.",
		len(p.Campaign.Targets), barren, by["no-improvement"]-barren,
		by["refused"]+by["failed"]+by["tests-failed"], by["budget"]+by["waiting"]+by["running"], by["improved"])
}
