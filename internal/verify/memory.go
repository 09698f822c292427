package verify

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ssa"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// memory allows a candidate to write two kinds of memory: memory that it made in the same call, and
// memory that the original writes too. It refuses all other writes, by any road: package variables,
// memory that library functions share or return, arguments that the original only reads. Results,
// and values stored behind arguments, may not lead into memory that outlives the call. Nor may it
// run code that it receives, and that the original does not run.
func memory(c *code, report reporter) {
	fns, target, err := c.functions()
	if err != nil {
		report(c.fn, unread, "the file", fmt.Sprintf("the analysis of its memory failed: %v", err))
		return
	}
	c.ssaFuncs = fns
	findings := c.findings(fns, target)
	for _, f := range fns {
		found := findings(f)
		if found == nil {
			c.reportTooLong(f, report)
			continue
		}
		m := &memoryReport{code: c, fn: target, report: report}
		m.reportShared(found)
		for _, w := range found.Keeps {
			m.report(m.place(w.Pos), keptState+f.Name(), m.write(w), seenWhy)
		}
		m.methods(found)
		if m.name = c.entry(f); m.name != "" || f == target {
			m.fn = f
			m.arguments(found)
			m.received(found)
			m.results(found)
		}
	}
	c.initialisers(findings(target.Pkg.Func("init")), target, report)
}

// initialisers reports what the version's package variables do while the program starts, beyond
// getting their own values.
func (c *code) initialisers(found *effects.Effects, target *ssa.Function, report reporter) {
	if found == nil {
		report(c.fn, unread, "the file", "the analysis of its package variables takes too long")
		return
	}
	found.Writes = slices.DeleteFunc(found.Writes, func(w effects.Effect) bool {
		name, local := strings.CutPrefix(w.Ref.Name, c.pkg.Path()+".")
		obj := c.pkg.Scope().Lookup(name)
		return local && (obj == nil || c.declares(obj)) // the guard of the initialisation has no object
	})
	m := &memoryReport{code: c, fn: target, report: report}
	m.reportShared(found)
	m.methods(found)
}

// entry is the name of a function of a group that others call; "" for any other function.
func (c *code) entry(f *ssa.Function) string {
	if fn, ok := f.Object().(*types.Func); ok && c.entries[syntax.FuncName(fn)] {
		return syntax.FuncName(fn)
	}
	return ""
}

// findings analyses the file. A function of a group that takes too long leaves the others: then
// each is analysed with those that it calls, and what takes too long alone has no findings.
func (c *code) findings(fns []*ssa.Function, target *ssa.Function) (of func(*ssa.Function) *effects.Effects) {
	if c.entries == nil {
		return c.analysed(fns, target).Effects
	}
	defer func() {
		if p := recover(); p != nil {
			if p != effects.TooLong {
				panic(p)
			}
			of = c.analyseApart(fns, target)
		}
	}()
	return c.analysed(fns, target).Effects
}

// groupSteps bounds the analysis of a group as a whole; beyond it, the policy reads functions
// apart.
const groupSteps = 1 << 19

// memberSteps bounds the analysis of one function of a group.
const memberSteps = 1 << 16

func (c *code) analyseApart(fns []*ssa.Function, target *ssa.Function) func(*ssa.Function) *effects.Effects {
	out := map[*ssa.Function]*effects.Effects{}
	summaries := map[types.Object]*effects.Summary{}
	own := func(g *ssa.Function) bool { return g.Pkg == target.Pkg || g.Pkg == nil }
	study := &helperStudy{target.Prog, own, c.table(), func(p *effects.Program, f ...*ssa.Function) {
		out[f[0]] = p.Effects(f[0])
		if f[0].Object() != nil {
			summaries[f[0].Object()] = p.SummaryOf(f[0])
		}
	}}
	for _, f := range append(fns, target.Pkg.Func("init")) {
		study.analyseOne(f, fns, memberSteps)
	}
	c.summaries = summaries
	return func(f *ssa.Function) *effects.Effects { return out[f] }
}

// reportTooLong reports a function that cannot be analysed. Only the original's own text excuses
// it.
func (c *code) reportTooLong(f *ssa.Function, report reporter) {
	var at ast.Node = c.fn
	if f.Syntax() != nil {
		at = f.Syntax()
	}
	from, to := c.fset.Position(at.Pos()).Offset, c.fset.Position(at.End()).Offset
	report(at, "memory of "+f.Name()+" "+c.src[from:to], "function "+f.Name(),
		"the analysis of its memory takes too long, so only the original's own text is allowed")
}

// candidateSteps bounds the analysis of one version.
const candidateSteps = 1 << 22

// analysed returns the analysis of the file's functions.
func (c *code) analysed(fns []*ssa.Function, target *ssa.Function) *effects.Program {
	p := effects.NewProgram(target.Prog, func(f *ssa.Function) bool {
		return f.Pkg == target.Pkg || f.Pkg == nil
	}, c.table())
	p.Limit = candidateSteps
	if c.entries != nil {
		p.Limit = groupSteps
	}
	p.Values(append([]*ssa.Function{target.Pkg.Func("init")}, fns...))
	p.Analyse(append(fns, target.Pkg.Func("init")))
	c.summaries = make(map[types.Object]*effects.Summary)
	for _, f := range fns {
		if f.Object() != nil {
			c.summaries[f.Object()] = p.SummaryOf(f)
		}
	}
	return p
}

// ownSummary returns the effects of a function of the file, or nil if they are unknown.
func (c *code) ownSummary(fn *types.Func) *effects.Summary { return c.summaries[syntax.Origin(fn)] }

type memoryReport struct {
	*code
	fn     *ssa.Function
	name   string // of fn, where it is one function of a group
	report reporter
}

// A place is a position that stands for a node in a report.
type place token.Pos

func (p place) Pos() token.Pos { return token.Pos(p) }
func (p place) End() token.Pos { return token.Pos(p) }

func (m *memoryReport) place(pos token.Pos) ast.Node {
	if pos < m.file.FileStart || pos > m.file.FileEnd {
		return m.fn.Syntax()
	}
	return place(pos)
}

// keptState begins the key of a function value that outlives the call and keeps state. The name of
// the function that makes it follows: what one function's values keep may end with the call, and
// excuses none of another.
const keptState = "state kept by a function value of "

const seenWhy = "the next call would see what one call leaves there"

// reportShared reports the effects of a function of the file on memory that outlives the call.
func (m *memoryReport) reportShared(found *effects.Effects) {
	for _, w := range found.Writes {
		if w.Ref.Kind == effects.Shared {
			m.report(m.place(w.Pos), "write "+w.Ref.Name+doubt(w.Ref), m.write(w), seenWhy)
		}
	}
	for i, w := range found.Stores {
		if into := found.Into[i]; into.Kind == effects.Shared &&
			(w.Ref.Kind == effects.Top || w.Ref.Kind == effects.Deep) {
			m.report(m.place(w.Pos), "keep "+into.Name, "memory of an argument kept in "+m.sourceName(into), seenWhy)
		}
	}
	for _, w := range found.Panics {
		if w.Ref.Kind == effects.Shared {
			m.report(m.place(w.Pos), "share "+w.Ref.Name, "panic with memory of "+m.sourceName(w.Ref),
				"code that recovers the panic would share that memory with every other call")
		}
	}
	for _, w := range found.Runs {
		if w.Ref.Kind == effects.Shared {
			m.report(m.place(w.Pos), "pass "+w.Ref.Name, m.sourceName(w.Ref)+" handed to code of the caller",
				"the caller's code may write to it")
		}
	}
}

// write says in words how memory is written.
func (m *memoryReport) write(w effects.Effect) string {
	switch name := m.sourceName(w.Ref); w.Via {
	case "":
		return "assignment to " + name
	case "append", "copy", "clear", "delete", "close":
		return w.Via + " into memory of " + name
	case "send", "receive":
		return "channel " + w.Via + " by " + name
	default:
		return name + " handed to " + strings.TrimPrefix(w.Via, m.pkg.Path()+".") + ", which writes to it"
	}
}

// arguments reports writes to arguments, and references stored behind them.
func (m *memoryReport) arguments(found *effects.Effects) {
	for _, w := range found.Writes {
		if w.Ref.Kind == effects.Top || w.Ref.Kind == effects.Deep {
			m.report(m.place(w.Pos), m.argumentKey("write", w.Ref), m.write(w),
				"the original only reads it, and others may read it meanwhile; write to memory that the function "+
					"made itself")
		}
	}
	for i, w := range found.Stores {
		if into := found.Into[i]; w.Ref.Kind == effects.Shared &&
			(into.Kind == effects.Top || into.Kind == effects.Deep) {
			m.report(m.place(w.Pos), "share "+w.Ref.Name, m.sourceName(w.Ref)+" stored in "+m.sourceName(into),
				sharedWhy)
		}
	}
}

const sharedWhy = "the caller would share it with every other call"

// received reports received code that the target runs: a function value, or a method of an
// interface value. Methods such as Error and Len do not count, since they promise to read only.
func (m *memoryReport) received(found *effects.Effects) {
	for _, w := range found.Received {
		promise := effects.Standard().Method(w.Via)
		if w.Ref.Kind != effects.Top && w.Ref.Kind != effects.Deep || promise != nil && promise.OnlyReads() {
			continue
		}
		method, construct := w.Via, "call of "+m.sourceName(w.Ref)
		if method != "" {
			construct = "call of method " + method + " of " + m.sourceName(w.Ref)
		}
		if method == "WriteString" {
			method = "Write" // package io says that both do the same
		}
		deed := "run"
		if method != "" {
			deed += " method " + method
		}
		m.report(m.place(w.Pos), m.argumentKey(deed, w.Ref), construct,
			"the original does not run this code of its caller, and nothing shows what it does")
	}
}

// methods reports methods that the version calls through an interface, as if it named them. Copies
// of the original's callees may reach the same, other than methods of the package that may tell
// what it keeps.
func (m *memoryReport) methods(found *effects.Effects) {
	for _, f := range found.Methods {
		if m.declares(f.Func) {
			continue
		}
		construct, why := objection(m.code, f.Func)
		if why == "" {
			continue
		}
		key := invoke
		if f.Func.Pkg() == m.pkg && f.Func.Signature().Results().Len() > 0 {
			key = "use "
		}
		m.report(m.place(f.Pos), key+objectName(f.Func), construct+" through an interface", why)
	}
}

// invoke begins the key of a call through an interface.
const invoke = "invoke "

// argumentKey names what happens to the memory of a parameter, or of one field of the struct that
// it points at. An original's write to the whole struct excuses a write to a field. A write to the
// memory that an argument points at excuses none to memory below. In a group, whose fields may be
// others, a write to any field excuses all that the same function writes there.
func (m *memoryReport) argumentKey(deed string, r effects.Ref) string {
	if m.name != "" {
		return fmt.Sprintf("%s argument %d of %s", deed, r.Param, m.name)
	}
	if r.Kind == effects.Deep {
		deed += " below"
	}
	return fmt.Sprintf("%s argument %d.%d%s", deed, r.Param, r.Field, doubt(r))
}

// doubt returns the end of the key of a write that only an unknown function may make.
func doubt(r effects.Ref) string {
	if r.By == "" {
		return ""
	}
	return doubtful + r.By
}

const doubtful = " by "

// argumentKeys matches the keys of what happens to arguments, up to the field.
var argumentKeys = regexp.MustCompile(`^((?:write|run)[ \w]* argument \d+)(\.-?\d+)?`)

// excuses returns the keys that excuse a finding: its own, that of the whole struct for a field,
// that of a write that the analysis sees for one that an unknown function may make, and that of a
// call by name for one through an interface.
func excuses(key string) []string {
	out := []string{key}
	if name, ok := strings.CutPrefix(key, invoke); ok {
		return append(out, "use "+name)
	}
	if sure, _, ok := strings.Cut(key, doubtful); ok && strings.HasPrefix(key, "write ") {
		out = append(out, sure)
	}
	for _, k := range slices.Clone(out) {
		out = append(out, argumentKeys.ReplaceAllString(k, "$1."+strconv.Itoa(effects.WholeValue)))
	}
	return out
}

func (m *memoryReport) results(found *effects.Effects) {
	for _, s := range found.Shares {
		if s.Ref.Kind == effects.Shared {
			m.report(m.place(s.Pos), "share "+s.Ref.Name, "result leads into "+m.sourceName(s.Ref), sharedWhy)
		}
	}
}

// sourceName returns the name that the candidate's source gives to the memory.
func (m *memoryReport) sourceName(r effects.Ref) string {
	switch r.Kind {
	case effects.Top, effects.Deep:
		p := m.fn.Params[r.Param]
		name := "argument " + p.Name()
		if m.fn.Signature.Recv() != nil && r.Param == 0 {
			name = "the receiver"
		}
		if f := fieldName(p.Type(), r.Field); f != "" {
			name += "'s field " + f
		}
		return name
	case effects.Shared:
		if local, ok := strings.CutPrefix(r.Name, m.pkg.Path()+"."); ok {
			return "package variable " + local
		}
		return r.Name
	}
	return r.String()
}

func fieldName(t types.Type, field int) string {
	p, ok := t.Underlying().(*types.Pointer)
	if !ok {
		return ""
	}
	s, ok := p.Elem().Underlying().(*types.Struct)
	if !ok || field < 0 || field >= s.NumFields() {
		return ""
	}
	return s.Field(field).Name()
}

// functions returns the functions of the file in SSA form, and the target among them. The other
// functions of the package have no bodies there.
func (c *code) functions() (fns []*ssa.Function, target *ssa.Function, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	info := *c.info
	info.InitOrder = nil
	for _, init := range c.info.InitOrder {
		if c.declares(init.Lhs[0]) {
			info.InitOrder = append(info.InitOrder, init)
		}
	}
	prog, pkg := buildSSA(c.fset, c.pkg, append([]*ast.File{c.file}, c.rest...), &info)
	fns = declared(prog, c.info, []*ast.File{c.file})
	for _, f := range fns {
		if f.Syntax() == c.fn {
			target = f
		}
	}
	if target == nil {
		return nil, nil, fmt.Errorf("function %s has no body", c.fn.Name.Name)
	}
	return append(fns, pkg.Func("init").AnonFuncs...), target, nil
}

// table returns the effects of functions that the file does not declare.
func (c *code) table() *effects.Table {
	if h := c.restFacts(); h != nil {
		return effects.Standard().With(h.summaries)
	}
	return effects.Standard()
}

// restFacts returns the facts about the rest of the package, or nil if the file uses none of it.
func (c *code) restFacts() *helpers {
	if c.helpers == nil {
		return nil
	}
	for id, obj := range c.info.Uses {
		if !c.contains(id) {
			continue
		}
		if obj.Pkg() == c.pkg && !c.declares(obj) && mayDo(obj) {
			return c.helpers()
		}
	}
	return nil
}

// mayDo reports whether code that names an object may call something: a function, what a variable
// holds, or, through an interface, a method of a type.
func mayDo(obj types.Object) bool {
	switch obj := obj.(type) {
	case *types.Func:
		return true
	case *types.Var:
		return !obj.IsField()
	case *types.TypeName:
		return types.NewMethodSet(types.NewPointer(obj.Type())).Len() > 0
	}
	return false
}
