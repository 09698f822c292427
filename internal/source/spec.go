package source

import (
	"fmt"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/syntax"
)

// An interpretation is one way to read the name that the user typed.
type interpretation struct {
	pattern string // for the go command
	name    string // "Func" or "Type.Method"
}

// interpretations lists the ways to split a specification into package and
// function, most likely first. A dot may belong to the path
// (gopkg.in/yaml.v3.Unmarshal), to the package (tags.Normalize) or to a
// method (Tags.Normalize), so that the file system and the go command decide.
func interpretations(dir, spec string) []interpretation {
	spec, _ = syntax.CutTypeArgs(spec)
	spec = strings.NewReplacer("(", "", ")", "", "*", "").Replace(spec)
	slash := strings.LastIndex(spec, "/") + 1
	parts := strings.Split(spec[slash:], ".")
	var local, other []interpretation
	for n := 1; n <= 2 && n <= len(parts); n++ {
		name := strings.Join(parts[len(parts)-n:], ".")
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") || name == "" {
			continue
		}
		path := spec[:slash] + strings.Join(parts[:len(parts)-n], ".")
		switch {
		case path == "":
			local = append(local, interpretation{".", name})
		case strings.HasPrefix(path, ".") || filepath.IsAbs(path):
			if clean := filepath.Clean(path); filepath.IsAbs(clean) || clean == "." || strings.HasPrefix(clean, "..") {
				local = append(local, interpretation{clean, name})
			} else {
				local = append(local, interpretation{"./" + clean, name})
			}
		case strings.HasSuffix(path, "/"):
			// "dir/Func": Func in the directory dir.
			local = append(local, interpretation{"./" + strings.TrimSuffix(path, "/"), name})
		default:
			if hasGoFiles(filepath.Join(dir, path)) {
				local = append(local, interpretation{"./" + path, name})
			}
			other = append(other, interpretation{path, name})
		}
	}
	local = slices.DeleteFunc(local, func(r interpretation) bool {
		return !filepath.IsAbs(r.pattern) && !hasGoFiles(filepath.Join(dir, r.pattern))
	})
	return append(local, other...)
}

func hasGoFiles(dir string) bool {
	m, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	return len(m) > 0
}

// unknownPackage returns the error for a specification that names no package.
func unknownPackage(dir, spec, detail string) error {
	e := &beagle.UsageError{
		What: fmt.Sprintf("%s: no such package (looked from %s)", spec, dir),
		Remedy: "name the function as ./dir.Func, import/path.Func, ./dir.Type.Method, or Func for the current " +
			"directory",
	}
	if detail != "" {
		e.What += ": " + detail
	}
	// Each kind of mistake has its own remedy: nothing, a package alone, and a misspelt one.
	if strings.Trim(spec, "./") == "" {
		e.What = fmt.Sprintf("%q names no function", spec)
		return e
	}
	if hasGoFiles(filepath.Join(dir, spec)) {
		e.What = fmt.Sprintf("%s names a package, not a function", spec)
		e.Remedy = fmt.Sprintf("add the function: %s.Func or %s.Type.Method", spec, spec)
		return e
	}
	// As a last guess, directories with a similar name.
	if near := nearestNames(lastElem(spec), packageDirs(dir), lastElem); len(near) > 0 {
		e.Remedy = "Did you mean " + orList(near) + "?"
	}
	return e
}

// fileNamed returns the error for a specification that names a file, with or without a function or
// a line: ini.go, ini.go:Parse, ini.go:12. It returns nil for any other.
func fileNamed(spec string) error {
	file, rest, _ := strings.Cut(spec, ":")
	if !strings.HasSuffix(file, ".go") {
		return nil
	}
	name := "Func"
	// The text after the colon may name a function. A line number does not.
	if token.IsIdentifier(strings.ReplaceAll(rest, ".", "")) {
		name = rest
	}
	if dir := filepath.ToSlash(filepath.Dir(file)); dir != "." {
		if !filepath.IsAbs(dir) && !strings.HasPrefix(dir, ".") {
			dir = "./" + dir
		}
		name = dir + "." + name
	}
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s names a file, not a function", spec),
		Remedy: fmt.Sprintf("name the function by its package, wherever in it the file is: %s", name),
	}
}

// NearNames lists the names that are close to the typed one, as in "evolve or explain"; "" if there
// are none.
func NearNames(typed string, names []string) string {
	near := nearestNames(typed, names, func(name string) string { return name })
	if len(near) == 0 {
		return ""
	}
	return orList(near)
}

// lastElem returns the directory's own name, without the function's.
func lastElem(spec string) string {
	base := spec[strings.LastIndex(spec, "/")+1:]
	name, _, _ := strings.Cut(base, ".")
	return name
}

// packageDirs lists the directories with Go files below dir as patterns.
func packageDirs(dir string) []string {
	const enough = 2000
	var out []string
	filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || len(out) >= enough {
			return filepath.SkipDir
		}
		if !d.IsDir() {
			return nil
		}
		// As for the go command, these directories have no packages of the module.
		if n := d.Name(); path != dir &&
			(strings.HasPrefix(n, ".") || strings.HasPrefix(n, "_") || n == "testdata" || n == "vendor") {
			return filepath.SkipDir
		}
		if rel, err := filepath.Rel(dir, path); err == nil && rel != "." && hasGoFiles(path) {
			out = append(out, "./"+filepath.ToSlash(rel))
		}
		return nil
	})
	return out
}

// nearestNames returns at most three of the names that are close to name, closest
// first; key says which part of a name is compared.
func nearestNames(name string, names []string, key func(string) string) []string {
	type scored struct {
		name string
		d    int
	}
	var found []scored
	for _, n := range names {
		k := key(n)
		d := editDistance(strings.ToLower(name), strings.ToLower(k))
		// A user who writes a part of a name means that name.
		if part := len(name) > 3 && strings.Contains(strings.ToLower(k), strings.ToLower(name)); part {
			d = min(d, 2)
		}
		// A long name may be wrong in a third of its letters, a short one in one or two of them.
		// No more than half are wrong: --slo does not mean --all.
		if d <= 1+len(name)/3 && 2*d <= max(len(name), len(k)) {
			found = append(found, scored{n, d})
		}
	}
	inorder.By(found, func(a, b scored) int { return a.d - b.d })
	var out []string
	for _, s := range found[:min(3, len(found))] {
		out = append(out, s.name)
	}
	return out
}

// editDistance returns the Levenshtein distance.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	// One row of the table is enough: each value depends on its neighbours in this row and the one
	// before.
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func orList(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}
