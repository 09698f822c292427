package inject

import (
	"context"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// canInline matches the compiler's note on a function that it inlines.
var canInline = regexp.MustCompile(`^(?:\./)?(\S+\.go):(\d+):\d+: can inline .* with cost (\d+) as:`)

// inlined asks the compiler which functions it inlines, and at which cost. It is for a warning: a
// package that does not compile here is left out.
func (o *Options) inlined(ctx context.Context, funcs []*function) map[*function]int {
	costs := map[*function]int{}
	asked := map[string]bool{}
	for _, f := range funcs {
		if asked[f.pkg.PkgPath] {
			continue
		}
		asked[f.pkg.PkgPath] = true
		args := append([]string{"list", "-export", "-gcflags=-m=2"}, o.Flags...) // compiles and does not link
		cmd := exec.CommandContext(ctx, "go", append(args, f.pkg.PkgPath)...)
		cmd.Dir = o.Dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			continue
		}
		note(costs, funcs, string(out))
	}
	return costs
}

// note reads the compiler's words.
func note(costs map[*function]int, funcs []*function, said string) {
	for line := range strings.Lines(said) {
		m := canInline.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for _, f := range funcs {
			at := f.pkg.Fset.PositionFor(f.decl.Pos(), false)
			if filepath.Base(m[1]) == filepath.Base(at.Filename) && m[2] == strconv.Itoa(at.Line) {
				costs[f], _ = strconv.Atoi(m[3])
			}
		}
	}
}
