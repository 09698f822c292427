package rules

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// exports are the names that a subject's package exports beside Rules, each for a rule of another
// subject.
var exports = []string{"branches.TakesPrefix", "gofix.Sites"}

// TestSubjects checks that a subject's package exports its rules and nothing else. What two
// subjects need stands in mutate/facts, in internal/syntax, or in mutate/rules/internal.
func TestSubjects(t *testing.T) {
	for _, s := range subjects(t) {
		if s.pkg.Scope().Lookup("Rules") == nil {
			t.Errorf("package %s has no Rules", s.pkg.Name())
		}
		for _, name := range s.pkg.Scope().Names() {
			if ast.IsExported(name) && name != "Rules" && !slices.Contains(exports, s.pkg.Name()+"."+name) {
				t.Errorf("package %s exports %s: move it to mutate/facts or mutate/rules/internal", s.pkg.Name(), name)
			}
		}
	}
}

// TestFilesOfRules checks that a rule's file holds that rule alone: a declaration that two rules of
// a subject need stands in a file without a rule that is named for its content.
func TestFilesOfRules(t *testing.T) {
	for _, s := range subjects(t) {
		for name, user := range s.shared() {
			t.Errorf("%s: %s uses it, too: move it to a file without a rule", name, user)
		}
	}
}

// A subject is a package of rules, read without its imports.
type subject struct {
	fset  *token.FileSet
	files []*ast.File
	pkg   *types.Package
	uses  map[*ast.Ident]types.Object
}

// subjects reads the packages of rules, which are the folders with an archive.
func subjects(t *testing.T) (all []*subject) {
	t.Helper()
	dirs, _ := filepath.Glob("*/testdata")
	for _, dir := range dirs {
		if archives, _ := filepath.Glob(dir + "/*.txtar"); len(archives) == 0 {
			continue
		}
		s := &subject{fset: token.NewFileSet(), uses: map[*ast.Ident]types.Object{}}
		paths, _ := filepath.Glob(filepath.Dir(dir) + "/*.go")
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(s.fset, path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			s.files = append(s.files, f)
		}
		// The package's own names can be resolved without its imports, so errors do not matter.
		config := types.Config{Error: func(error) {}}
		s.pkg, _ = config.Check(s.files[0].Name.Name, s.fset, s.files, &types.Info{Uses: s.uses})
		all = append(all, s)
	}
	if len(all) < 10 {
		t.Fatalf("found %d packages of rules", len(all))
	}
	return all
}

// shared maps each declaration in a rule's file that another file uses to one such file. The list
// of a package's rules may name the rules themselves.
func (s *subject) shared() map[string]string {
	ruleFiles, rules := rulesIn(s.fset, s.files)
	out := map[string]string{}
	for id, obj := range s.uses {
		at, user := s.fset.Position(obj.Pos()).Filename, s.fset.Position(id.Pos()).Filename
		if obj.Parent() != s.pkg.Scope() || at == user || !ruleFiles[at] || rules[obj.Name()] {
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
