package patterns

import (
	"go/ast"
	"regexp"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/facts"
	"github.com/beagle-go/beagle/mutate/rules/internal/edit"
)

// hoistCompile (catalogue X1) matches a function that compiles a constant pattern or template in
// every call. It compiles it once, in a package variable.
var hoistCompile = &mutate.Mutator{
	Name: "hoist-compile",
	Doc: "Compile a constant pattern once, when the program starts, instead of in every call. Compiling costs far " +
		"more than matching. Legal because the pattern is constant and valid, and the compiled value is never " +
		"changed.",
	Example: mutate.Shows(`func isDate(s string) bool {
	re := regexp.MustCompile("^\\d{4}-\\d\\d$")
	return re.MatchString(s)
}`,
		`func isDate(s string) bool {
	return isDatePattern.MatchString(s)
}

// isDatePattern is compiled once.
var isDatePattern = regexp.MustCompile("^\\d{4}-\\d\\d$")`),
	Class:   beagle.E0,
	Gain:    8,
	Find:    findHoistCompile,
	Rewrite: edit.Precomputed,
}

// findHoistCompile looks for patterns, replacers and templates that are made from constants at each
// call. In init they are made once anyway.
func findHoistCompile(p *mutate.Pass) []mutate.Site {
	var sites []mutate.Site
	for _, call := range mutate.Nodes[*ast.CallExpr](p, nil) {
		// Code that runs once at the start gains nothing.
		if p.FuncOf(call) == nil || inInit(p, call) {
			continue
		}
		if kind := compiledKind(p, call); kind != "" {
			if edits := compileEdits(p, call, kind); edits != nil {
				sites = append(sites, edit.Site(call, p.Text(call), edits...))
			}
		} else if edits := matchEdits(p, call); edits != nil {
			sites = append(sites, edit.Site(call, p.Text(call), edits...))
		}
	}
	return sites
}

func inInit(p *mutate.Pass, n ast.Node) bool {
	fn := p.FuncOf(n)
	return fn.Recv == nil && fn.Name.Name == "init"
}

// compiledKind names what a call of constants makes, or returns "" for other calls.
func compiledKind(p *mutate.Pass, call *ast.CallExpr) string {
	// A pattern that does not compile panics at each call; at package level the program would not
	// start.
	if _, ok := p.IsCall(call, "regexp", "MustCompile"); ok {
		pattern, ok := facts.ConstString(p, call.Args[0])
		if _, err := regexp.Compile(pattern); ok && err == nil && facts.PackageLevel(p, call.Args[0]) {
			return "Pattern"
		}
	}
	// A replacer needs pairs of constants: an odd number panics.
	if _, ok := p.IsCall(call, "strings", "NewReplacer"); ok && len(call.Args) > 0 && len(call.Args)%2 == 0 &&
		!call.Ellipsis.IsValid() {
		for _, arg := range call.Args {
			if _, ok := facts.ConstString(p, arg); !ok || !facts.PackageLevel(p, arg) {
				return ""
			}
		}
		return "Replacer"
	}
	for _, pkg := range []string{"text/template", "html/template"} {
		if _, ok := p.IsCall(call, pkg, "Must"); ok && len(call.Args) == 1 && constantTemplate(p, call.Args[0], pkg) {
			return "Template"
		}
	}
	return ""
}

// constantTemplate recognises template.New("name").Parse("text").
func constantTemplate(p *mutate.Pass, e ast.Expr, pkg string) bool {
	parsed, ok := p.IsCall(e, pkg, "Template.Parse")
	if !ok {
		return false
	}
	sel, ok := parsed.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	made, ok := p.IsCall(sel.X, pkg, "New")
	if !ok {
		return false
	}
	// Name and text must be constant, and their names usable at package level.
	// A text that is no template panics at each call, and at package level at the start of the
	// program, where each check meets it. To parse it here costs the program 200 kB.
	_, text := facts.ConstString(p, parsed.Args[0])
	_, name := facts.ConstString(p, made.Args[0])
	return text && name && facts.PackageLevel(p, parsed.Args[0]) && facts.PackageLevel(p, made.Args[0])
}

// readers lists the methods that leave a compiled value unchanged.
var readers = map[string][]string{
	"Pattern": {
		"Find", "FindIndex", "FindSubmatch", "FindSubmatchIndex",
		"FindString", "FindStringIndex", "FindStringSubmatch", "FindStringSubmatchIndex",
		"FindAll", "FindAllIndex", "FindAllSubmatch", "FindAllSubmatchIndex",
		"FindAllString", "FindAllStringIndex", "FindAllStringSubmatch", "FindAllStringSubmatchIndex",
		"Match", "MatchString",
		"ReplaceAll", "ReplaceAllLiteral", "ReplaceAllFunc",
		"ReplaceAllString", "ReplaceAllLiteralString", "ReplaceAllStringFunc",
		"Split", "NumSubexp", "SubexpNames", "SubexpIndex", "String", "Expand", "ExpandString",
	},
	"Replacer": {"Replace", "WriteString"},
	"Template": {"Execute", "ExecuteTemplate"},
}

// compileEdits moves the call to a package variable. It removes a local variable for the value if
// code only calls its methods.
func compileEdits(p *mutate.Pass, call *ast.CallExpr, kind string) []mutate.Edit {
	fn := p.FuncOf(call)
	// The call moves to package level, where it runs once.
	name := p.Fresh(edit.LowerFirst(fn.Name.Name)+kind, "compiled"+kind)
	decl := p.Declare(fn, "// "+name+" is made once, not in every call.\nvar "+name+" = "+p.Text(call))
	// If a local variable holds the value, all its uses change too. Otherwise only a method that
	// does not change the value may be called on it.
	for _, up := range p.Path(call) {
		s, ok := up.(ast.Stmt)
		if !ok {
			continue
		}
		if d, ok := facts.Declares(p, s); ok && d.Value == ast.Expr(call) {
			return dropLocal(p, d, name, kind, decl)
		}
		break
	}
	sel, ok := p.Parent(call).(*ast.SelectorExpr)
	if !ok || !slices.Contains(readers[kind], sel.Sel.Name) || !facts.IsCalled(p, sel) {
		return nil
	}
	return []mutate.Edit{p.Replace(call, name), decl}
}

func dropLocal(p *mutate.Pass, d facts.Declaration, name, kind string, decl mutate.Edit) []mutate.Edit {
	edits := []mutate.Edit{p.Delete(d.Stmt), decl}
	for _, id := range p.Uses(d.Var, p.File) {
		// Only methods that read: another one could change what all calls share. A variable that is
		// assigned again may hold another pattern.
		sel, ok := p.Parent(id).(*ast.SelectorExpr)
		if !ok || !slices.Contains(readers[kind], sel.Sel.Name) || !facts.IsCalled(p, sel) {
			return nil
		}
		edits = append(edits, p.Replace(id, name))
	}
	return edits
}

// matchEdits compiles the pattern of regexp.MatchString once. The pattern is valid, so the error is
// always nil.
func matchEdits(p *mutate.Pass, call *ast.CallExpr) []mutate.Edit {
	_, ok := p.IsCall(call, "regexp", "MatchString", "Match")
	if !ok {
		return nil
	}
	// The pattern must compile, so that dropping the error loses nothing.
	pattern, ok := facts.ConstString(p, call.Args[0])
	if _, err := regexp.Compile(pattern); !ok || err != nil || !facts.PackageLevel(p, call.Args[0]) {
		return nil
	}
	// Only a dropped error allows the method, which returns none.
	as, ok := p.Parent(call).(*ast.AssignStmt)
	if !ok || len(as.Lhs) != 2 || len(as.Rhs) != 1 || !syntax.IsBlank(as.Lhs[1]) {
		return nil
	}
	fn, sel := p.FuncOf(call), call.Fun.(*ast.SelectorExpr)
	name := p.Fresh(edit.LowerFirst(fn.Name.Name)+"Pattern", "compiledPattern")
	return []mutate.Edit{
		p.Replace(as, p.Text(as.Lhs[0])+" "+as.Tok.String()+" "+name+"."+sel.Sel.Name+"("+p.Text(call.Args[1])+")"),
		p.Declare(fn, "// "+name+" is made once, not in every call.\nvar "+name+" = "+p.Text(sel.X)+".MustCompile("+
			p.Text(call.Args[0])+")"),
	}
}
