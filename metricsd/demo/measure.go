package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A finalFigure is the final figure: the service's processor time for a message.
type finalFigure struct {
	Promoted  []string
	Left      []string // promoted, and not applicable on top of the others
	Predicted saving   // by the campaign, of all promoted changes
	Before    estimate
	After     estimate
	Proven    saving // of whole programs
	Same      saving // the old program against itself, in other layouts
	Layouts   int
	Turns     int
}

// An estimate is a mean with its 95 % interval.
type estimate struct{ Mean, Low, High float64 }

// A turn is one program's share of a round of loads.
type turn struct {
	Layout   int     `json:"layout"`
	Round    int     `json:"round"`
	Arm      string  `json:"arm"` // old, same or new
	Seconds  float64 `json:"processor_seconds"`
	Messages float64 `json:"messages"`
}

// arms are the programs that take turns. same is the old text once more, in another layout.
var arms = []string{"old", "same", "new"}

// measureStep compares the old program with one that has all promoted patches, as whole programs.
func measureStep(ctx context.Context, d *demo, w *work) (any, error) {
	won, err := resultOf[[]rolled](d, "rollout")
	if err != nil {
		return nil, err
	}
	m := &finalFigure{Promoted: []string{}, Layouts: d.set.Layouts, Turns: d.set.Turns}
	// Without an overlay no rollout won; still measure the old program against itself.
	overlay, err := w.overlay(ctx, won, m)
	if err != nil {
		return nil, err
	}
	for layout := range d.set.Layouts {
		// Time may end the measurement early, but not before there are enough layouts to tell a
		// gain from a lucky layout.
		if layout >= leastLayouts && time.Now().After(d.deadline(measureShare)) {
			m.Layouts = layout
			break
		}
		if err := w.layout(ctx, layout, overlay); err != nil {
			return nil, err
		}
	}
	all, err := w.turns()
	if err != nil {
		return nil, err
	}
	m.sum(all)
	return m, nil
}

// leastLayouts are measured whatever time is left: one has no interval.
const leastLayouts = 3

// overlay joins the promoted patches into one overlay of the go command. It applies them to copies,
// so that the checkout stays as it is. Without a promoted patch it is empty.
func (w *work) overlay(ctx context.Context, won []rolled, m *finalFigure) (string, error) {
	tree := w.file("tree")
	if err := os.RemoveAll(tree); err != nil {
		return "", err
	}
	replace := map[string]string{}
	for _, r := range won {
		if !r.Promoted {
			continue
		}
		patch := filepath.Join(w.out, r.Dir, "patch.diff")
		files, err := patchedFiles(patch)
		if err != nil {
			return "", err
		}
		for _, f := range files {
			from, at := filepath.Join(w.module, f), filepath.Join(tree, f)
			if replace[from] == at {
				continue
			}
			if err := copyFile(from, at); err != nil {
				return "", err
			}
			replace[from] = at
		}
		// A patch that does not apply after an earlier one changes nothing.
		_, status, err := w.program(ctx, "patch-"+path.Base(r.Target), tree, "git", "apply", "-C1", patch)
		if err != nil {
			return "", err
		}
		if status != 0 {
			m.Left = append(m.Left, r.Target)
			continue
		}
		m.Promoted = append(m.Promoted, r.Target)
		m.Predicted = m.Predicted.plus(r.Predicted)
	}
	if len(m.Promoted) == 0 {
		return "", nil
	}
	file := w.file("overlay.json")
	return file, writeJSON(file, map[string]any{"Replace": replace})
}

// plus adds savings of changes that do not depend on each other.
func (s saving) plus(o saving) saving {
	share := 1 - (1-s.Share)*(1-o.Share)
	low := math.Hypot(s.Share-s.Low, o.Share-o.Low)
	high := math.Hypot(s.High-s.Share, o.High-o.Share)
	return saving{share, share - low, share + high}
}

// patchedFiles lists the files that a patch changes; new ones, which are tests, are left out of the
// overlay.
func patchedFiles(patch string) (files []string, err error) {
	data, err := os.ReadFile(patch)
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutPrefix(line, "--- a/"); ok {
			files = append(files, strings.TrimSpace(name))
		}
	}
	return files, err
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o644)
}

// layout builds the programs with an order of functions of their own, and lets them take turns. A
// lucky order is worth several percent, so each arm gets several orders.
func (w *work) layout(ctx context.Context, layout int, overlay string) error {
	// An interrupted attempt left its turns, and a layout with all its turns needs no programs.
	have, err := w.turns()
	if err != nil {
		return err
	}
	done := 0
	for _, t := range have {
		if t.Layout == layout {
			done = max(done, t.Round+1)
		}
	}
	if done >= w.set.Turns {
		return nil
	}
	w.say(fmt.Sprintf("  layout %d of %d", layout+1, w.set.Layouts))
	running := map[string]*service{}
	// All arms of a layout run at the same time, each with a seed of its own. The old program has
	// two of them, whose difference shows what layouts are worth.
	for i, arm := range arms {
		if arm == "new" && overlay == "" {
			continue
		}
		seed := 1 + layout*len(arms) + i
		args := []string{"build", "-pgo=off", "-ldflags=-randlayout=" + strconv.Itoa(seed)}
		if arm == "new" {
			args = append(args, "-overlay="+overlay)
		}
		name := fmt.Sprintf("%s-%d", arm, layout)
		if _, err := w.must(ctx, "build-"+name, w.module, "go", append(args, "-o", w.bin(name), ".")...); err != nil {
			return err
		}
		s, err := w.serve(ctx, w.bin(name), name)
		if err != nil {
			return err
		}
		// Remove the binaries at the end of the layout: those of dozens of layouts would fill the
		// disk.
		defer os.Remove(w.bin(name))
		defer s.stop()
		// Begin with a load that is not measured, so that the service knows all contexts.
		first, err := s.lane(ctx, w.bin("metricsd"), time.Second)
		if err != nil {
			return err
		}
		if _, _, err := first.end(ctx); err != nil {
			return err
		}
		running[arm] = s
	}
	// Continue where the last attempt ended.
	for round := done; round < w.set.Turns; round++ {
		if err := w.takeTurns(ctx, layout, round, running); err != nil {
			return err
		}
	}
	return nil
}

// takeTurns has the programs take turns, in random order. A turn is so short that the machine is as
// fast for one program as for the others: within seconds its speed changes, by tens of percent
// where it is shared. Each program gets as much time as settings.Turn says. round enters all
// programs or none.
func (w *work) takeTurns(ctx context.Context, layout, round int, running map[string]*service) error {
	slice, err := time.ParseDuration(w.set.Slice)
	if err != nil {
		return err
	}
	// Start all loads. Services that do not have their turn are stopped, with their loads.
	var lanes []*lane
	defer func() {
		for _, l := range lanes {
			l.drop()
		}
	}()
	length := time.Duration(w.set.Turn * float64(len(running)) * float64(time.Second))
	for _, arm := range arms {
		if s := running[arm]; s != nil {
			l, err := s.lane(ctx, w.bin("metricsd"), length)
			if err != nil {
				return err
			}
			l.arm = arm
			lanes = append(lanes, l)
			l.signal(syscall.SIGSTOP)
		}
	}
	// Give each program turns, until the time of the loads is over.
	for end := time.Now().Add(length); time.Now().Before(end); {
		for _, i := range rand.Perm(len(lanes)) {
			lanes[i].signal(syscall.SIGCONT)
			err := pause(ctx, slice)
			lanes[i].signal(syscall.SIGSTOP)
			if err != nil {
				return err
			}
		}
	}
	var all []turn
	for _, l := range lanes {
		l.signal(syscall.SIGCONT)
		used, messages, err := l.end(ctx)
		if err != nil {
			return err
		}
		all = append(all, turn{layout, round, l.arm, used, messages})
	}
	// Write all turns at once: a round that lacks one would compare unlike times.
	return w.enter(all)
}

// enter appends turns to the earlier ones, in one write.
func (w *work) enter(all []turn) error {
	var lines bytes.Buffer
	for _, t := range all {
		text, err := json.Marshal(t)
		if err != nil {
			return err
		}
		lines.Write(append(text, '\n'))
	}
	f, err := os.OpenFile(w.file("turns.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(lines.Bytes())
	return errors.Join(err, f.Close())
}

// turns reads the turns so far, without an incomplete line.
func (w *work) turns() (all []turn, err error) {
	f, err := os.Open(w.file("turns.jsonl"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	// The last line may be half of one.
	for lines.Scan() {
		var t turn
		if json.Unmarshal(lines.Bytes(), &t) == nil {
			all = append(all, t)
		}
	}
	return all, lines.Err()
}
