package benchfile

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
)

// A loop is the place from which a benchmark calls its target again and again.
type loop struct {
	file     string
	from, to int64 // its lines
}

// part finds the loop of each benchmark that holds most samples of the target, and the share of
// these loops' time that is the target's. symbols are the target's names. Preparation in front of
// the loop, and other goroutines, count on neither side.
func part(all []*hotspots.Profile, symbols []string) *beagle.BenchmarkPart {
	var stacks [][]place
	var counts []float64
	for _, p := range all {
		for _, s := range p.Pprof.Sample {
			stacks = append(stacks, fromRoot(s))
			counts = append(counts, float64(s.Value[0]))
		}
	}
	sources, below := parsed{}, map[string]map[loop]float64{}
	for i, stack := range stacks {
		if at := slices.IndexFunc(stack, named(symbols)); at >= 0 {
			if l, ok := sources.calls(stack[:at]); ok {
				name := benchmark(stack)
				if below[name] == nil {
					below[name] = map[loop]float64{}
				}
				below[name][l] += counts[i]
			}
		}
	}
	if len(below) > 1 {
		delete(below, "") // a test's main function or goroutines of others call it too
	}
	targets, whole := 0.0, 0.0
	for name, loops := range below {
		best, most := loop{}, 0.0
		for l, n := range loops {
			if n > most {
				best, most = l, n
			}
		}
		targets += most
		for i, stack := range stacks {
			if benchmark(stack) == name && slices.ContainsFunc(stack, best.holds) {
				whole += counts[i]
			}
		}
	}
	if targets == 0 {
		return nil
	}
	return &beagle.BenchmarkPart{Share: targets / whole, Samples: whole}
}

// benchmark names the benchmark function of a stack, whose closures count for it; "" without one.
func benchmark(stack []place) string {
	for _, p := range stack {
		before, name, _ := strings.Cut(p.function[strings.LastIndexByte(p.function, '/')+1:], ".")
		if name, _, _ := strings.Cut(name, "."); strings.HasPrefix(name, "Benchmark") {
			return before + "." + name
		}
	}
	return ""
}

// A place is a frame of a stack.
type place struct {
	function, file string
	line           int64
}

func named(symbols []string) func(place) bool {
	return func(p place) bool { return slices.Contains(symbols, p.function) }
}

func (l loop) holds(p place) bool { return p.file == l.file && l.from <= p.line && p.line <= l.to }

// fromRoot returns a sample's stack, callers first.
func fromRoot(s *profile.Sample) (out []place) {
	for _, l := range slices.Backward(s.Location) {
		for _, f := range slices.Backward(l.Line) {
			if f.Function != nil {
				out = append(out, place{f.Function.Name, f.Function.Filename, f.Line})
			}
		}
	}
	return out
}

// parsed are the loops of source files, nil for a file that cannot be read.
type parsed map[string][]span

// A span is a function, a function literal or a loop, by its lines.
type span struct {
	from, to int64
	loop     bool
}

// calls returns the outermost loop of the first caller that calls from within one. Package testing
// calls a benchmark with b.N in a loop, which is around its preparation too.
func (p parsed) calls(callers []place) (loop, bool) {
	for _, c := range callers {
		if strings.HasPrefix(c.function, "testing.") {
			continue
		}
		if l, ok := p.outermost(c.file, c.line); ok {
			return l, true
		}
	}
	return loop{}, false
}

// outermost returns the outermost loop around a line, within the innermost function around it.
func (p parsed) outermost(file string, line int64) (loop, bool) {
	if _, ok := p[file]; !ok {
		p[file] = spans(file)
	}
	var found *span
	for i := range p[file] { // those that hold others come first
		s := &p[file][i]
		switch {
		case line < s.from || s.to < line:
		case !s.loop:
			found = nil
		case found == nil:
			found = s
		}
	}
	if found == nil {
		return loop{}, false
	}
	return loop{file, found.from, found.to}, true
}

func spans(file string) (out []span) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil // of a generated or a foreign place: its loops are not known
	}
	for n := range ast.Preorder(f) {
		s := span{from: int64(fset.Position(n.Pos()).Line), to: int64(fset.Position(n.End()).Line)}
		switch n.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			s.loop = true
			out = append(out, s)
		case *ast.FuncDecl, *ast.FuncLit:
			out = append(out, s)
		}
	}
	return out
}
