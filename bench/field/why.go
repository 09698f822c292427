package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/types"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/modcopy"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
	"github.com/beagle-go/beagle/suite/commits/change"
)

// A reasonCounts holds the counts of the verb why: versions that the rules make of functions of the
// development half, and functions that they cannot reach.
type reasonCounts struct {
	options
	code    bool
	commits bool // functions before performance commits instead of drawn ones

	seen           int // functions
	unread         int // of these, those that cannot be read
	withoutVersion int // functions without a version
	barred         int // functions with versions, all of which the policy refuses

	versions  int // that compile
	forbidden int // of these, versions that the policy refuses

	rules map[string]int // functions in which a rule makes a version
	no    map[string]int // refusals, by rule and reason
	out   io.Writer
	shelf *shelf[result]
}

func (w *reasonCounts) flags(f *flag.FlagSet) {
	w.half = development
	f.StringVar(&w.root, "root", ".", "root of Beagle's repository")
	f.StringVar(&w.dir, "dir", "", "keep modules in this `directory`, and read the results that a sample left there")
	f.StringVar(&w.run, "run", "", "take only functions whose module and name match this `regexp`")
	f.IntVar(&w.n, "n", 40, "functions to take")
	f.IntVar(&w.per, "per", 2, "functions of a module at most")
	f.Uint64Var(&w.seed, "seed", 16, "seed of the draw")
	f.BoolVar(&w.commits, "commits", false, "take functions as they were before performance commits, and draw none")
	f.BoolVar(&w.code, "code", false, "print the code that rules may change")
}

// look draws functions and examines each.
func (w *reasonCounts) look(ctx context.Context, out, progress io.Writer) error {
	// Check the flags.
	if w.dir == "" {
		return errors.New("why needs -dir, where modules and the results of a sample lie")
	}
	w.jobs = 1
	if err := w.check(); err != nil {
		return err
	}
	w.rules, w.no, w.out = map[string]int{}, map[string]int{}, out
	if w.commits {
		return w.examineCommits(ctx)
	}
	// Read the modules, and the results of a sample.
	modules, err := readModules(filepath.Join(w.root, "bench", "field", "modules.txt"))
	if err != nil {
		return err
	}
	if w.shelf, err = openShelf(filepath.Join(w.dir, "results.jsonl"), func(r *result) (string, bool) {
		return r.Key, r.Half == development
	}); err != nil {
		return err
	}
	// Draw functions.
	d := &drawer{dir: w.dir, seed: w.seed, say: func(format string, args ...any) {
		fmt.Fprintf(progress, format+"\n", args...)
	}}
	if err := d.open(); err != nil {
		return err
	}
	for _, m := range d.order(modules) {
		if w.seen >= w.n || ctx.Err() != nil {
			break
		}
		functions, err := d.draw(ctx, m, development, w.per)
		if err != nil {
			d.say("%s is left out: %v", m.path, err)
			continue
		}
		// Examine each.
		for _, f := range functions {
			if !w.wanted.MatchString(f.path + " " + f.Spec) {
				continue
			}
			if err := w.explain(ctx, f); err != nil {
				w.cannot(err)
			}
		}
	}
	w.total()
	return nil
}

// explain reports the versions that the rules make of a function.
func (w *reasonCounts) explain(ctx context.Context, f function) error {
	fmt.Fprintf(w.out, "\n%s %s\n", f.path, f.Spec)
	w.seen++
	dir, err := modcopy.Get(ctx, filepath.Join(w.dir, "mod"), f.path, f.version)
	if err != nil {
		return err
	}
	if r := w.shelf.get(f.key()); r != nil {
		fmt.Fprintf(w.out, "  sample: %s\n", r.words())
	}
	return w.examineFunction(ctx, dir, f.Spec)
}

// examineCommits examines the functions of the development half of the commits, as they were before
// them.
func (w *reasonCounts) examineCommits(ctx context.Context) error {
	entries, err := change.All()
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Half() != development || w.seen >= w.n || !w.wanted.MatchString(e.Name()) {
			continue
		}
		w.seen++
		fmt.Fprintf(w.out, "\n%s\n", e.Name())
		dir, _, err := e.Candidate(ctx, w.dir)
		if err == nil {
			err = w.examineFunction(ctx, dir, e.Function)
		}
		if err != nil {
			w.cannot(err)
		}
	}
	w.total()
	return ctx.Err()
}

// cannot reports why a function cannot be read.
func (w *reasonCounts) cannot(err error) {
	w.unread++
	fmt.Fprintf(w.out, "  cannot be read: %v\n", err)
}

// examineFunction reports on a function of a directory.
func (w *reasonCounts) examineFunction(ctx context.Context, dir, spec string) error {
	u, err := source.Load(ctx, source.Options{Dir: dir, Spec: spec, InPlace: true, Env: []string{"GOWORK=off"}})
	if err != nil {
		return err
	}
	p, err := passOf(u)
	if err != nil {
		return err
	}
	if w.code {
		fmt.Fprintf(w.out, "%s\n", p.Src)
	}
	fmt.Fprintf(w.out, "  it may change: %d lines, %s\n", strings.Count(string(p.Src), "\n"), declared(p))
	if out := unreached(p); len(out) > 0 {
		fmt.Fprintf(w.out, "  it calls, and may not change: %s\n", strings.Join(out, ", "))
	}
	return w.ask(ctx, u, p)
}

// passOf returns the rules' view of a function, under the most favourable inputs.
func passOf(u *source.Unit) (*mutate.Pass, error) {
	src, _ := u.Copies.Widen(u.Target.Source)
	f, problem := u.Reader.Parse(src)
	if problem != nil {
		return nil, errors.New(problem.Message)
	}
	return &mutate.Pass{
		Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
		Background: mutate.Background{
			Target: &u.Target, Facets: favourable(&u.Target), Guard: new(mutate.Guard),
			Weight: func(ast.Node) float64 { return 1 }, Unchanged: u.Package.Unchanged(),
			Elsewhere: func(name string) *mutate.Pass { return originalPass(u, name) },
		},
	}, nil
}

// originalPass returns the rules' view of another function of the package, or nil.
func originalPass(u *source.Unit, name string) *mutate.Pass {
	f := u.Package.Original(name)
	if f == nil {
		return nil
	}
	return mutate.InPlace(&mutate.Pass{
		Src: []byte(f.Src), Fset: f.Fset, File: f.AST, Pkg: f.Types, Info: f.Info, Func: f.Func,
		Background: mutate.Background{Unchanged: u.Package.Unchanged()},
	})
}

// ask lists the versions that the rules make of a function, and the refusals. The policy reads each
// version as it would in a search.
func (w *reasonCounts) ask(ctx context.Context, u *source.Unit, p *mutate.Pass) error {
	versions, allowed := 0, 0
	env := &verify.Env{Unit: u, InPlace: u.Unrecordable != nil}
	for _, m := range rules.Default {
		made := map[string]bool{}
		// Make each version that the rule offers.
		for _, c := range mutate.Choices(p, m) {
			label, _, _ := strings.Cut(c.SiteName, "\n")
			text, _, err := mutate.Take(p, m, c.Site, c.Param)
			src, reason := "", ""
			if err == nil {
				if src, err = u.Reader.Canonical(text); err == nil {
					src, err = u.Copies.Narrow(src)
				}
			}
			// Note why a text is not a version.
			if err != nil {
				reason = "refused: " + err.Error()
			} else if _, problem := u.Reader.Parse(src); problem != nil {
				reason = "does not compile: " + problem.Message
			}
			if reason != "" {
				fmt.Fprintf(w.out, "  %s at %s: %s\n", m.Name, label, reason)
				w.no[m.Name+": "+reason]++
				continue
			}
			// Read the policy's verdict on it.
			v, err := verify.Static(ctx, env, beagle.NewCandidate(src, nil, nil), nil)
			if err != nil {
				return err
			}
			if versions++; !v.OK() {
				w.forbidden++
				fmt.Fprintf(w.out, "  %s at %s: %s\n", m.Name, label, strings.ReplaceAll(v.Reason, "\n", "\n    "))
				for _, kind := range kindsOf(v.Reason) {
					w.no[string(v.Status)+": "+kind]++
				}
				continue
			}
			made[label] = true
			allowed++
		}
		// Print the rule's versions.
		if len(made) > 0 {
			w.rules[m.Name]++
			fmt.Fprintf(w.out, "  %s: %s\n", m.Name, strings.Join(slices.Sorted(maps.Keys(made)), "; "))
		}
	}
	// Count functions without versions, and those of which the policy refuses all.
	w.versions += versions
	switch {
	case versions == 0:
		w.withoutVersion++
		fmt.Fprintln(w.out, "  no rule makes a version")
	case allowed == 0:
		w.barred++
		fmt.Fprintln(w.out, "  the policy refuses all versions")
	}
	return nil
}

// named matches the names by which reasons of one kind differ.
var named = regexp.MustCompile(`(variable|argument|type|field|function|call of|memory of|in|into) [\w/.()*-]+`)

// kindsOf returns the kinds of reasons for which the policy refuses a version, each once: their
// words without lines and names.
func kindsOf(reason string) []string {
	var out []string
	for line := range strings.SplitSeq(reason, "\n") {
		if _, words, ok := strings.Cut(line, ": "); ok { // the last line may count the rest
			out = append(out, named.ReplaceAllString(words, "$1 ..."))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// declared names what a candidate of the function holds.
func declared(p *mutate.Pass) string {
	var out []string
	for _, d := range p.File.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			out = append(out, fn.Name.Name)
		}
	}
	return strings.Join(out, ", ")
}

// unreached names the functions of the same package that a candidate calls and does not hold.
func unreached(p *mutate.Pass) []string {
	found := map[string]bool{}
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		fn, ok := p.Callee(call).(*types.Func)
		if !ok || fn.Pkg() != p.Pkg || p.Decl(fn) != nil {
			continue
		}
		found[syntax.FuncName(fn)] = true
	}
	return slices.Sorted(maps.Keys(found))
}

// total sums up all functions.
func (w *reasonCounts) total() {
	fmt.Fprintf(w.out, "\n%d functions; of %d no rule makes a version\n", w.seen, w.withoutVersion)
	fmt.Fprintf(w.out, "of %d more the policy refuses all versions; %d cannot be read\n", w.barred, w.unread)
	fmt.Fprintf(w.out, "%d versions; the policy refuses %d\n", w.versions, w.forbidden)
	for _, n := range byCount(w.rules) {
		fmt.Fprintf(w.out, "%5d %s\n", w.rules[n], n)
	}
	if len(w.no) > 0 {
		fmt.Fprintln(w.out, "versions without a result:")
	}
	for _, n := range byCount(w.no) {
		fmt.Fprintf(w.out, "%5d %s\n", w.no[n], n)
	}
}

// byCount sorts names, the most frequent first.
func byCount(counts map[string]int) []string {
	names := slices.Sorted(maps.Keys(counts))
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return names
}
