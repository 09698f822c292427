package harness

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// profile makes the profile that a batch is compiled with. The recorded samples of the original's
// functions count for every version's too, or a version would be compiled as if it were cold.
// Line offsets are relative to the function, so that they hold where a version did not change.
func (t *batch) profile(ctx context.Context, path string) (string, error) {
	// Turn the profile into the compiler's form.
	plain := filepath.Join(t.dir, "pgo.txt")
	r, err := t.b.sandboxed(ctx, sandbox.Command{
		Path: t.b.tools.tool("preprofile"), Args: []string{"-i", path, "-o", plain}, Dir: t.dir,
		Write: []string{t.b.dir}, Read: []string{path},
	})
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
	// Spread the samples of the original's functions to those of every version.
	names := []string{"beagleOne"} // a profile that a harness took
	for _, d := range t.b.target.Scope {
		if d.Kind == "func" {
			names = append(names, d.Name[strings.LastIndex(d.Name, ".")+1:])
		}
	}
	edges, err := parseEdges(text)
	if err != nil {
		return "", fmt.Errorf("profile %s: %w", path, err)
	}
	out := filepath.Join(t.dir, "pgo-versions.txt")
	return out, os.WriteFile(out, spread(edges, t.b.target.PkgPath, names, t.alive()), 0o644)
}

// An edge is a call that a profile saw, by linker names.
type edge struct {
	caller, callee string
	offset         int // of the call's line in the caller
}

// ofVersion is the suffix that a harness's own profile has on names.
var ofVersion = regexp.MustCompile(`__b[0-9]+`)

// parseEdges reads what `go tool preprofile` writes: a header, then caller,
// callee and "offset weight" for each edge, heaviest first.
func parseEdges(text []byte) (map[edge]int64, error) {
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if lines[0] != strings.TrimSuffix(pgoHeader, "\n") || len(lines)%3 != 1 {
		return nil, errors.New("the go command's form of profiles is unknown")
	}
	edges := map[edge]int64{}
	for i := 1; i < len(lines); i += 3 {
		e, weight := edge{
			caller: ofVersion.ReplaceAllString(lines[i], ""),
			callee: ofVersion.ReplaceAllString(lines[i+1], ""),
		}, int64(0)
		if _, err := fmt.Sscanf(lines[i+2], "%d %d", &e.offset, &weight); err != nil {
			return nil, fmt.Errorf("%q: %w", lines[i+2], err)
		}
		edges[e] += weight
	}
	return edges, nil
}

const pgoHeader = "GO PREPROFILE V1\n"

// spread repeats every edge that touches one of the functions for every
// version.
func spread(edges map[edge]int64, pkgPath string, names []string, in []int) []byte {
	all := maps.Clone(edges)
	for e, weight := range edges {
		for _, i := range in {
			all[edge{versionName(e.caller, pkgPath, names, i), versionName(e.callee, pkgPath, names, i),
				e.offset}] = weight
		}
	}
	order := inorder.Collect(maps.Keys(all), func(a, b edge) int {
		return cmp.Or(cmp.Compare(all[b], all[a]), cmp.Compare(a.caller, b.caller), cmp.Compare(a.callee, b.callee),
			cmp.Compare(a.offset, b.offset))
	})
	var out bytes.Buffer
	out.WriteString(pgoHeader)
	for _, e := range order {
		fmt.Fprintf(&out, "%s\n%s\n%d %d\n", e.caller, e.callee, e.offset, all[e])
	}
	return out.Bytes()
}

// versionName returns the linker name of a version's copy of a function: of "pkg.F", "pkg.(*T).F",
// "pkg.F.func1" or "pkg.F[...]".
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
	// pkg.T.F: a method with a value receiver
	if head == "" && strings.HasPrefix(tail, ".") && !slices.Contains(names, fn) {
		k := strings.IndexAny(tail[1:]+".", ".[") + 1
		head, fn, tail = fn+".", tail[1:k], tail[k:]
	}
	if !slices.Contains(names, fn) {
		return name
	}
	return pkgPath + "." + head + fn + suffix(i) + tail
}
