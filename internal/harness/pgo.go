package harness

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// profile makes the profile that a batch is compiled with: what was recorded
// of the original's functions is said of every version's too, else a
// version would be compiled as if it were cold. Line offsets are relative to
// the function, so that they hold where a version did not change.
func (t *batch) profile(ctx context.Context, path string) (string, error) {
	plain := filepath.Join(t.dir, "pgo.txt")
	r, err := t.b.sandboxed(ctx, t.b.tools.tool("preprofile"), t.dir, nil, []string{"-i", path, "-o", plain}, []string{t.b.dir}, []string{path})
	if err != nil {
		return "", err
	}
	if !r.OK() {
		return "", fmt.Errorf("profile %s: %s", path, outputOf(r))
	}
	text, err := os.ReadFile(plain)
	if err != nil {
		return "", err
	}
	var names []string
	for _, d := range t.b.target.Scope {
		if d.Kind == "func" {
			names = append(names, d.Name[strings.LastIndex(d.Name, ".")+1:])
		}
	}
	out := filepath.Join(t.dir, "pgo-versions.txt")
	return out, os.WriteFile(out, spread(text, t.b.target.PkgPath, names, t.alive()), 0o644)
}

// spread repeats every call edge that touches one of the functions for every
// version. The format is that of `go tool preprofile`: a header, then caller,
// callee and "offset weight" for each edge, heaviest first.
func spread(text []byte, pkgPath string, names []string, in []int) []byte {
	var out bytes.Buffer
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, len(text)+1)
	s.Scan()
	fmt.Fprintln(&out, s.Text())
	for s.Scan() {
		caller := s.Text()
		s.Scan()
		callee := s.Text()
		s.Scan()
		fmt.Fprintf(&out, "%s\n%s\n%s\n", caller, callee, s.Text())
		for _, i := range in {
			from, to := versionName(caller, pkgPath, names, i), versionName(callee, pkgPath, names, i)
			if from != caller || to != callee {
				fmt.Fprintf(&out, "%s\n%s\n%s\n", from, to, s.Text())
			}
		}
	}
	return out.Bytes()
}

// versionName is the linker name of a version's copy of a function: of
// "pkg.F", "pkg.(*T).F", "pkg.F.func1" or "pkg.F[...]".
func versionName(name, pkgPath string, names []string, i int) string {
	rest, ok := strings.CutPrefix(name, pkgPath+".")
	if !ok {
		return name
	}
	head := ""
	if k := strings.Index(rest, ")."); strings.HasPrefix(rest, "(") && k > 0 {
		head, rest = rest[:k+2], rest[k+2:]
	}
	fn, tail := rest, ""
	if k := strings.IndexAny(rest, ".["); k >= 0 {
		fn, tail = rest[:k], rest[k:]
	}
	if head == "" && strings.HasPrefix(tail, ".") && !slices.Contains(names, fn) { // pkg.T.F: a method with a value receiver
		k := strings.IndexAny(tail[1:]+".", ".[") + 1
		head, fn, tail = fn+".", tail[1:k], tail[k:]
	}
	if !slices.Contains(names, fn) {
		return name
	}
	return pkgPath + "." + head + fn + suffix(i) + tail
}
