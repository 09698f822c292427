package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFilesOfRules checks that a rule's file holds that rule alone: a declaration that two rules
// need stands in mutate/facts, or in a file without a rule that is named for its content.
// testdata/shared.txt lists the declarations for which this is not so yet; it may only shrink.
func TestFilesOfRules(t *testing.T) {
	text, err := os.ReadFile("testdata/shared.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			listed[line] = true
		}
	}
	shared := sharedDeclarations(t)
	for name, user := range shared {
		if !listed[name] {
			t.Errorf("%s: %s uses it, too: move it to mutate/facts, or to a file without a rule", name, user)
		}
	}
	for name := range listed {
		if shared[name] == "" {
			t.Errorf("%s: no other file uses it: delete this line of testdata/shared.txt", name)
		}
	}
}

// sharedDeclarations maps each declaration in a rule's file that another file uses to one such
// file. The sets of rules may name the rules themselves.
func sharedDeclarations(t *testing.T) map[string]string {
	fset := token.NewFileSet()
	paths, _ := filepath.Glob("*.go")
	var files []*ast.File
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	ruleFiles, rules := rulesIn(fset, files)
	// The package's own names can be resolved without its imports, so errors do not matter.
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Error: func(error) {}}
	pkg, _ := config.Check("rules", fset, files, info)
	out := map[string]string{}
	for id, obj := range info.Uses {
		at, user := fset.Position(obj.Pos()).Filename, fset.Position(id.Pos()).Filename
		if obj.Parent() != pkg.Scope() || at == user || !ruleFiles[at] || rules[obj.Name()] {
			continue
		}
		// A file named x_write.go without a rule is a part of the rule in x.go.
		if !ruleFiles[user] && strings.HasPrefix(user, strings.TrimSuffix(at, ".go")+"_") {
			continue
		}
		if name := at + " " + obj.Name(); out[name] == "" || user < out[name] {
			out[name] = user
		}
	}
	return out
}

// rulesIn returns the files that declare rules, and the names of the rules' variables.
func rulesIn(fset *token.FileSet, files []*ast.File) (in, names map[string]bool) {
	in, names = map[string]bool{}, map[string]bool{}
	for _, f := range files {
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.VAR || !holdsRule(decl) {
				continue
			}
			in[fset.Position(f.Pos()).Filename] = true
			for _, s := range decl.Specs {
				for _, id := range s.(*ast.ValueSpec).Names {
					names[id.Name] = true
				}
			}
		}
	}
	return in, names
}

// holdsRule reports whether a declaration holds a mutate.Mutator or an example.Rule.
func holdsRule(decl ast.Node) bool {
	for n := range ast.Preorder(decl) {
		lit, ok := n.(*ast.CompositeLit)
		if !ok {
			continue
		}
		sel, ok := lit.Type.(*ast.SelectorExpr)
		if ok && (sel.Sel.Name == "Mutator" || sel.Sel.Name == "Rule") {
			return true
		}
	}
	return false
}
