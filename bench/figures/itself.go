package main

import (
	"context"
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
)

// bestModule has functions that no rewrite improves, with tests. For each function it has a file
// that declares the same in other words.
//
//go:embed testdata/best.txtar
var bestModule []byte

// trialsEach is the number of trials of each function against itself.
const trialsEach = 2

// A trial is a verdict on a function against itself.
type trial struct {
	function string
	verdict  *beagle.Verdict
}

// best unpacks the module of such functions.
func (l *lab) best() (string, error) {
	dir := filepath.Join(l.dir, "best")
	return dir, unpack(dir, txtar.Parse(bestModule).Files)
}

// trials judges functions against themselves. The texts differ and the machine code is the same, so
// nothing shows this before the measurement.
func (l *lab) trials(ctx context.Context) ([]trial, error) {
	if len(l.against) > 0 {
		return l.against, nil
	}
	dir, err := l.best()
	if err != nil {
		return nil, err
	}
	for _, f := range txtar.Parse(bestModule).Files {
		name, ok := strings.CutPrefix(f.Name, "again/")
		if !ok {
			continue
		}
		name = strings.TrimSuffix(name, ".go.txt")
		for range trialsEach {
			v := new(beagle.Verdict)
			err := l.call(ctx, l.home("itself"), v, "verify", "--json", "-C", dir, "--measure", "4s", "--fuzz", "1s",
				"./best."+name, filepath.Join(dir, f.Name))
			if err != nil {
				return nil, err
			}
			l.against = append(l.against, trial{name, v})
		}
	}
	return l.against, nil
}

// unbeatable are functions of the module that only call an assembly routine of the standard
// library, that are two comparisons, or whose every instruction waits for the one before it.
// Rewrites apply to the last kind, and cannot help.
var unbeatable = []string{"Index", "Equal", "Clamp", "Hash"}

// judgeItself judges functions against themselves, and searches functions that no rewrite can
// improve.
func judgeItself(ctx context.Context, l *lab) (*section, error) {
	// Take the trials of functions against themselves.
	list, err := l.trials(ctx)
	if err != nil {
		return nil, err
	}
	s := new(section)
	var rows [][]string
	refused := 0
	for _, t := range list {
		if t.verdict.Status == beagle.Equal {
			refused++
		} else {
			s.miss("%s against itself: %s by %s, %s", t.function, t.verdict.Status, t.verdict.Stage, t.verdict.Reason)
		}
		rows = append(rows,
			[]string{"`" + t.function + "`", "itself in other words", string(t.verdict.Status),
				optional(t.verdict.Final, func(m *beagle.Measurement) *beagle.Ratio { return &m.Corrected })})
	}
	// Search functions that no rewrite can improve.
	for _, name := range unbeatable {
		r := new(beagle.Result)
		dir := filepath.Join(l.dir, "best")
		if err := l.call(ctx, l.home("itself"), r, "evolve", "--json", "-C", dir, "--candidates", "24", "--measure",
			"4s", "--fuzz", "1s", "./best."+name); err != nil {
			return nil, err
		}
		if r.Outcome != beagle.NoImprovement {
			s.miss("%s: %s, %s", name, r.Outcome, r.Why)
		}
		rows = append(rows,
			[]string{"`" + name + "`", fmt.Sprintf("evolve, %d versions", r.Candidates), string(r.Outcome),
				interval(r.Best.Ratio)})
	}
	// Report.
	s.text = table([]string{"function", "against", "verdict", "measured ratio"}, rows)
	s.text += fmt.Sprintf("\n%d of %d trials of a function against itself were not accepted.\n", refused, len(list))
	return s, nil
}

// noise shows the measured ratios where there is no difference.
func noise(ctx context.Context, l *lab) (*section, error) {
	// Count the intervals that hold 1.
	list, err := l.trials(ctx)
	if err != nil {
		return nil, err
	}
	s := &section{noGoal: true}
	var rows [][]string
	covered, all := 0, 0
	for _, t := range list {
		m := t.verdict.Final
		if m == nil {
			s.miss("%s was not measured: %s", t.function, t.verdict.Reason)
			continue
		}
		all++
		if m.Train.Low <= 1 && m.Train.High >= 1 {
			covered++
		}
		// Add the control, held-out inputs and processes apart.
		row := []string{"`" + t.function + "`", interval(m.Train)}
		for _, of := range []func(*beagle.Measurement) *beagle.Ratio{
			func(m *beagle.Measurement) *beagle.Ratio { return m.Control },
			func(m *beagle.Measurement) *beagle.Ratio { return m.Holdout },
			func(m *beagle.Measurement) *beagle.Ratio { return m.Apart },
		} {
			row = append(row, optional(m, of))
		}
		rows = append(rows, append(row, fmt.Sprint(len(m.Layouts)), fmt.Sprintf("%.3g", m.Baseline.Nanos)))
	}
	// Report.
	s.text = table(
		strings.Split("function|against itself|control: its copy|held-out inputs|processes apart|layouts|ns a call",
			"|"), rows)
	s.text += fmt.Sprintf("\nThe interval holds 1 in %d of %d measurements.\n", covered, all)
	return s, nil
}
