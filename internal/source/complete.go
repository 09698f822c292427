package source

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Complete appends to a version from outside the declarations of the original's candidate file
// that it uses and lacks: an author who changes one function need not copy its helpers. Complete
// returns a text that does not parse as it is.
func (r *Reader) Complete(src string) string {
	own := declared(r.target.Source)
	if r.scope.group != nil {
		src = r.completeGroup(src, own)
	}
	// An appended declaration may miss another in turn.
	for {
		f, err := parser.ParseFile(token.NewFileSet(), candidateName, src, 0) // resolves names within the file
		if err != nil {
			return src
		}
		there := declared(src)
		var missing []string
		// A name may be a type, which needs its methods as well.
		for _, id := range f.Unresolved {
			for _, name := range inorder.Keys(own) { // a type, then its methods
				if name != id.Name && !strings.HasPrefix(name, id.Name+".") || there[name] != "" ||
					name == r.target.Name {
					continue
				}
				if !slices.Contains(missing, own[name]) { // a block declares several
					missing = append(missing, own[name])
				}
				there[name] = own[name]
			}
		}
		if len(missing) == 0 {
			return src
		}
		src = strings.TrimRight(src, "\n") + "\n\n" + strings.Join(missing, "\n\n") + "\n"
	}
}

// completeGroup appends the declarations of a group that must stay and that a version lacks, with
// the methods that the version selects.
func (r *Reader) completeGroup(src string, own map[string]string) string {
	for {
		f, err := parser.ParseFile(token.NewFileSet(), candidateName, src, parser.SkipObjectResolution)
		if err != nil {
			return src
		}
		// A group's methods are found by their names: whatever the version selects may be one.
		selected := map[string]bool{}
		for n := range ast.Preorder(f) {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				selected[sel.Sel.Name] = true
			}
		}
		group, there := r.scope.group, declared(src)
		var missing []string
		// Append what must stay, and the methods of the group's types that are selected.
		for _, key := range inorder.Keys(own) {
			recv, method, isMethod := strings.Cut(key, ".")
			if there[key] == "" && (group.held[key] || isMethod && group.types[recv] != nil && selected[method]) {
				missing = append(missing, own[key])
			}
		}
		if len(missing) == 0 {
			return src
		}
		src = strings.TrimRight(src, "\n") + "\n\n" + strings.Join(slices.Compact(missing), "\n\n") + "\n"
	}
}

// declared returns the package-level names of a file, methods as T.M, with the texts of their
// declarations.
func declared(src string) map[string]string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, candidateName, src, parser.ParseComments|parser.SkipObjectResolution)
	out := map[string]string{}
	if err != nil {
		return out
	}
	// The text of a declaration begins with its comment.
	text := func(n ast.Node, doc *ast.CommentGroup) string {
		from := n.Pos()
		if doc != nil {
			from = doc.Pos()
		}
		return src[fset.Position(from).Offset:fset.Position(n.End()).Offset]
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				out[d.Name.Name] = text(d, d.Doc)
			} else if base := syntax.Receiver(d); base != "" {
				out[base+"."+d.Name.Name] = text(d, d.Doc)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs { // a block as a whole: iota counts its lines
				switch s := s.(type) {
				case *ast.TypeSpec:
					out[s.Name.Name] = text(d, d.Doc)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						out[id.Name] = text(d, d.Doc)
					}
				}
			}
		}
	}
	return out
}
