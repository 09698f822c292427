package audit

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/tail"
)

// A code is the machine code of a declared function and the functions in it.
type code struct {
	lines map[place]bool // that have an instruction
	calls map[place]bool // that have a call
}

// A place is a line of a file, as programs tell it: by the file's base name.
type place struct {
	file string
	line int
}

// codeOf returns the machine code of functions of a package's tests, by their names. It has the go
// command build the tests, which keeps them for the next time.
func codeOf(ctx context.Context, dir string, p *packages.Package, names, tags []string) (map[string]*code, error) {
	scratch, err := os.MkdirTemp("", "beagle-audit")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(scratch)
	binary := filepath.Join(scratch, "tests")
	args := []string{"test", "-c", "-vet=off", "-buildvcs=false", "-ldflags=-w", "-o", binary} // the symbols are read
	if len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	build := exec.CommandContext(ctx, "go", append(args, p.ForTest)...)
	build.Dir = dir
	if says, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the tests of %s: %w\n%s", p.ForTest, err, tail.Last(string(says), 5))
	}
	dump := exec.CommandContext(ctx, "go", "tool", "objdump", "-s", `\.(`+strings.Join(names, "|")+`)(\.|$)`, binary)
	dump.Dir = dir
	var says bytes.Buffer
	dump.Stderr = &says
	out, err := dump.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := dump.Start(); err != nil {
		return nil, err
	}
	found := readCode(out)
	if err := dump.Wait(); err != nil {
		return nil, fmt.Errorf("disassemble the tests of %s: %w\n%s", p.ForTest, err, tail.Last(says.String(), 5))
	}
	return found, nil
}

var instruction = regexp.MustCompile(`^\s+([^\s:]+\.go):(\d+)\s+0x[0-9a-f]+\s+[0-9a-f]+\s+(\S+)`)

// readCode reads what objdump prints. Lines that it does not know say nothing.
func readCode(r io.Reader) map[string]*code {
	out := map[string]*code{}
	var at *code
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		text := lines.Text()
		if rest, ok := strings.CutPrefix(text, "TEXT "); ok {
			name := declared(rest)
			if at = out[name]; at == nil {
				at = &code{map[place]bool{}, map[place]bool{}}
				out[name] = at
			}
			continue
		}
		m := instruction.FindStringSubmatch(text)
		if m == nil || at == nil {
			continue
		}
		n, _ := strconv.Atoi(m[2])
		at.lines[place{m[1], n}] = true
		if m[3] == "CALL" {
			at.calls[place{m[1], n}] = true
		}
	}
	_, _ = io.Copy(io.Discard, r) // what follows a line that is too long
	return out
}

// declared returns the name of the declared function that a symbol belongs to: BenchmarkX of
// path/to/pkg.BenchmarkX.func1(SB).
func declared(symbol string) string {
	symbol = symbol[strings.LastIndexByte(strings.SplitN(symbol, "(SB)", 2)[0], '/')+1:]
	parts := strings.Split(strings.SplitN(symbol, "(SB)", 2)[0], ".")
	if len(parts) < 2 {
		return symbol
	}
	return parts[1]
}

// isEliminated reports whether nothing is left of a call: its line calls nothing, and no
// instruction belongs to the function that it calls.
func (c *code) isEliminated(at place, from place, last int) bool {
	if c == nil || len(c.lines) == 0 || c.calls[at] {
		return false
	}
	for l := range c.lines {
		if l.file == from.file && l.line >= from.line && l.line <= last {
			return false
		}
	}
	return true
}

// names returns those of declared functions that hold benchmarks, each once.
func names(list []*benchmark) []string {
	var out []string
	for _, b := range list {
		out = append(out, regexp.QuoteMeta(b.name))
	}
	inorder.Sort(out)
	return slices.Compact(out)
}
