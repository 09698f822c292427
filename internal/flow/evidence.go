package flow

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/llm"
)

// evidence gathers what a model is told for a proposal. It is the same
// whenever it is asked: everything comes from the proposal and the store.
func (x *session) evidence(ctx context.Context, p evolve.Proposal) (*llm.Evidence, error) {
	e := &llm.Evidence{
		Kind: llm.Improve, Redact: x.spec.Redacted(), Target: &x.unit.Target, Facets: x.inputs.facets(),
		Callees: x.models.callees, Lessons: x.models.lessons,
	}
	parent, err := x.version(ctx, p.Parent)
	if err != nil {
		return nil, err
	}
	e.Parent = *parent
	if p.Mate != "" {
		if e.Mate, err = x.version(ctx, p.Mate); err != nil {
			return nil, err
		}
		e.Kind = llm.Crossover
	}
	for _, id := range p.Examples {
		v, err := x.version(ctx, id)
		if err != nil {
			return nil, err
		}
		e.Good = append(e.Good, *v)
	}
	for _, id := range p.Tried {
		t, err := x.attempt(id, p)
		if err != nil {
			return nil, err
		}
		e.Tried = append(e.Tried, *t)
	}
	return e, nil
}

// version is a candidate as a model is shown it.
func (x *session) version(ctx context.Context, id string) (*llm.Version, error) {
	c, err := x.works.candidate(id)
	if err != nil {
		return nil, err
	}
	v := &llm.Version{ID: id, Source: c.Source, Steps: c.Steps, Profile: x.rewriter.work.shares(c.Source), Static: x.ready.Root.Static}
	if id == x.works.root.ID {
		v.Assembly, err = x.assembly(ctx)
		return v, err
	}
	if o, ok := x.works.verdict(id); ok {
		v.Static, v.Ratio = o.Static, o.Screen
		v.Classes = inputClasses(o.Classes)
	}
	return v, nil
}

// attempt is what became of a candidate. What its last step bought is told of
// parents that the proposal names: of others the store may learn something at any
// time, and the prompt would not be the same when it is made again.
func (x *session) attempt(id string, p evolve.Proposal) (*llm.Attempt, error) {
	c, err := x.works.candidate(id)
	if err != nil {
		return nil, err
	}
	v, _ := x.works.verdict(id)
	t := &llm.Attempt{
		Note: c.Note, Status: v.Status, Stage: v.Stage, Reason: v.Reason,
		Ratio: v.Screen, Counterexample: v.Counterexample,
	}
	if ce := v.Counterexample; ce != nil && ce.Difference() != "" {
		t.Reason = ce.Difference() // the values are in the counterexample
	}
	t.Steps = slices.Clone(c.Steps)
	for i := range t.Steps {
		if t.Steps[i].Mutator == evolve.Written {
			t.Steps[i].Param = "" // an ID, which says nothing to a model
		}
	}
	if n := len(c.Steps); n > 0 {
		t.By = label(c.Steps[n-1])
	}
	for _, k := range v.Classes {
		if evolve.Pays(k) {
			t.Slower = append(t.Slower, inputClasses([]beagle.ClassRatio{k})...)
		}
	}
	if v.Screen == nil || len(c.Parents) == 0 || !names(p, c.Parents[0]) {
		return t, nil
	}
	if before, ok := x.works.verdict(c.Parents[0]); ok && before.Screen != nil {
		gain := v.Screen.Over(*before.Screen)
		t.Gain = &gain
	}
	return t, nil
}

func inputClasses(list []beagle.ClassRatio) []llm.InputClass {
	var out []llm.InputClass
	for _, k := range list {
		out = append(out, llm.InputClass{Name: k.Name, Share: k.Share, Ratio: &k.Ratio})
	}
	return out
}

// names reports whether a proposal speaks of a candidate, so that the search
// knew it when it made the proposal.
func names(p evolve.Proposal, id string) bool {
	return id == p.Parent || id == p.Mate || slices.Contains(p.Examples, id) || slices.Contains(p.Tried, id)
}

// label names who took a step: a rewrite, or a model.
func label(s beagle.Step) string {
	if s.Site == handedIn {
		return handedIn
	}
	if s.Mutator == evolve.Written {
		return "model " + s.Site
	}
	return s.Mutator
}

// assembly is the compiler's for the original, made once a run and never while
// something is being timed.
func (x *session) assembly(ctx context.Context) ([]llm.Instruction, error) {
	if known := x.models.assembly.Load(); known != nil {
		return *known, nil
	}
	is, err := once(x.works, "assembly", x.works.root.ID, "", func() ([]harness.Instruction, error) { return x.lab.assembly(ctx) })
	out := make([]llm.Instruction, len(is))
	for i, in := range is {
		out[i] = llm.Instruction(in)
	}
	if err == nil {
		x.models.assembly.Store(&out)
	}
	return out, err
}

// callees are the functions outside its scope that the target calls, with
// their text when they are of the same package.
func (x *session) callees() []llm.Callee {
	f, problem := x.unit.Parse(x.works.root.Source)
	if problem != nil {
		return nil
	}
	calls := map[string]int{}
	own := map[string]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		fn, ok := f.Info.Uses[id].(*types.Func)
		if !ok || fn.Pkg() == nil || x.inScope(fn) {
			return true
		}
		name := mutate.FuncName(fn)
		if fn.Pkg() == f.Types {
			own[name] = true
		} else {
			name = fn.Pkg().Name() + "." + name
		}
		calls[name]++
		return true
	})
	texts := x.declarations(own)
	out := make([]llm.Callee, 0, len(calls))
	for name := range calls {
		out = append(out, llm.Callee{Name: name, Source: texts[name]})
	}
	sort.Slice(out, func(i, j int) bool { // those with a text first, then by how often they are named
		a, b := out[i], out[j]
		if (a.Source != "") != (b.Source != "") {
			return a.Source != ""
		}
		if calls[a.Name] != calls[b.Name] {
			return calls[a.Name] > calls[b.Name]
		}
		return a.Name < b.Name
	})
	return out
}

func (x *session) inScope(fn *types.Func) bool {
	name := mutate.FuncName(fn)
	return fn.Pkg().Path() == x.unit.Target.PkgPath &&
		slices.ContainsFunc(x.unit.Target.Scope, func(d beagle.Decl) bool { return d.Name == name })
}

// declarations are the texts of functions of the target's package by name.
func (x *session) declarations(names map[string]bool) map[string]string {
	out := map[string]string{}
	for _, path := range x.unit.Files() {
		if filepath.Dir(path) != x.unit.Target.PkgDir || len(names) == 0 {
			continue
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			continue // what the compiler takes and we cannot read is left out
		}
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if name := llm.Declared(fd)[0]; names[name] {
				out[name] = printed(fset, fd)
			}
		}
	}
	return out
}

// compilerWords is a problem with its place, as a compiler says it.
func compilerWords(message string, line int, src string) string {
	lines := strings.Split(src, "\n")
	if line < 1 || line > len(lines) {
		return message
	}
	return fmt.Sprintf("line %d: %s\n\t%s", line, message, strings.TrimSpace(lines[line-1]))
}
