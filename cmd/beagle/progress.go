package main

import (
	"fmt"
	"io"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/report"
)

// progress shows a run while it goes on: a block that redraws itself on a
// terminal, plain lines elsewhere.
type progress struct {
	w     io.Writer
	mu    sync.Mutex  // guards what is below
	beat  *time.Timer // until the next line that says the work goes on; nil when none is due
	ended bool        // no line is printed without an event any more
	live  bool        // w is a terminal
	quiet bool
	start time.Time
	lines int       // of the block that is on the screen
	last  string    // the last plain line
	noted time.Time // when a line was last printed by note or passing

	seldom time.Duration // in a file: the least time between what passes
}

func newProgress(w io.Writer, quiet bool) *progress {
	if outer, ok := w.(*progress); ok { // of a command that runs within another one
		quiet = quiet || outer.quiet
	}
	return &progress{w: w, live: isTerminal(w) && os.Getenv("TERM") != "dumb", quiet: quiet, start: time.Now(),
		seldom: beatPlain}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// A user who waits hears after so long that the work goes on. A file gets each further line after
// twice the time, so that days of work do not fill it.
const (
	beatLive   = time.Second
	beatPlain  = 10 * time.Second
	beatRarest = 5 * time.Minute // the most
)

// rarer returns the time until a file gets the next line, from that before the last one.
func rarer(last time.Duration) time.Duration { return max(last, min(2*last, beatRarest)) }

// goesOn says that the work goes on, and for how long, until the next event. doing is the stage
// with what it does; it is empty when a stage has ended and the next one has not begun.
func (p *progress) goesOn(stage, doing string) {
	if p.ended {
		return
	}
	often, began := beatPlain, time.Now()
	if p.live {
		often = beatLive
	}
	if doing != "" {
		doing = ": " + doing
	}
	var beat *time.Timer
	beat = time.AfterFunc(often, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.beat != beat {
			return // an event came while this one waited for the lock
		}
		p.clear()
		line := fmt.Sprintf("%s %-8s still at work, for %.0fs%s", p.clock(), stage, time.Since(began).Seconds(), doing)
		if p.live {
			line, p.lines = clip(line, p.width()), 1
		}
		fmt.Fprintln(p.w, line)
		if !p.live {
			often = rarer(often)
		}
		beat.Reset(often)
	})
	p.beat = beat
}

// pause ends the lines about the work until the next event, since something else is printed.
func (p *progress) pause() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat = nil
	p.clear()
}

// stop ends the lines about the work for good.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.beat, p.ended = nil, true
	p.clear()
}

// Write prints the text of others beside the block.
func (p *progress) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	return p.w.Write(text)
}

// watch takes the events of a run, as its [flow.Watcher].
func (p *progress) watch(e flow.Event) {
	if p.quiet {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case e.Warning != "":
		p.clear()
		fmt.Fprintf(p.w, "%s %s\n", p.paint("33", "warning:"), e.Warning)
	case e.Stage != nil:
		p.clear()
		fmt.Fprintf(p.w, "%s %-8s %s\n", p.clock(), e.Stage.Name, e.Stage.Detail)
		if e.Stage.Over {
			p.goesOn("", "")
		} else {
			p.goesOn(e.Stage.Name, e.Stage.Detail)
		}
	case e.Evaluated != nil && p.live: // the block stays until the next generation
		p.beat = nil
		p.replies(e.Evaluated)
		p.draw(e.Evaluated)
	case e.Evaluated != nil:
		p.replies(e.Evaluated)
		p.printLine(e.Evaluated)
	}
}

// note prints a line that stays.
func (p *progress) note(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet && !p.ended {
		p.clear()
		fmt.Fprintln(p.w, line)
		p.noted = time.Now()
	}
}

// passing shows a line until the next one on a terminal. Elsewhere it prints one now and then.
func (p *progress) passing(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.quiet || p.ended:
	case p.live:
		p.clear()
		fmt.Fprintln(p.w, clip(line, p.width()))
		p.lines = 1
	case time.Since(p.noted) >= p.seldom:
		fmt.Fprintln(p.w, line)
		p.noted, p.seldom = time.Now(), rarer(p.seldom)
	}
}

// waits says that a stage goes on only when that takes long.
func (p *progress) waits(stage, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.quiet {
		p.goesOn(stage, doing)
	}
}

// replies prints the fates of models' replies, which stay on the screen.
func (p *progress) replies(e *flow.EvaluatedEvent) {
	for _, line := range e.Replies {
		p.clear()
		fmt.Fprintf(p.w, "%s models   %s\n", p.clock(), clip(line, 300))
	}
}

// printLine describes a generation, unless that repeats known news, as one without new candidates
// does.
func (p *progress) printLine(e *flow.EvaluatedEvent) {
	line := oneLine(e)
	if line == p.last {
		return
	}
	p.last = line
	if e.Models != nil {
		line += "; " + spending(e.Models)
	}
	fmt.Fprintf(p.w, "%s %s\n", p.clock(), line)
	p.goesOn("search", fmt.Sprintf("%d of %d candidates", e.Candidates, e.Budget))
}

func (p *progress) clock() string {
	return p.paint("2", fmt.Sprintf("%5.1fs", time.Since(p.start).Seconds()))
}

// clear removes the live block.
func (p *progress) clear() {
	if p.lines > 0 {
		fmt.Fprintf(p.w, "\r\x1b[%dA\x1b[J", p.lines) // the echo of ^C moved the cursor
		p.lines = 0
	}
}

func (p *progress) paint(code, s string) string {
	if !p.live || os.Getenv("NO_COLOR") != "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// draw replaces the live block.
func (p *progress) draw(e *flow.EvaluatedEvent) {
	p.clear()
	lines := []string{
		fmt.Sprintf("%s search   %s %d of %d candidates, generation %d, %s", p.clock(), bar(e.Candidates, e.Budget),
			e.Candidates, e.Budget, e.Generation, p.timeLeft(e)),
		"         " + statuses(e.Statuses),
		"         islands " + islands(e.Islands),
	}
	if e.Best != nil && e.Best.Screen != nil {
		lines = append(lines,
			fmt.Sprintf("         best    about %s  %s", p.paint("1;32", report.Digits(e.Best.Screen.Point)+"x"),
				names(e.Best.Steps)))
	}
	if e.Models != nil {
		lines = append(lines, "         models  "+spending(e.Models))
	}
	// A line that the terminal breaks would count as two, and clear would leave one.
	width := p.width()
	for _, l := range lines {
		fmt.Fprintln(p.w, clip(l, width))
	}
	p.lines = len(lines)
}

func (p *progress) width() int {
	if w := terminalWidth(p.w); w > 0 {
		return w
	}
	return 120
}

// timeLeft estimates the time that the rest of the search takes.
func (p *progress) timeLeft(e *flow.EvaluatedEvent) string {
	if e.Candidates == 0 {
		return ""
	}
	perCandidate := e.Elapsed / time.Duration(e.Candidates)
	return fmt.Sprintf("about %v of search left",
		(perCandidate * time.Duration(max(0, e.Budget-e.Candidates))).Round(time.Second))
}

func bar(done, of int) string {
	const width = 20
	n := min(width, done*width/max(1, of))
	return "[" + strings.Repeat("#", n) + strings.Repeat(".", width-n) + "]"
}

// oneLine describes a generation in one line.
func oneLine(e *flow.EvaluatedEvent) string {
	line := fmt.Sprintf("search   %d of %d candidates", e.Candidates, e.Budget)
	if len(e.Statuses) > 0 {
		line += " (" + statuses(e.Statuses) + ")"
	}
	if e.Best != nil && e.Best.Screen != nil {
		// One quick look estimates the ratio, so the line says "about". The ranking
		// goes by the lower bound: another version may have a higher estimate.
		line += fmt.Sprintf(", best about %sx: %s", report.Digits(e.Best.Screen.Point), names(e.Best.Steps))
	} else if e.Candidates > 0 {
		line += ", none faster yet"
	}
	return line
}

func statuses(counts map[beagle.Status]int) string {
	keys := make([]string, 0, len(counts))
	for s := range counts {
		keys = append(keys, string(s))
	}
	sort.Strings(keys)
	for i, k := range keys {
		keys[i] = fmt.Sprintf("%d %s", counts[beagle.Status(k)], k)
	}
	return strings.Join(keys, ", ")
}

func islands(best []float64) string {
	parts := make([]string, len(best))
	for i, b := range best {
		parts[i] = report.Digits(b) + "x"
	}
	return strings.Join(parts, "  ")
}

func names(steps []beagle.Step) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		parts[i] = s.Mutator
		if s.Mutator == "model" {
			parts[i] += " " + s.Site
		}
	}
	return strings.Join(parts, " + ")
}

// clip cuts a line that would wrap, since a wrapped line breaks the redrawing.
// Escape sequences have no width.
func clip(s string, width int) string {
	seen, inEscape := 0, false
	// Count what is seen, and end with a reset: the cut may fall into a colour.
	for i, r := range s {
		switch {
		case r == '\x1b':
			inEscape = true
		case inEscape:
			inEscape = r != 'm'
		default:
			if seen++; seen > width {
				return s[:i] + "\x1b[0m"
			}
		}
	}
	return s
}
