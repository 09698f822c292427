package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/command"
)

// A lab is a scratch directory with a beagle binary, and the runs that
// several figures share.
type lab struct {
	root   string // of the repository
	dir    string
	beagle string
	opts
	peak int64 // memory of the largest process of the last call, bytes

	examples []*beagle.Result // of evolveExamples
	against  []trial          // of trials
}

// openLab returns a lab with the binary of the checkout.
func openLab(ctx context.Context) (*lab, error) {
	l, err := emptyLab(ctx)
	if err != nil {
		return nil, err
	}
	if l.beagle, err = command.Build(ctx, l.root, l.dir); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// emptyLab returns a lab without a binary, for figures that run none.
func emptyLab(ctx context.Context) (*lab, error) {
	root, err := command.Root(ctx)
	if err != nil {
		return nil, err
	}
	l := &lab{root: root}
	if l.dir, err = os.MkdirTemp("", "figures-"); err != nil {
		return nil, err
	}
	return l, os.MkdirAll(filepath.Join(l.dir, "tmp"), 0o755)
}

func (l *lab) close() { os.RemoveAll(l.dir) }

// home returns a store that serves one purpose.
func (l *lab) home(name string) string { return filepath.Join(l.dir, "home-"+name) }

// beagleCall is a call of beagle. Everything that it starts names the lab's directory in its path,
// so that leftovers can be found.
func (l *lab) beagleCall(home string, args ...string) command.Call {
	return command.Call{Program: l.beagle, Args: args, Dir: l.root, Home: home,
		Env: []string{"TMPDIR=" + filepath.Join(l.dir, "tmp")}}
}

// command prepares a call of beagle that the caller starts and watches.
func (l *lab) command(ctx context.Context, home string, args ...string) *exec.Cmd {
	return l.beagleCall(home, args...).Cmd(ctx)
}

// call runs beagle with --json and decodes what it prints.
func (l *lab) call(ctx context.Context, home string, v any, args ...string) error {
	e, err := l.beagleCall(home, args...).Run(ctx)
	if err != nil {
		return err
	}
	l.peak = peakOf(e.State.SysUsage())
	return e.Decode(v)
}

// write replaces a marked section of docs/measurements.md.
func (l *lab) write(name, text string) error {
	path := filepath.Join(l.root, "docs", "measurements.md")
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- figures: "+name+" -->\n", "<!-- end: "+name+" -->"
	before, rest, ok := strings.Cut(string(old), begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return fmt.Errorf("%s has no section between %q and %q", path, begin, end)
	}
	text = before + begin + "\n" + wrapped(machine()+"\n\n"+text) + "\n" + end + after
	return os.WriteFile(path, []byte(text), 0o644)
}

// textColumns is the width of running text; the linter of the repository holds the page to it.
const textColumns = 100

// wrapped breaks the lines of running text that are too wide. Rows of tables stay whole.
func wrapped(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		column := 0
		for i, word := range strings.Split(line, " ") {
			width := utf8.RuneCountInString(strings.TrimRight(word, "\n"))
			switch {
			case i == 0:
			case !strings.HasPrefix(line, "|") && column+1+width > textColumns:
				out.WriteByte('\n')
				column = 0
			default:
				out.WriteByte(' ')
				column++
			}
			out.WriteString(word)
			column += width
		}
	}
	return out.String()
}

// machine says on what was measured.
func machine() string {
	line := fmt.Sprintf("Measured with %s on %s/%s, %s, %d processors", runtime.Version(), runtime.GOOS, runtime.GOARCH,
		bench.Processor(), runtime.NumCPU())
	if text, err := os.ReadFile("/proc/loadavg"); err == nil {
		if load := strings.Fields(string(text)); len(load) > 0 {
			line += ", load " + load[0] + " at the end"
		}
	}
	return line + "."
}

// table returns a Markdown table.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.ReplaceAll(cells[i], "|", "\\|"), "\n", " ")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	line(head)
	b.WriteString(strings.Repeat("|---", len(head)) + "|\n")
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// interval shows a ratio with its 95 % interval.
func interval(r beagle.Ratio) string {
	return fmt.Sprintf("%s (%s to %s)", digits(r.Point), digits(r.Low), digits(r.High))
}

// digits formats a ratio with as many digits as its size needs.
func digits(x float64) string {
	switch {
	case x >= 1000:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.3f", x)
}

// steps names the rewrites of a version.
func steps(list []beagle.Step) string {
	names := make([]string, len(list))
	for i, s := range list {
		names[i] = s.Mutator
	}
	return strings.Join(names, " + ")
}
