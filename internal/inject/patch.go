package inject

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/format"
	"go/token"
	"os"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A Patch is a switch between versions, for people to review and to merge.
type Patch struct {
	Files    []PatchFile
	Overlay  string // of the patched tree, for the go command: it compiles without the module probe
	Package  string // import path of the function's package
	Required bool   // the user's go.mod has the module probe already
}

// A PatchFile is one file that changes. Before is "" for a new one.
type PatchFile struct {
	Path          string // relative to the module
	Before, After string
}

// WritePatch makes the change that adds a switch and the versions to the function's package. dir
// gets the overlay. The versions must declare nothing that is exported.
func WritePatch(ctx context.Context, o Options, dir string) (*Patch, error) {
	_, rolled, err := o.functions(ctx, nil)
	if err != nil {
		return nil, err
	}
	f := rolled[0]
	if err := f.refusePatch(); err != nil {
		return nil, err
	}
	required := o.probe(ctx) != ""
	out := &Patch{Package: f.pkg.PkgPath, Required: required}
	// The texts of the patch, as the user will have them.
	texts, before, err := patched(f, o.Versions)
	if err != nil {
		return nil, err
	}
	// The overlay tries the patch. Without the probe in go.mod, it brings a copy inside the module.
	root := f.pkg.Module
	w := &overlayBuilder{dir: dir, replace: map[string]string{}}
	inner := module
	if !required {
		inner = root.Path + "/" + inside
		if err := w.addProbe(root, inner); err != nil {
			return nil, err
		}
	}
	for _, t := range texts {
		if err := w.add(t.Path, strings.ReplaceAll(t.After, `"`+module, `"`+inner)); err != nil {
			return nil, err
		}
		if t.Path == f.path {
			t.Before = before
		} else if _, err := os.Stat(t.Path); err == nil {
			return nil, &beagle.UsageError{What: t.Path + " is there already",
				Remedy: "take the earlier switch out first"}
		}
		if t.Path, err = filepath.Rel(root.Dir, t.Path); err != nil {
			return nil, err
		}
		t.Path = filepath.ToSlash(t.Path)
		out.Files = append(out.Files, t)
	}
	out.Overlay = filepath.Join(dir, "overlay.json")
	js, err := json.MarshalIndent(map[string]any{"Replace": w.replace}, "", "\t")
	if err != nil {
		return nil, err
	}
	return out, os.WriteFile(out.Overlay, js, 0o644)
}

// refusePatch returns why a switch cannot stand beside the function's file, or nil.
func (f *function) refusePatch() error {
	nowhere := build.Default
	nowhere.GOOS, nowhere.GOARCH = "nowhere", "nothing"
	if ok, err := nowhere.MatchFile(filepath.Dir(f.path), filepath.Base(f.path)); err != nil || !ok {
		return errors.Join(err, &beagle.UsageError{
			What: fmt.Sprintf("rollout patch %s: its file %s is built on some systems only", f.spec,
				filepath.Base(f.path)),
			Remedy: "use beagle build --rollout, or add the switch by hand (package probe/rollout)",
		})
	}
	return nil
}

// patched returns the files of the patch with their own paths, and the function's file as it is.
func patched(f *function, v *Versions) (files []PatchFile, before string, err error) {
	text, err := os.ReadFile(f.path)
	if err != nil {
		return nil, "", err
	}
	before = string(text)
	e := &edited{text: before}
	offset := func(p token.Pos) int { return f.pkg.Fset.PositionFor(p, false).Offset }
	// Name the arguments, and choose names that nothing else has.
	args, err := e.arguments(f)
	if err != nil {
		return nil, "", err
	}
	results, err := resultsOf(f.decl)
	if err != nil {
		return nil, "", err
	}
	base := f.decl.Name.Name
	if recv := syntax.Receiver(f.decl); recv != "" {
		base = recv + "_" + base
	}
	name := syntax.UnexportedName(strings.ReplaceAll(base, "_", ""))
	s := &switched{writer: writer{f: f, args: args, results: results, in: f.in.passed()}, v: v,
		sw: name + "Switch", routed: name + "Routed"}
	// Put the gate at the start of the function. A formatted file stays formatted.
	body := offset(f.decl.Body.Lbrace) + 1
	gate := s.openGate()
	if strings.HasPrefix(before[body:], "\n") {
		gate = strings.TrimSuffix(gate, "\n")
	}
	e.edits = append(e.edits, syntax.Edit{Start: body, End: body, New: gate})
	after := e.insertedText()
	if tidy, err := format.Source(text); err == nil && string(tidy) == before {
		formatted, err := format.Source([]byte(after))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.spec, err)
		}
		after = string(formatted)
	}
	files = append(files, PatchFile{Path: f.path, After: after})
	// The switch and the three versions get files of their own, to be deleted after the rollout.
	beside := filepath.Join(filepath.Dir(f.path), strings.ToLower(base)+"_rollout")
	own, err := s.file()
	if err != nil {
		return nil, "", err
	}
	files = append(files, PatchFile{Path: beside + ".go", After: own})
	for i, arm := range []string{"original", "candidate", "placebo"} {
		note := fmt.Sprintf("// Version %q of %s, see %s.go. Remove it when the rollout is over.\n\n", arm,
			f.decl.Name.Name, filepath.Base(beside))
		formatted, err := format.Source([]byte(note + strings.TrimRight(v.Texts[i], "\n") + "\n"))
		if err != nil {
			return nil, "", fmt.Errorf("%s: %w", f.spec, err)
		}
		files = append(files, PatchFile{Path: beside + "_" + arm + ".go", After: string(formatted)})
	}
	return files, before, nil
}

// openGate returns the gate on lines of its own.
func (s *switched) openGate() string {
	if len(s.results) == 0 {
		return fmt.Sprintf("\n\tif %s.On() {\n\t\t%s\n\t\treturn\n\t}\n", s.sw, s.call())
	}
	return fmt.Sprintf("\n\tif %s.On() {\n\t\treturn %s\n\t}\n", s.sw, s.call())
}

// file returns a file with the switch and the routed function.
func (s *switched) file() (string, error) {
	var b strings.Builder
	name := s.f.decl.Name.Name
	fmt.Fprintf(&b, "// This file lets versions of %s take turns in production. While no controller\n"+
		"// runs ('beagle rollout start'), the original runs, and a call costs a load and a branch more.\n"+
		"// When the rollout is over, remove this file, the three beside it, and the switch in %s.\n\n", name, name)
	fmt.Fprintf(&b, "package %s\n\nimport (\n", s.f.pkg.Name)
	for _, path := range s.f.typeImports() {
		fmt.Fprintf(&b, "\t%s\n", path)
	}
	fmt.Fprintf(&b, "\n\t%s %q\n\t%s %q\n)\n\n", probeName, module, rolloutName, module+"/rollout")
	s.declare(&b)
	text, err := format.Source([]byte(b.String()))
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.f.spec, err)
	}
	return string(text), nil
}

// typeImports returns the imports that the function's signature needs, as the file writes them.
func (f *function) typeImports() (all []string) {
	used := map[string]bool{}
	for _, list := range []*ast.FieldList{f.decl.Recv, f.decl.Type.TypeParams, f.decl.Type.Params,
		f.decl.Type.Results} {
		if list == nil {
			continue
		}
		ast.Inspect(list, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if id, ok := s.X.(*ast.Ident); ok {
					used[id.Name] = true
				}
			}
			return true
		})
	}
	for _, i := range f.file.Imports {
		if name := f.importName(i); used[name] {
			if all = append(all, i.Path.Value); i.Name != nil {
				all[len(all)-1] = i.Name.Name + " " + i.Path.Value
			}
		}
	}
	return all
}

// importName returns the file's name for an import.
func (f *function) importName(i *ast.ImportSpec) string {
	if i.Name != nil {
		return i.Name.Name
	}
	if p := f.pkg.TypesInfo.PkgNameOf(i); p != nil {
		return p.Name()
	}
	return ""
}
