package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle"
)

// goalKills is the number of kills in the goal.
const goalKills = 20

// A moment says when to kill a process: a random time after it entered a stage, or after a random
// number of further verdicts.
type moment struct {
	stage    string
	verdicts int
	most     time.Duration
}

// moments cover the whole of a run: the recording of the inputs, before which there is no run to
// resume, the search, and the judgement of the finalists. There are more than needed, since the
// last ones may come too late.
func moments() []moment {
	list := []moment{{"target", 0, 2 * time.Second}, {"record", 0, 3 * time.Second}, {"record", 0, 5 * time.Second},
		{"corpus", 0, time.Second}}
	for range 13 {
		list = append(list, moment{"search", 5, 300 * time.Millisecond})
	}
	return append(list, moment{"measure", 0, 2 * time.Second}, moment{"measure", 0, 4 * time.Second},
		moment{"verify", 0, time.Second},
		moment{"verify", 0, 2 * time.Second}, moment{"verify", 0, 500 * time.Millisecond})
}

// A casualty is a killed process.
type casualty struct {
	moment         string
	storedVerdicts int // verdicts in the store at that moment
	redone         int // of those, made again by the time the run ended
	left           []string
	scratch        int // directories that it left
	verdict        map[string]int64
}

// crash kills a run repeatedly and lets it end. Then it starts an undisturbed run from the same
// inputs with the recorded verdicts.
func crash(ctx context.Context, l *lab) (*section, error) {
	home, id := l.home("crash"), ""
	var dead []casualty
	for _, k := range moments() {
		args := []string{"evolve", "--candidates", "60", "--batch", "6", "--measure", "3s", "--fuzz", "2s", "--seed",
			"3", "./examples/tags.isNormalizedASCIITag"}
		if id != "" {
			args = []string{"resume", id}
		}
		more := len(verdicts(home)) + 1
		if k.verdicts > 0 {
			more += rand.N(k.verdicts)
		}
		wait := func(ctx context.Context) {
			start, most := time.Now(), k.most
			for k.verdicts > 0 && len(verdicts(home)) < more && ctx.Err() == nil {
				time.Sleep(5 * time.Millisecond)
			}
			if k.verdicts > 0 { // somewhere in the next batch, however fast the machine is
				most = max(time.Since(start), most)
			}
			time.Sleep(rand.N(most))
		}
		killed, err := signalAfter(l.command(ctx, home, args...), k.stage, syscall.SIGKILL, wait)
		if err != nil {
			return nil, err
		}
		if !killed {
			break
		}
		dead = append(dead, casualty{
			moment:  "while it said \"" + k.stage + "\"",
			verdict: verdicts(home),
			left:    l.leftovers(),
			scratch: len(l.scratch()),
		})
		if id, err = onlyRun(home); err != nil {
			return nil, err
		}
	}
	var disturbed, quiet beagle.Result
	if err := l.call(ctx, home, &disturbed, "resume", "--json", id); err != nil {
		return nil, err
	}
	end, scratch := verdicts(home), l.scratch()
	if err := fork(home, id, "undisturbed", nil); err != nil {
		return nil, err
	}
	if err := l.call(ctx, home, &quiet, "resume", "--json", "undisturbed"); err != nil {
		return nil, err
	}
	replay, err := readLog(home, "undisturbed")
	if err != nil {
		return nil, err
	}
	s := report(dead, end, &disturbed, &quiet, replay)
	if len(scratch) > 0 {
		s.miss("scratch directories left at the end: %s", strings.Join(scratch, ", "))
	}
	return s, nil
}

// scratch returns the directories for temporary files that are there now.
func (l *lab) scratch() []string {
	left, _ := filepath.Glob(filepath.Join(l.dir, "tmp", "beagle-*"))
	return left
}

// report writes what each kill cost, and compares the disturbed run with a quiet one and a replay.
func report(dead []casualty, end map[string]int64, disturbed, quiet *beagle.Result, replay *searchLog) *section {
	s := new(section)
	// Count what each kill cost.
	var rows [][]string
	for i := range dead {
		d := &dead[i]
		d.storedVerdicts = len(d.verdict)
		for name, made := range d.verdict {
			if end[name] != made {
				d.redone++
			}
		}
		if d.redone > 0 {
			s.miss("%d verdicts that were in the store were made again", d.redone)
		}
		if len(d.left) > 0 {
			s.miss("processes left behind: %s", strings.Join(d.left, ", "))
		}
		rows = append(rows,
			[]string{d.moment, fmt.Sprint(d.storedVerdicts), fmt.Sprint(d.redone), fmt.Sprint(len(d.left)),
				fmt.Sprint(d.scratch)})
	}
	if len(dead) < goalKills {
		s.miss("%d kills, %d are wanted: the run ended before", len(dead), goalKills)
	}
	s.text = table([]string{"killed", "verdicts in the store", "of them made again", "processes left behind",
		"scratch files and directories left until the next start"}, rows) + "\n"
	// Compare the run with an undisturbed one.
	same := reflect.DeepEqual(trajectory(disturbed.Attempts), trajectory(quiet.Attempts))
	if !same {
		s.miss("the trajectory is not that of an undisturbed run: %s",
			firstDifference(disturbed.Attempts, quiet.Attempts))
	}
	if twice := repeated(disturbed.Attempts); twice != "" {
		s.miss("the search took candidate %s twice", twice)
	}
	if quiet.Best.ID != disturbed.Best.ID {
		s.miss("the undisturbed run's winner is %s, not %s", quiet.Best.ID, disturbed.Best.ID)
	}
	if replay.Spent.Candidates > 0 {
		s.miss("the undisturbed run evaluated %d candidates that the disturbed one had not", replay.Spent.Candidates)
	}
	// Report.
	s.text += fmt.Sprintf("%d kills; %d candidates told to the search, none twice: %v. An undisturbed run from the "+
		"same inputs with the recorded verdicts takes the same trajectory: %v; same winner: %v (%s, %s times as "+
		"fast); candidates that it had to evaluate: %d.\n",
		len(dead), len(disturbed.Attempts), repeated(disturbed.Attempts) == "", same,
		quiet.Best.ID == disturbed.Best.ID,
		disturbed.Outcome, interval(disturbed.Best.Ratio), replay.Spent.Candidates)
	return s
}

// trajectory returns the candidates whose feedback the search got, in order.
func trajectory(trials []beagle.Attempt) []string {
	out := make([]string, len(trials))
	for i, t := range trials {
		out[i] = fmt.Sprint(t.Candidate, " ", t.Island, " ", t.Status, " ", t.Parents)
	}
	return out
}

func firstDifference(a, b []beagle.Attempt) string {
	x, y := trajectory(a), trajectory(b)
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("number %d is %s, then %s", i, x[i], y[i])
		}
	}
	return fmt.Sprintf("%d and %d candidates", len(a), len(b))
}

func repeated(trials []beagle.Attempt) string {
	seen := map[string]bool{}
	for _, t := range trials {
		if seen[t.Candidate] {
			return t.Candidate
		}
		seen[t.Candidate] = true
	}
	return ""
}

// verdicts maps each verdict of a store to a value that changes when it is made again: the number
// of its lines on a shelf, or the time of its file.
func verdicts(home string) map[string]int64 {
	out := map[string]int64{}
	filepath.WalkDir(filepath.Join(home, "cache", "evaluated"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil || d.IsDir(): // a store without verdicts has no directory for them
		case strings.HasPrefix(d.Name(), "shelf-"):
			shelved(path, out)
		default:
			if info, err := d.Info(); err == nil {
				out[path] = info.ModTime().UnixNano()
			}
		}
		return nil
	})
	return out
}

// shelved counts the lines of each candidate on a shelf.
func shelved(path string, out map[string]int64) {
	text, err := os.ReadFile(path)
	if err != nil {
		return
	}
	for line := range bytes.Lines(text) {
		var v struct{ Candidate string }
		if json.Unmarshal(line, &v) == nil {
			out[path+" "+v.Candidate]++
		}
	}
}

// onlyRun returns the ID of the run in a store, or "" while there is none.
func onlyRun(home string) (string, error) {
	dirs, err := os.ReadDir(filepath.Join(home, "runs"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	for _, d := range dirs {
		text, err := os.ReadFile(filepath.Join(home, "runs", d.Name(), "run.json"))
		if err == nil && json.Valid(text) {
			return d.Name(), nil
		}
	}
	return "", nil
}

// leftovers returns the processes that still run in the lab's directories, a moment after beagle
// was killed.
func (l *lab) leftovers() []string {
	time.Sleep(time.Second)
	var out []string
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		if p == fmt.Sprintf("/proc/%d", os.Getpid()) {
			continue
		}
		exe, _ := os.Readlink(filepath.Join(p, "exe"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		if strings.Contains(exe+" "+cwd+" "+string(line), l.dir) {
			out = append(out, filepath.Base(p)+" "+filepath.Base(exe))
		}
	}
	return out
}
