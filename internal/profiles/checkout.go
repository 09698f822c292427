package profiles

import (
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/mod/modfile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/syntax"
)

// Checkout reads the functions of the module in dir that the profiles name. Without a module there
// it is empty, unless own defines own code.
func Checkout(dir string, own []string, all []*hotspots.Profile) (*hotspots.Checkout, error) {
	dir, module, err := moduleOf(dir)
	if err != nil {
		return nil, err
	}
	c := &hotspots.Checkout{Module: module, Own: own}
	if module == "" {
		if len(own) > 0 {
			return c, nil
		}
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("there is no go.mod in %s or above it, so no code counts as your own", dir),
			Remedy: "name the checkout of the service with -C DIR, or its packages with --own example.com/service",
		}
	}
	c.Files, err = sourceFiles(dir, wantedFiles(all))
	return c, err
}

// moduleOf finds the module that holds a directory.
func moduleOf(dir string) (root, module string, err error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir, "", err
	}
	if info, err := os.Stat(abs); err != nil || !info.IsDir() {
		return dir, "", &beagle.UsageError{What: fmt.Sprintf("-C %s: there is no such directory", dir),
			Remedy: "name the checkout of the service"}
	}
	for at := abs; ; at = filepath.Dir(at) {
		data, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil {
			return at, modfile.ModulePath(data), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return at, "", err
		}
		if at == filepath.Dir(at) {
			return abs, "", nil
		}
	}
}

// wantedFiles returns the base names of the files that profiles name.
func wantedFiles(all []*hotspots.Profile) map[string]bool {
	names := map[string]bool{}
	for _, p := range all {
		for _, f := range p.Pprof.Function {
			names[path.Base(filepath.ToSlash(f.Filename))] = true
		}
	}
	return names
}

// sourceFiles parses the files of a module with certain base names. Nested
// modules are other modules. A file that does not parse is left out: only its
// functions become unknown.
func sourceFiles(root string, names map[string]bool) (map[string]*hotspots.SourceFile, error) {
	files := map[string]*hotspots.SourceFile{}
	err := filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable: not part of this build
		}
		if e.IsDir() {
			if at != root && skipped(at, e.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), ".go") || !names[e.Name()] {
			return nil
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		if f := sourceFile(at, filepath.ToSlash(rel)); f != nil {
			files[f.Path] = f
		}
		return nil
	})
	return files, err
}

// skipped reports whether a directory holds no code of the module that is read.
func skipped(at, name string) bool {
	if strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "node_modules" ||
		name == "vendor" {
		return true
	}
	_, err := os.Stat(filepath.Join(at, "go.mod"))
	return err == nil
}

// sourceFile returns a file's functions with their lines, or nil if it cannot be parsed.
func sourceFile(at, rel string) *hotspots.SourceFile {
	set := token.NewFileSet()
	text, err := os.ReadFile(at)
	if err != nil {
		return nil
	}
	parsed, err := parser.ParseFile(set, at, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil
	}
	f := &hotspots.SourceFile{Path: rel, Main: parsed.Name.Name == "main", Generated: ast.IsGenerated(parsed)}
	for _, d := range parsed.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		// Where the file says with //line that it comes from another, profiles
		// say so too, and that file is not compared.
		f.Decls = append(f.Decls, hotspots.SourceFunc{
			Name: syntax.DeclName(fn), Start: set.PositionFor(fn.Pos(), false).Line,
			End: set.PositionFor(fn.End(), false).Line, Body: fn.Body != nil,
			Text: beagle.HashOf("function", text[set.PositionFor(fn.Pos(), false).Offset:set.PositionFor(fn.End(),
				false).Offset]),
		})
	}
	return f
}

// BuildID reads the GNU build ID of a program, which its profiles carry too.
func BuildID(file string) (string, error) {
	f, err := elf.Open(file)
	if err != nil {
		return "", &beagle.UsageError{
			What:   fmt.Sprintf("--binary %s: %v", file, err),
			Remedy: "name the Linux program that was profiled",
		}
	}
	defer f.Close()
	section := f.Section(".note.gnu.build-id")
	if section == nil {
		return "", &beagle.UsageError{
			What:   fmt.Sprintf("--binary %s has no GNU build ID", file),
			Remedy: "build it with Go 1.24 or later, or with -ldflags=-B=gobuildid",
		}
	}
	note, err := section.Data()
	if err != nil || len(note) < 16 {
		return "", &beagle.UsageError{What: fmt.Sprintf("--binary %s has a broken build ID", file),
			Remedy: "build it again"}
	}
	return hex.EncodeToString(note[16:]), nil
}
