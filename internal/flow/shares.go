package flow

import (
	"go/ast"
	"go/token"
	"maps"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/syntax"
)

// This file computes the share of the time that each line of a version takes, for choosing moves.
// The profile of the original knows the lines of its source, and those of the functions that it
// calls. A version keeps the shares of the lines that it keeps.

// shares hold the share of the time of each line of some source, by the line's text and by the
// function that holds it.
type shares struct {
	texts map[string]float64            // all lines of a text together
	in    map[string]map[string]float64 // the same for one function; nil if lines are known by text alone
	total map[string]float64            // of a function
}

// byText returns a profile keyed by the text of its lines.
func byText(src string, profile map[int]float64) map[string]float64 {
	out := map[string]float64{}
	for i, line := range strings.Split(src, "\n") {
		if text := strings.TrimSpace(line); text != "" {
			out[text] += profile[i+1]
		}
	}
	return out
}

// knownShares returns the shares of the original's lines and of those of the private copies that
// rules see. The copy of a callee does not hide a line of the original's own.
func (w *workbench) knownShares() shares {
	target := w.unit.Target.Source
	out := shares{texts: byText(target, w.profile.Lines)}
	if len(w.profile.Lines) == 0 {
		return out
	}
	own, problem := w.unit.Reader.Parse(target)
	if problem != nil {
		return out
	}
	src, copies := w.unit.Copies.Widen(target)
	f, problem := w.unit.Reader.Parse(src)
	if problem != nil {
		return out
	}
	out.in, out.total = map[string]map[string]float64{}, map[string]float64{}
	out.add(own, w.profile.Lines)
	lines := moveShares(own, w.profile.Lines, f)
	w.copied(f, copies, lines)
	out.add(f, lines) // its calls of copies have other names
	return out
}

// add adds the lines of a file that are not known yet.
func (s *shares) add(f *source.File, lines map[int]float64) {
	sums, total := map[string]map[string]float64{}, map[string]float64{}
	owner := owners(f)
	for i, line := range strings.Split(f.Src, "\n") {
		text, fn := strings.TrimSpace(line), owner[i+1]
		if text == "" || fn == "" {
			continue
		}
		if sums[fn] == nil {
			sums[fn] = map[string]float64{}
		}
		sums[fn][text] += lines[i+1]
		total[fn] += lines[i+1]
	}
	for fn, texts := range sums {
		if _, is := s.total[fn]; !is {
			s.in[fn], s.total[fn] = map[string]float64{}, total[fn]
		}
		for text, share := range texts {
			if _, is := s.in[fn][text]; !is {
				s.in[fn][text] = share
			}
			if _, is := s.texts[text]; !is {
				s.texts[text] = share
			}
		}
	}
}

// moveShares returns the shares of a file's lines for the same functions in another file, perhaps
// at other lines, with renamed calls.
func moveShares(from *source.File, lines map[int]float64, to *source.File) map[int]float64 {
	first := map[string]int{}
	for _, d := range from.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			first[syntax.DeclName(fn)] = from.Fset.Position(fn.Pos()).Line
		}
	}
	out := map[int]float64{}
	for _, d := range to.AST.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		if was, is := first[syntax.DeclName(fn)]; is {
			at := to.Fset.Position(fn.Pos()).Line
			for line := at; line <= to.Fset.Position(fn.End()).Line; line++ {
				out[line] = lines[was+line-at]
			}
		}
	}
	return out
}

// idleSamples are how many samples show that a callee takes no time: with none of 300, a share is
// below 1 % at 95 % (the rule of three).
const idleSamples = 300

// showsIdle reports whether a profile can say that a callee takes no time.
func showsIdle(profile bench.Profile) bool {
	return len(profile.Callees) > 0 && profile.Samples >= idleSamples
}

// calleeShare returns a function that gives the share of the time in a callee. It is nil if the
// profile does not show shares.
func calleeShare(profile bench.Profile) func(key string) float64 {
	if !showsIdle(profile) {
		return nil
	}
	return func(key string) float64 {
		sum := 0.0
		for _, share := range profile.Callees[key] {
			sum += share
		}
		return sum
	}
}

// owners returns the functions that hold the lines of a file, "" for none.
func owners(f *source.File) map[int]string {
	out := map[int]string{}
	for _, d := range f.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			name := syntax.DeclName(fn)
			for at := f.Fset.Position(fn.Pos()).Line; at <= f.Fset.Position(fn.End()).Line; at++ {
				out[at] = name
			}
		}
	}
	return out
}

// lineShares are the shares of one version's lines.
type lineShares struct {
	file  *source.File
	lines map[int]float64
	idle  map[string]bool // functions that do not run
	exact bool            // the profile is of this version or of one that it goes back to
	shows bool            // the profile has enough samples to show that a line takes no time
}

// sharesOf returns the share of each line of a version: from a measured profile if there is one,
// else carried over from the version that it goes back to.
func (w *workbench) sharesOf(c beagle.Candidate, f *source.File, copies []string) *lineShares {
	v := &lineShares{file: f, idle: map[string]bool{}}
	base, in := w.modelMeasurements(c)
	switch {
	case in == nil:
		own, problem := w.unit.Reader.Parse(c.Source)
		if problem != nil {
			own = f
		}
		v.lines = moveShares(own, carryShares(w.known, own.Src, owners(own)), f)
		w.copied(f, copies, v.lines)
		v.shows = showsIdle(w.profile)
		for name, share := range w.known.total {
			v.idle[name] = share < source.IdleShare && v.shows && name != w.unit.Target.Name
		}
		return v
	case base == c.ID && f.Src == c.Source:
		v.lines = maps.Clone(in.Lines) // the measurement is shared, and copies of callees get shares here
	default:
		v.lines = carryShares(shares{texts: in.Texts}, f.Src, nil)
	}
	v.exact = true
	shareOut(f, copies, v.lines)
	return v
}

// weight returns the share of a node's lines.
func (v *lineShares) weight(n ast.Node) float64 { return v.shareBetween(n.Pos(), n.End()) }

// shareBetween returns the share of the lines from one place to another.
func (v *lineShares) shareBetween(from, to token.Pos) float64 {
	sum := 0.0
	last := v.file.Fset.Position(to).Line
	for line := v.file.Fset.Position(from).Line; line <= last; line++ {
		sum += v.lines[line]
	}
	return min(sum, 1)
}

// isCold reports whether a measured profile shows that code takes no time: a line of a profiled
// version, a callee that does not run, or a branch without samples. A line alone shows little in a
// version without a profile: a declaration takes no time, and the code that it declares may.
func (v *lineShares) isCold(n ast.Node) bool {
	for _, d := range v.file.AST.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Pos() <= n.Pos() && n.Pos() < fn.End() {
			return v.exact && v.weight(n) == 0 || v.idle[syntax.DeclName(fn)] || v.shows && v.untaken(fn, n)
		}
	}
	return false
}

// untaken reports whether a node of a function stands in a branch that takes no time.
func (v *lineShares) untaken(fn *ast.FuncDecl, n ast.Node) bool {
	found := false
	branch := func(list []ast.Stmt) {
		if len(list) > 0 && list[0].Pos() <= n.Pos() && n.End() <= list[len(list)-1].End() {
			first, last := list[0].Pos(), list[len(list)-1].End()
			found = found || v.shareBetween(first, last) == 0
		}
	}
	ast.Inspect(fn, func(m ast.Node) bool {
		switch m := m.(type) {
		case *ast.IfStmt:
			branch(m.Body.List)
			if els, ok := m.Else.(*ast.BlockStmt); ok {
				branch(els.List)
			}
		case *ast.CaseClause:
			branch(m.Body)
		case *ast.CommClause:
			branch(m.Body)
		}
		return !found && m != nil && m.Pos() <= n.Pos() && n.End() <= m.End()
	})
	return found
}

// carryShares carries a profile over to another version: lines that stay keep their share, and a
// function's new lines share the cost of its vanished ones. owner is the function of each line; nil
// is one for all.
func carryShares(known shares, src string, owner map[int]string) map[int]float64 {
	lines := strings.Split(src, "\n")
	out := make(map[int]float64, len(lines))
	kept, fresh := map[string]float64{}, map[string][]int{}
	for i, line := range lines {
		text, fn := strings.TrimSpace(line), owner[i+1]
		share, is := known.in[fn][text]
		if !is {
			share, is = known.texts[text]
		}
		switch {
		case is:
			out[i+1] = share
			kept[fn] += share
		case text != "" && !strings.HasPrefix(text, "//"):
			fresh[fn] = append(fresh[fn], i+1)
		}
	}
	left := 0.0 // share of the known functions, for the unknown ones
	for fn, total := range known.total {
		left = max(left, total-kept[fn])
	}
	if known.total == nil {
		left = 1 - kept[""]
	}
	for fn, at := range fresh {
		rest := left
		if total, is := known.total[fn]; is {
			rest = total - kept[fn]
		}
		for _, line := range at {
			out[line] = max(0, rest) / float64(len(at))
		}
	}
	return out
}

// copied gives the lines of private copies the profile of the lines of their originals. Without a
// profile of callees it guesses.
func (w *workbench) copied(f *source.File, copies []string, lines map[int]float64) {
	if len(w.profile.Callees) == 0 {
		shareOut(f, copies, lines)
		return
	}
	for _, name := range copies {
		d := declared(f.AST, name)
		if d == nil {
			continue
		}
		known := w.profile.Callees[w.unit.Copies.CopyOf(name)]
		first, last := f.Fset.Position(d.Pos()).Line, f.Fset.Position(d.End()).Line
		for at := first; at <= last; at++ {
			lines[at] = known[at-first]
		}
	}
}

// declared returns the function of a file with the given name, or nil.
func declared(f *ast.File, name string) *ast.FuncDecl {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == name {
			return fn
		}
	}
	return nil
}

// shareOut gives the lines of private copies the share of the lines that call them, evenly.
func shareOut(f *source.File, copies []string, shares map[int]float64) {
	line := func(p token.Pos) int { return f.Fset.Position(p).Line }
	decls, called := map[string]*ast.FuncDecl{}, map[string]map[int]bool{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			decls[n.Name.Name] = n
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok {
				if called[id.Name] == nil {
					called[id.Name] = map[int]bool{}
				}
				called[id.Name][line(n.Pos())] = true
			}
		}
		return true
	})
	for _, name := range copies { // callers come first
		d, sum := decls[name], 0.0
		if d == nil {
			continue
		}
		for at := range called[name] {
			sum += shares[at]
		}
		first, last := line(d.Pos()), line(d.End())
		for i := first; i <= last; i++ {
			shares[i] = sum / float64(last-first+1)
		}
	}
}
