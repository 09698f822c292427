// Package audit reads Go benchmarks and says which of them measure something
// else than they seem to: a call that the compiler deletes, a loop that does not
// run b.N times, an input that the first iteration uses up.
//
// It reads source, and the machine code that the compiler makes of it. It runs nothing. A rule
// reports only faults that the text proves, since a false alarm costs a reader more than a missed
// mistake: [Rules] lists them.
package audit

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Mistake is a mistake in a benchmark.
type Mistake struct {
	Rule      string `json:"rule"`
	Benchmark string `json:"benchmark"` // the declared function that holds it
	File      string `json:"file"`      // relative to the audited directory, with slashes
	Line      int    `json:"line"`
	Column    int    `json:"column"`
	Reason    string `json:"reason"`
	Remedy    string `json:"remedy"`
}

// A Report holds the findings of an audit.
type Report struct {
	Benchmarks int       `json:"benchmarks"` // that were read
	Findings   []Mistake `json:"findings"`
}

// A Rule is a mistake that is looked for.
type Rule struct {
	ID   string `json:"id"`
	Text string `json:"text"` // the fault, in one sentence

	check func(*pass)
}

// Rules are all rules, by their IDs.
var Rules = []Rule{
	{"constant-call", "The compiler computes a call with constant arguments itself.", constantCalls},
	{"dead-result", "Nobody uses the result of a call, and the compiler deletes the call.", deadResults},
	{"input-used-up", "The first iteration sorts or reads what the others get.", usedUp},
	{"loop-condition", "b.Loop is not the whole condition of a loop.", loopConditions},
	{"n-as-size", "b.N is a size of the input, and not the number of iterations.", wrongSizes},
	{"n-changed", "The benchmark assigns to b.N.", assignments},
	{"no-loop", "The benchmark does its work once, whatever b.N is.", loopless},
	{"quadratic", "A loop over b.N stands within another, so that the work of an iteration grows with b.N.", nested},
	{"setup-timed", "Work before the loop is measured with it.", setups},
	{"timer-in-loop", "The timer is reset, or stopped for good, within the loop.", timers},
}

// Options say what to audit.
type Options struct {
	Dir      string   // default the current one
	Patterns []string // of packages, as the go command has them; default "."
	Tags     []string // build tags
}

// Run audits the benchmarks of packages. Packages that do not type-check are a
// [beagle.UsageError]: findings on them would be guesses.
func Run(ctx context.Context, o Options) (*Report, error) {
	dir, err := filepath.Abs(cmp.Or(o.Dir, "."))
	if err != nil {
		return nil, err
	}
	if len(o.Patterns) == 0 {
		o.Patterns = []string{"."}
	}
	pkgs, err := load(ctx, dir, o)
	if err != nil {
		return nil, err
	}
	// Run every rule on every benchmark.
	out := &Report{Findings: []Mistake{}}
	for _, p := range pkgs {
		list := benchmarksOf(p)
		if len(list) == 0 {
			continue
		}
		machine, err := codeOf(ctx, dir, p, names(list), o.Tags)
		if err != nil {
			return nil, err
		}
		for _, b := range list {
			if b.declared {
				out.Benchmarks++
			}
			x := &pass{benchmark: b, code: machine[b.name], dir: dir}
			for i := range Rules {
				x.rule = &Rules[i]
				Rules[i].check(x)
			}
			out.Findings = append(out.Findings, x.found...)
		}
	}
	// Sort by place. Two benchmarks may share a finding.
	inorder.By(out.Findings, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Rule, b.Rule))
	})
	out.Findings = slices.Compact(out.Findings)
	return out, nil
}

// load type-checks packages with their tests.
func load(ctx context.Context, dir string, o Options) ([]*packages.Package, error) {
	conf := &packages.Config{
		Context: ctx, Dir: dir, Tests: true,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedForTest,
	}
	if len(o.Tags) > 0 {
		conf.BuildFlags = []string{"-tags=" + strings.Join(o.Tags, ",")}
	}
	pkgs, err := packages.Load(conf, o.Patterns...)
	if err != nil {
		return nil, fmt.Errorf("list the packages: %w", err)
	}
	var out []*packages.Package
	for _, p := range pkgs {
		if len(p.Errors) > 0 {
			if e := p.Errors[0]; len(p.GoFiles) == 0 && e.Kind == packages.ListError {
				return nil, &beagle.UsageError{What: fmt.Sprintf("there is no package %s: %s", p.PkgPath, e.Msg),
					Remedy: "name packages that are there: beagle audit ./pkg, or ./... for all"}
			}
			// The go command's errors have a first line that names the package.
			_, why, listed := strings.Cut(p.Errors[0].Error(), "]\n")
			if !listed {
				why = p.Errors[0].Error()
			}
			return nil, &beagle.UsageError{
				What:   fmt.Sprintf("package %s does not compile: %s", p.PkgPath, why),
				Remedy: "mend it, or name other packages: beagle audit ./pkg",
			}
		}
		// The package with its tests also holds the package without them.
		if p.ForTest != "" {
			out = append(out, p)
		}
	}
	return out, nil
}

// A pass is a rule at work on a benchmark.
type pass struct {
	*benchmark
	code  *code
	dir   string
	rule  *Rule
	found []Mistake
}

// report notes a finding at a place.
func (x *pass) report(at token.Pos, reason, remedy string) {
	p := x.pkg.Fset.Position(at)
	file := p.Filename
	if rel, err := filepath.Rel(x.dir, file); err == nil {
		file = rel
	}
	x.found = append(x.found, Mistake{
		Rule: x.rule.ID, Benchmark: x.name, File: filepath.ToSlash(file), Line: p.Line, Column: p.Column,
		Reason: reason, Remedy: remedy,
	})
}
