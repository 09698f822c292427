package windows

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/watch"
)

// An Archive keeps the windows of one service in a directory: a file of JSON lines for each month,
// the findings, and where the watch stands. It can be closed at any time and opened again.
type Archive struct {
	dir   string
	write func(path string, data []byte) error
	state state
	Watch *watch.Watch

	// Bad returns the share of bad events of a window by SLO; nil when there are no SLOs.
	Bad func(end time.Time, length time.Duration) map[string]float64

	inputs map[string]map[string][]float64 // of the next window
}

// A state is a watch's memory beside its windows.
type state struct {
	Length time.Duration        `json:"length"` // of the windows
	Read   map[string]time.Time `json:"read"`   // by source: the end of the last profile
	Closed time.Time            `json:"closed"` // no stretch that begins before it is open
	Judged time.Time            `json:"judged"` // end of the last window that was looked at
	Known  map[string]time.Time `json:"known"`
	Open   []*Stretch           `json:"open,omitempty"`
	Won    map[string]Won       `json:"won,omitempty"`
}

// A Won tells how a function looked in the windows after a change shipped.
type Won struct {
	Share  float64 `json:"share"`
	Go     string  `json:"go,omitempty"`
	Source string  `json:"source,omitempty"`
}

// Open opens the archive of a service, or makes it. Windows that were kept and not looked at, since
// a process ended in between, are looked at by the next [Archive.Judge].
func Open(s *store.Store, service string, length time.Duration, c watch.Config, targets ...watch.Target) (
	*Archive, error) {
	a := &Archive{dir: filepath.Join(s.Dir(), "watch", service), write: s.WriteFile, Watch: watch.New(c, targets...)}
	if err := os.MkdirAll(a.dir, 0o755); err != nil {
		return nil, err
	}
	// Read the state that a former process kept.
	a.state = state{Read: map[string]time.Time{}, Known: map[string]time.Time{}, Won: map[string]Won{}}
	text, err := os.ReadFile(a.path("state.json"))
	if err == nil {
		err = json.Unmarshal(text, &a.state)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", a.path("state.json"), err)
	}
	a.Watch.Known = a.state.Known
	// Windows of one service have one length.
	if was := a.state.Length; was != 0 && was != length {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("the windows of %s are %s long, not %s", service, was, length),
			Remedy: fmt.Sprintf("give --window %s, or begin a watch of another name with --as", was),
		}
	}
	a.state.Length = length
	// Give the watch the windows that were looked at.
	windows, err := a.lastWindows(a.Watch.Config.Keep)
	if err != nil {
		return nil, err
	}
	known := slices.IndexFunc(windows, func(w watch.Window) bool { return w.End.After(a.state.Judged) })
	if known < 0 {
		known = len(windows)
	}
	a.Watch.Windows = windows[:known:known]
	return a, nil
}

func (a *Archive) path(name string) string { return filepath.Join(a.dir, name) }

// month returns the file of the windows that begin in a month.
func (a *Archive) month(at time.Time) string {
	return a.path("windows-" + at.UTC().Format("2006-01") + ".jsonl")
}

func (a *Archive) months() ([]string, error) {
	all, err := filepath.Glob(a.path("windows-????-??.jsonl"))
	inorder.Sort(all)
	return all, err
}

// lastWindows reads the last windows that are kept, in the order of their time.
func (a *Archive) lastWindows(most int) (out []watch.Window, err error) {
	months, err := a.months()
	if err != nil {
		return nil, err
	}
	for _, file := range slices.Backward(months) {
		found, err := store.ReadLines[watch.Window](file)
		if err != nil {
			return nil, err
		}
		if out = append(found, out...); len(out) >= most {
			break
		}
	}
	return out[max(0, len(out)-most):], nil
}

// A LookResult is the result of a look at new windows.
type LookResult struct {
	Windows  int             // that were looked at
	Findings []watch.Finding // that are new
	Skipped  []watch.Skipped // by the last window
	Refused  []string        // windows that could not be used, with the reason
	Open     time.Time       // end of the first stretch that holds profiles and is not over; zero for none
}

// Judge closes the stretches that are over, keeps them as windows, and looks at each.
func (a *Archive) Judge(now time.Time, o Options) (*LookResult, error) {
	if err := a.close(now, o.Length); err != nil {
		return nil, err
	}
	windows, err := a.lastWindows(a.Watch.Config.Keep)
	if err != nil {
		return nil, err
	}
	out := &LookResult{}
	// Look at each window once, and keep its findings.
	for _, w := range windows {
		if !w.End.After(a.state.Judged) {
			continue
		}
		out.Windows++
		found, err := a.Watch.Add(w)
		if err != nil {
			out.Refused = append(out.Refused, fmt.Sprintf("the window from %s: %v", w.Start.Format(time.RFC3339), err))
		}
		for _, f := range found {
			f.Command = o.command(f)
			out.Findings = append(out.Findings, f)
			if err := store.AppendLine(a.path("findings.jsonl"), f); err != nil {
				return nil, err
			}
		}
		a.state.Judged = w.End
	}
	out.Skipped = a.Watch.Skipped
	if len(a.state.Open) > 0 {
		out.Open = a.state.Open[0].Begins.Add(o.Length)
	}
	return out, a.save()
}

// close moves the stretches that are over into the files of windows. A window that was written
// before a process ended, and whose stretch is still in the state, is not written again.
func (a *Archive) close(now time.Time, length time.Duration) error {
	newest, err := a.lastWindows(1)
	if err != nil {
		return err
	}
	for _, s := range a.takeFinished(now, length) {
		a.state.Closed = s.Begins.Add(length)
		w := s.window(length)
		w.Inputs = a.inputs
		if len(newest) > 0 && !w.End.After(newest[0].End) {
			continue
		}
		if a.Bad != nil {
			w.Bad = a.Bad(w.End, length)
		}
		if err := store.AppendLine(a.month(w.Start), w); err != nil {
			return err
		}
	}
	return a.save()
}

// command answers a finding. Only the user's own code can be searched: for other code the command
// names a caller.
func (o Options) command(f watch.Finding) string {
	if o.Checkout == nil || strings.HasPrefix(f.Function, "./") || o.Checkout.Owns(watch.PackageOf(f.Function)) {
		return f.Command
	}
	return "beagle hotspots --why " + f.Function
}

func (a *Archive) save() error {
	a.state.Known = a.Watch.Known
	text, err := json.Marshal(a.state)
	if err != nil {
		return err
	}
	return a.write(a.path("state.json"), append(text, '\n'))
}

// News stores the standing findings of limits, and returns the new ones.
func (a *Archive) News(standing []watch.Finding) ([]watch.Finding, error) {
	fresh := a.Watch.News(standing)
	for _, f := range fresh {
		if err := store.AppendLine(a.path("findings.jsonl"), f); err != nil {
			return nil, err
		}
	}
	return fresh, a.save()
}

// Findings returns all that were ever found, in the order of finding.
func (a *Archive) Findings() ([]watch.Finding, error) {
	return store.ReadLines[watch.Finding](a.path("findings.jsonl"))
}

// Count returns how many windows are kept.
func (a *Archive) Count() (n int, err error) {
	months, err := a.months()
	for _, file := range months {
		data, err := os.ReadFile(file)
		if err != nil {
			return 0, err
		}
		n += bytes.Count(data, []byte("\n"))
	}
	return n, err
}

// Prune removes the months that ended before a time.
func (a *Archive) Prune(before time.Time) error {
	months, err := a.months()
	for _, file := range months {
		if file < a.month(before) {
			err = errors.Join(err, os.Remove(file))
		}
	}
	return err
}

// ReadUntil returns the end of the last profile of all sources, and whether there is one.
func (a *Archive) ReadUntil() (last time.Time, ok bool) {
	for _, at := range a.state.Read {
		if at.After(last) {
			last = at
		}
	}
	return last, !last.IsZero()
}
