package lift

import (
	"fmt"
	gotypes "go/types"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/mutate"
)

// A Match is a piece of code with the outputs of a term of the library, as far as all examples
// show.
type Match struct {
	Func    string    `json:"func"`
	Kind    string    `json:"kind"` // of the region: "function", "loop", "rest" or "expression"
	Term    string    `json:"term"`
	Old     string    `json:"old"` // the text of the piece
	New     []Version `json:"new"`
	Imports []string  `json:"imports,omitempty"`
	Price   int       `json:"price"`            // estimated cost of the term
	Sorted  bool      `json:"sorted,omitempty"` // it holds on inputs in order only
	Region  string    `json:"region,omitempty"` // what the piece reads and leaves

	start, end int
}

// A Version is one way to spell a match.
type Version struct {
	Label string `json:"label,omitempty"` // how it differs from the first
	Text  string `json:"text"`
}

// A printer writes terms as statements and expressions.
type printer struct {
	p       *mutate.Pass
	r       *Region
	lines   []string            // statements before the expressions
	calls   map[string][]string // names of the results of calls that have several
	taken   map[string]bool
	imports []string
}

func newPrinter(p *mutate.Pass, r *Region) *printer {
	return &printer{p: p, r: r, calls: map[string][]string{}, taken: map[string]bool{}}
}

// inner returns a printer for the statements of a branch.
func (pr *printer) inner() *printer {
	return &printer{p: pr.p, r: pr.r, calls: map[string][]string{}, taken: pr.taken, imports: pr.imports}
}

func (pr *printer) fresh(name string) string {
	wish := name
	for i := 2; ; i++ {
		if got := pr.p.Fresh(wish); !pr.taken[got] {
			pr.taken[got] = true
			return got
		}
		wish = fmt.Sprintf("%s%d", name, i)
	}
}

func (pr *printer) need(paths []string) {
	for _, p := range paths {
		if !slices.Contains(pr.imports, p) {
			pr.imports = append(pr.imports, p)
		}
	}
}

// typeText returns a type as the code at the region spells it.
func (pr *printer) typeText(t gotypes.Type) string {
	return gotypes.TypeString(t, func(q *gotypes.Package) string {
		if q == pr.p.Pkg {
			return ""
		}
		return q.Name()
	})
}

// expr returns the text of a term.
func (pr *printer) expr(t *term) string {
	switch {
	// A value of a defined type is converted, since the library's functions take the plain one.
	case t.c == nil && t.input >= 0:
		in := pr.r.Inputs[t.input]
		if _, named := gotypes.Unalias(in.goType).(*gotypes.Named); named {
			return "(" + in.Type.Name + ")(" + in.Expr + ")"
		}
		return in.Expr
	case t.c == nil:
		return t.text
	// A guard needs statements: a variable, and a branch for each side.
	case t.c == choose:
		name := pr.fresh("chosen")
		pr.lines = append(pr.lines, "var "+name+" "+t.typ.Name)
		pr.branches(t, func(text string) string { return name + " = " + text })
		return name
	}
	args := make([]string, len(t.args))
	for i, a := range t.args {
		// An operator inside of another one gets parentheses, whatever binds more.
		args[i] = pr.expr(a)
		if a.c != nil && a.c.operator && t.c.operatorAt() {
			args[i] = "(" + args[i] + ")"
		}
	}
	pr.need(t.c.Imports)
	text := t.c.text(t.c.Name, args)
	// Some functions need lines in front: a hash is made and written to. A function with several
	// results needs variables, and one that works in place a copy.
	switch {
	case t.c.setup != nil:
		name := pr.fresh("h")
		for _, line := range t.c.setup {
			pr.lines = append(pr.lines, strings.ReplaceAll(t.c.text(line, args), "$0", name))
		}
		return strings.ReplaceAll(t.c.statement, "$0", name)
	case t.c.place > 0:
		return pr.resultOf(t.c, text)
	case t.c.place < 0:
		name := pr.fresh("changed")
		pr.need([]string{"slices"})
		pr.lines = append(pr.lines, name+" := slices.Clone("+args[0]+")", t.c.text(t.c.statement, []string{name}))
		return name
	}
	return text
}

// operatorAt reports whether arguments that are operators need parentheses.
func (c *Component) operatorAt() bool {
	return strings.Contains(c.Name, "$") && !strings.Contains(c.Name, "($1")
}

// resultNames are the names of functions' results.
var resultNames = map[string][]string{
	"strings.Cut": {"before", "after", "found"}, "bytes.Cut": {"before", "after", "found"},
	"strings.CutPrefix": {"after", "found"}, "strings.CutSuffix": {"before", "found"},
	"slices.BinarySearch": {"at", "found"}, "utf8.DecodeRuneInString": {"r", "size"},
	"utf8.DecodeLastRuneInString": {"r", "size"}, "binary.Uvarint": {"value", "size"},
	"binary.Varint": {"value", "size"},
	"bits.Mul64":    {"hi", "lo"},
}

// resultOf names the results of a call once, and returns the name of one of them.
func (pr *printer) resultOf(c *Component, call string) string {
	// The call is written once, however many of its results are used, and in place of them stand
	// their names.
	names := pr.calls[call]
	if names == nil {
		wished := c.names
		if wished == nil {
			wished = resultNames[c.Name]
		}
		if wished == nil {
			wished = []string{"value", "err"}
		}
		for _, w := range wished[:c.results] {
			names = append(names, pr.fresh(w))
		}
		pr.calls[call] = names
		pr.lines = append(pr.lines, strings.Join(names, ", ")+" := "+call)
	}
	name := names[c.place-1]
	if c.check {
		return name + " == nil"
	}
	return name
}

// branches writes a guard. sink makes a statement of a value.
func (pr *printer) branches(t *term, sink func(string) string) {
	// Each side is printed on its own: what one side computes must not run on the other.
	condition := pr.expr(t.args[0])
	var sides [2][]string
	for i := range sides {
		in := pr.inner()
		text := in.expr(t.args[1+i])
		sides[i] = append(in.statementsBefore(text), sink(text))
		pr.imports = in.imports
	}
	pr.lines = append(pr.lines, "if "+condition+" {")
	pr.lines = append(pr.lines, sides[0]...)
	// Behind a return the other side needs no else.
	if strings.HasPrefix(sides[0][len(sides[0])-1], "return ") {
		pr.lines = append(append(pr.lines, "}"), sides[1]...)
		return
	}
	pr.lines = append(pr.lines, "} else {")
	pr.lines = append(append(pr.lines, sides[1]...), "}")
}

// statementsBefore returns the statements before an expression, with unused results unnamed.
func (pr *printer) statementsBefore(uses ...string) []string {
	// A result that is named and not used would not compile.
	text := strings.Join(append(slices.Clone(pr.lines), uses...), "\n")
	lines := slices.Clone(pr.lines)
	for call, names := range pr.calls {
		at := slices.Index(lines, strings.Join(names, ", ")+" := "+call)
		if at < 0 {
			continue
		}
		kept := slices.Clone(names)
		for i, n := range names {
			if count(text, n) < 2 {
				kept[i] = "_"
			}
		}
		lines[at] = strings.Join(kept, ", ") + " := " + call
	}
	return lines
}

// count returns how often a name occurs in a text.
func count(text, name string) int {
	return len(regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).FindAllString(text, -1))
}

// converted makes a value of an output's type.
func (pr *printer) converted(o Output, t *term, text string) string {
	_, named := gotypes.Unalias(o.goType).(*gotypes.Named)
	if named || o.declared && t.c == nil && t.input < 0 {
		return pr.typeText(o.goType) + "(" + text + ")"
	}
	return text
}

// match writes the terms of a region's outputs in its place. It is false when
// there is nothing to gain.
func (s *Study) match(q *question, right [][]*term) (Match, bool) {
	r := q.r
	// Without a function of the library the term is the old code in other words. Without a loop the
	// code must cost more than the term.
	chosen, price := q.best(right), 0
	for _, t := range chosen {
		price += t.price
	}
	f := Match{Func: r.Func, Kind: r.Kind, Price: price, start: s.p.Offset(r.start), end: s.p.Offset(r.end)}
	f.Old, f.Region = s.p.Between(r.start, r.end), r.String()
	appends := func(o Output) bool { return o.builder != nil }
	library := func(t *term) bool { return t.library }
	if !slices.ContainsFunc(chosen, library) && !slices.ContainsFunc(r.Outputs, appends) {
		return f, false // the old code again
	}
	if !r.loops && !cheaper(r, chosen, price) || r.overwrites(chosen) {
		return f, false
	}
	pr := newPrinter(s.p, r)
	text, ok := pr.region(chosen)
	if !ok {
		return f, false
	}
	f.Imports = pr.imports
	f.Term = termText(s.p, r, chosen)
	f.New = append(f.New, Version{Text: text})
	// The term works on a copy where it writes. Often only the region's own copy needs the old
	// content, or nothing does: offer the text without the clone as well.
	if bare := cloned.ReplaceAllString(text, "$1"); bare != text {
		f.New = append(f.New, Version{"in place", bare})
	}
	// Library functions return an empty slice where a loop returns nil. The judge decides which of
	// the two it must be.
	if t := chosen[0]; r.returns && len(chosen) == 1 && r.Outputs[0].Type.slice && !r.Outputs[0].elements &&
		t.c != choose {
		nils := newPrinter(s.p, r)
		e := nils.expr(t)
		name := nils.fresh("out")
		lines := append(nils.statementsBefore(e), name+" := "+nils.converted(r.Outputs[0], t, e),
			"if len("+name+") == 0 {",
			"return nil", "}",
			"return "+name)
		f.New = append(f.New, Version{"nil when empty", strings.Join(lines, "\n")})
	}
	return f, true
}

// overwrites reports whether a term reads elements that the statement of another output has changed
// by then.
func (r *Region) overwrites(ts []*term) bool {
	for k, o := range r.Outputs {
		for j, t := range ts {
			if o.elements && j != k && t.reads(r, o.Name) {
				return true
			}
		}
	}
	return false
}

// reads reports whether a term names an input.
func (t *term) reads(r *Region, name string) bool {
	if t.c == nil {
		return t.input >= 0 && r.Inputs[t.input].Name == name
	}
	return slices.ContainsFunc(t.args, func(a *term) bool { return a.reads(r, name) })
}

// best is the cheapest term of each output.
func (q *question) best(right [][]*term) []*term {
	chosen := make([]*term, len(right))
	for k, ts := range right {
		inorder.By(ts, func(a, b *term) int { return a.price - b.price })
		chosen[k] = ts[0]
	}
	return chosen
}

var cloned = regexp.MustCompile(`slices\.Clone\(([\w.]+)\)`)

// cheaper reports whether a term may save anything over code without loops: it
// must do without a call that the code makes.
func cheaper(r *Region, ts []*term, price int) bool {
	old := 0
	for _, name := range r.calls {
		old += priceOf(name)
	}
	if len(r.calls) == 0 {
		return r.Kind == "function" && price <= 4
	}
	return price < old
}

// priceOf returns the price of a function of the library by its name.
func priceOf(name string) int {
	for _, c := range all {
		if c.Name == name || strings.HasPrefix(c.Name, name+"(") {
			return c.price
		}
	}
	return 10
}

// termText returns the term alone, for people.
func termText(p *mutate.Pass, r *Region, ts []*term) string {
	var out []string
	for _, t := range ts {
		pr := newPrinter(p, r)
		text := pr.expr(t)
		if lines := pr.statementsBefore(text); len(lines) > 0 {
			text = strings.Join(append(lines, text), "; ")
		}
		out = append(out, text)
	}
	return strings.Join(out, " | ")
}

// region writes the statements, or the expression, that take a region's place.
func (pr *printer) region(ts []*term) (string, bool) {
	r := pr.r
	// An expression must stay one: lines in front of it would run at another time.
	if r.expr != nil {
		text := pr.expr(ts[0])
		if ts[0].c != nil && ts[0].c.operator {
			text = "(" + text + ")"
		}
		return pr.converted(r.Outputs[0], ts[0], text), len(pr.lines) == 0
	}
	var tail []string
	// Choose how the region ends: by a return on each branch, by a return under a condition, or by
	// going on.
	switch {
	case r.returns && len(ts) == 1 && ts[0].c == choose && !r.Outputs[0].elements:
		pr.branches(ts[0], func(text string) string { return "return " + pr.converted(r.Outputs[0], ts[0], text) })
	case r.early:
		tail = pr.writeEarlyEnd(ts)
	default:
		tail = pr.leave(ts)
	}
	// Variables that nothing uses any more must not be left over.
	lines := pr.statementsBefore(tail...)
	lines = append(pr.unused(strings.Join(append(slices.Clone(lines), tail...), "\n")), append(lines, tail...)...)
	return strings.Join(lines, "\n"), true
}

// leave writes the outputs of a region in variables, elements and results.
func (pr *printer) leave(ts []*term) (tail []string) {
	// Sort the outputs into statements of their own, results and variables.
	var results, names, values []string
	fresh, old := 0, 0
	for k, o := range pr.r.Outputs {
		switch {
		case o.elements:
			tail = append(tail, pr.elements(o, ts[k]))
		case o.builder != nil:
			tail = append(tail, pr.appended(o, ts[k])...)
		case o.result >= 0:
			results = append(results, pr.converted(o, ts[k], pr.expr(ts[k])))
		case o.Name != "returned":
			names, values = append(names, o.Name), append(values, pr.converted(o, ts[k], pr.expr(ts[k])))
			if o.declared {
				fresh++
			} else {
				old++
			}
		}
	}
	// Variables that the region declared are declared again: all at once by :=, or one by one if
	// others are assigned with them.
	sign := " = "
	if fresh > 0 && old == 0 {
		sign = " := "
	} else if fresh > 0 {
		for _, o := range pr.r.Outputs {
			if o.declared {
				pr.lines = append(pr.lines, "var "+o.Name+" "+pr.typeText(o.goType))
			}
		}
	}
	// n = n + term is shorter as n += term.
	if rest, ok := strings.CutPrefix(strings.Join(values, ", "), strings.Join(names, "")+" + "); ok &&
		len(names) == 1 &&
		sign == " = " && !strings.Contains(rest, " ") {
		sign, values = " += ", []string{rest}
	}
	if len(names) > 0 {
		tail = append(tail, strings.Join(names, ", ")+sign+strings.Join(values, ", "))
	}
	if pr.r.returns {
		tail = append(tail, strings.TrimSpace("return "+strings.Join(results, ", ")))
	}
	return tail
}

// writeEarlyEnd writes a region that may end the function.
func (pr *printer) writeEarlyEnd(ts []*term) (tail []string) {
	// The condition's statements stay in front, those of the results go inside.
	condition := pr.expr(ts[0])
	in := pr.inner()
	var results []string
	for k, o := range pr.r.Outputs {
		if o.early {
			results = append(results, in.converted(o, ts[k], in.expr(ts[k])))
		}
	}
	pr.imports = in.imports
	end := strings.TrimSpace("return " + strings.Join(results, ", "))
	pr.lines = append(pr.lines, "if "+condition+" {")
	pr.lines = append(append(pr.lines, in.statementsBefore(end)...), end, "}")
	return pr.leaveLate(ts)
}

// leaveLate writes the part of an early region that runs if it did not end the function.
func (pr *printer) leaveLate(ts []*term) []string {
	late := &Region{fn: pr.r.fn, Inputs: pr.r.Inputs}
	var rest []*term
	for k, o := range pr.r.Outputs {
		if o.Name != "returned" && !o.early {
			late.Outputs, rest = append(late.Outputs, o), append(rest, ts[k])
		}
	}
	was := pr.r
	pr.r = late
	defer func() { pr.r = was }()
	return pr.leave(rest)
}

// appended writes the text that a region appends to a builder. It calls nothing for an empty text:
// a pointer may be nil, a buffer would forget its last read, and a builder could no longer be
// copied.
func (pr *printer) appended(o Output, t *term) []string {
	name := pr.fresh("text")
	test := fmt.Sprintf("if %s := %s; %s != \"\" {", name, pr.expr(t), name)
	return []string{test, o.Name + ".WriteString(" + name + ")", "}"}
}

// elements writes into the elements of an input.
func (pr *printer) elements(o Output, t *term) string {
	if t.c != nil && t.c.statement != "" && t.c.setup == nil && t.args[0].input >= 0 &&
		pr.r.Inputs[t.args[0].input].Name == o.Name {
		pr.need(importsOf(t.c.statement))
		return t.c.text(t.c.statement, []string{o.Name})
	}
	return "copy(" + o.Name + ", " + pr.expr(t) + ")"
}

// unused keeps local variables in use that the region alone used.
func (pr *printer) unused(text string) (lines []string) {
	for _, in := range pr.r.Inputs {
		if in.obj == nil || in.param || count(text, in.Expr) > 0 {
			continue
		}
		lines = append(lines, "_ = "+in.Expr)
	}
	return lines
}
