package change

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"go/types"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle/internal/syntax"
)

// A cutter moves a function from the later version of a package into the
// earlier one.
type cutter struct {
	before, after *pkg
	owner         map[types.Object]*decl
	uses          map[*decl][]*decl
	differs       map[*decl]bool
	names         map[types.Object]string // new names for names that the earlier version has too
}

// cut returns a candidate file: the function of the later version, and each declaration that it
// reaches and that the earlier version lacks or has in another form. Such a declaration gets a new
// name where the earlier version uses its name. Declarations named by keep stay those of the
// earlier version.
func cut(before, after *pkg, function string, keep []string) (string, error) {
	c := &cutter{before: before, after: after, owner: map[types.Object]*decl{}, uses: map[*decl][]*decl{},
		differs: map[*decl]bool{}, names: map[types.Object]string{}}
	target := after.byKey[function]
	if target == nil || target.token != token.FUNC {
		return "", fmt.Errorf("%s is not a function of the later version", function)
	}
	if old := before.byKey[function]; old == nil || old.token != token.FUNC {
		return "", fmt.Errorf("%s is not a function of the earlier version", function)
	}
	c.graph()
	c.compare(keep)
	parts := c.reach(target)
	if len(parts) == 1 && !c.differs[target] {
		return "", fmt.Errorf("%s is the same in both versions", function)
	}
	if err := c.refuse(parts, target); err != nil {
		return "", err
	}
	c.rename(parts, target)
	return c.write(parts)
}

// graph finds which declaration of the later version uses which.
func (c *cutter) graph() {
	for _, d := range c.after.decls {
		for _, n := range d.names {
			if obj := c.after.info.Defs[n]; obj != nil {
				c.owner[obj] = d
			}
		}
	}
	for _, d := range c.after.decls {
		ast.Inspect(d.node, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				q := c.owner[syntax.Origin(c.after.info.Uses[id])]
				if q != nil && q != d && !slices.Contains(c.uses[d], q) {
					c.uses[d] = append(c.uses[d], q)
				}
			}
			return true
		})
	}
}

// compare marks the declarations that differ between the versions, themselves or in something that
// they use. A type stands for itself, without the bodies of its methods.
func (c *cutter) compare(keep []string) {
	kept := func(d *decl) bool {
		return slices.ContainsFunc(d.keys, func(key string) bool {
			return slices.Contains(keep, key) && c.before.byKey[key] != nil
		})
	}
	for _, d := range c.after.decls {
		for _, key := range d.keys {
			if kept(d) {
				continue
			}
			if old := c.before.byKey[key]; key != "_" && (old == nil || old.text != d.text) {
				c.differs[d] = true
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, d := range c.after.decls {
			if c.differs[d] || kept(d) {
				continue
			}
			if slices.ContainsFunc(c.uses[d], func(q *decl) bool { return c.differs[q] }) {
				c.differs[d], changed = true, true
			}
		}
	}
}

// reach lists the target and the differing declarations that it uses, in the order of their places
// after it.
func (c *cutter) reach(target *decl) []*decl {
	in := map[*decl]bool{target: true}
	var visit func(d *decl)
	visit = func(d *decl) {
		next := c.uses[d]
		if d.token == token.TYPE {
			next = append(slices.Clone(next), c.methods(d)...)
		}
		for _, q := range next {
			if !in[q] && c.differs[q] {
				in[q] = true
				visit(q)
			}
		}
	}
	visit(target)
	parts := []*decl{target}
	for _, d := range c.after.decls {
		if d != target && in[d] {
			parts = append(parts, d)
		}
	}
	return parts
}

// methods lists the methods of a type.
func (c *cutter) methods(t *decl) []*decl {
	var out []*decl
	for _, d := range c.after.decls {
		if f, ok := d.node.(*ast.FuncDecl); ok && f.Recv != nil && syntax.Receiver(f) == t.keys[0] {
			out = append(out, d)
		}
	}
	return out
}

// refuse returns an error for parts that a candidate cannot bring along.
func (c *cutter) refuse(parts []*decl, target *decl) error {
	for _, d := range parts {
		old := c.before.byKey[d.keys[0]]
		f, isFunc := d.node.(*ast.FuncDecl)
		switch {
		case d == target:
		case d.token == token.TYPE && old != nil:
			return fmt.Errorf("type %s differs between the versions", d.keys[0])
		case isFunc && f.Body == nil:
			return fmt.Errorf("%s is written in assembly", d.keys[0])
		case isFunc && f.Recv != nil && c.before.byKey[syntax.Receiver(f)] != nil:
			return fmt.Errorf("method %s differs between the versions", d.keys[0])
		case d.token == token.VAR && c.filled(d):
			return fmt.Errorf("variable %s is set by an init function", d.keys[0])
		}
	}
	return nil
}

// filled reports whether an init function uses a variable.
func (c *cutter) filled(v *decl) bool {
	return slices.ContainsFunc(c.after.decls, func(d *decl) bool {
		f, ok := d.node.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init" && slices.Contains(c.uses[d], v)
	})
}

// rename gives each part except the target a name that is not exported and that the earlier version
// lacks.
func (c *cutter) rename(parts []*decl, target *decl) {
	for _, d := range parts {
		if f, ok := d.node.(*ast.FuncDecl); d == target || ok && f.Recv != nil {
			continue
		}
		for _, n := range d.names {
			if c.before.byKey[n.Name] == nil && !n.IsExported() {
				continue
			}
			first := []rune(n.Name)
			first[0] = unicode.ToLower(first[0])
			name := string(first) + "After"
			for c.before.byKey[name] != nil || c.after.byKey[name] != nil {
				name += "1"
			}
			c.names[c.after.info.Defs[n]] = name
		}
	}
}

// write prints the candidate file.
func (c *cutter) write(parts []*decl) (string, error) {
	imports := map[string]string{} // local name to specification
	var body strings.Builder
	for _, d := range parts {
		if err := c.imports(d, imports); err != nil {
			return "", err
		}
		text, err := c.text(d)
		if err != nil {
			return "", err
		}
		body.WriteString("\n" + text + "\n")
	}
	specs := make([]string, 0, len(imports))
	for _, s := range imports {
		specs = append(specs, s)
	}
	slices.Sort(specs)
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n", c.before.name)
	for _, s := range specs {
		fmt.Fprintf(&b, "\nimport %s", s)
	}
	src, err := format.Source([]byte(b.String() + "\n" + body.String()))
	return string(src), err
}

// imports adds the packages that a declaration names.
func (c *cutter) imports(d *decl, into map[string]string) error {
	var problem error
	ast.Inspect(d.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		name, ok := c.after.info.Uses[id].(*types.PkgName)
		if !ok {
			return true
		}
		spec := strconv.Quote(name.Imported().Path())
		if id.Name != name.Imported().Name() {
			spec = id.Name + " " + spec
		}
		if was, ok := into[id.Name]; ok && was != spec {
			problem = fmt.Errorf("%s names two packages: %s and %s", id.Name, was, spec)
		}
		into[id.Name] = spec
		return true
	})
	return problem
}

// text returns a declaration's source text with the new names.
func (c *cutter) text(d *decl) (string, error) {
	// Read the declaration's source text.
	file := c.after.fset.File(d.node.Pos())
	src, err := os.ReadFile(file.Name())
	if err != nil {
		return "", err
	}
	start, end := file.Offset(d.node.Pos()), file.Offset(d.node.End())
	// A specification needs the keyword of its group.
	var b strings.Builder
	if _, spec := d.node.(ast.Spec); spec {
		b.WriteString(d.token.String() + " ")
	}
	b.WriteString(directives(d.node))
	// Copy the text with the new names.
	at := start
	ast.Inspect(d.node, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := c.after.info.Uses[id]
		if obj == nil {
			obj = c.after.info.Defs[id]
		}
		if name := c.names[syntax.Origin(obj)]; name != "" {
			b.Write(src[at:file.Offset(id.Pos())])
			b.WriteString(name)
			at = file.Offset(id.End())
		}
		return true
	})
	b.Write(src[at:end])
	return b.String(), nil
}

// directives returns the compiler's directives above a function.
func directives(n ast.Node) string {
	f, ok := n.(*ast.FuncDecl)
	if !ok || f.Doc == nil {
		return ""
	}
	var b strings.Builder
	for _, line := range f.Doc.List {
		if strings.HasPrefix(line.Text, "//go:") {
			b.WriteString(line.Text + "\n")
		}
	}
	return b.String()
}
