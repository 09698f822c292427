package corpus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/source"
)

// A toolchain is the go command as the target's module selects it.
type toolchain struct {
	GOROOT, GOCACHE, GOMODCACHE, GOWORK, GOFLAGS, CGO_ENABLED, GOEXPERIMENT string

	tags []string
	dir  string
}

func findToolchain(ctx context.Context, u *source.Unit) (*toolchain, error) {
	t := &toolchain{tags: u.Target.Tags, dir: u.Target.PkgDir}
	return t, harness.GoEnv(ctx, u.Target.PkgDir, t)
}

func (t *toolchain) command() string { return filepath.Join(t.GOROOT, "bin", "go") }

func (t *toolchain) env() []string {
	return []string{"GOROOT=" + t.GOROOT, "GOCACHE=" + t.GOCACHE, "GOMODCACHE=" + t.GOMODCACHE, "GOWORK=" + t.GOWORK,
		"GOFLAGS=" + t.GOFLAGS,
		"CGO_ENABLED=" + t.CGO_ENABLED, "GOEXPERIMENT=" + t.GOEXPERIMENT, "GOTOOLCHAIN=local", "GOPROXY=off"}
}

func (t *toolchain) tagArgs() []string {
	if len(t.tags) == 0 {
		return nil
	}
	return []string{"-tags=" + strings.Join(t.tags, ",")}
}

// A listed package is what go list says of one.
type listed struct {
	ImportPath, Dir, Name, ForTest     string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
	Module                             *struct{ Dir string }
}

func (t *toolchain) list(ctx context.Context, dir string, args ...string) ([]*listed, error) {
	args = append(append([]string{"list", "-e", "-buildvcs=false"}, t.tagArgs()...), args...)
	out, err := harness.GoOutput(ctx, t.command(), dir, append(os.Environ(), t.env()...), args...)
	if err != nil {
		return nil, err
	}
	var pkgs []*listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			return pkgs, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		pkgs = append(pkgs, p)
	}
}

const testFields = "-json=ImportPath,Dir,Name,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles,Module"

func (p *listed) tests() int { return len(p.TestGoFiles) + len(p.XTestGoFiles) }

// own is the target's package, and what its tests are linked with.
func (t *toolchain) own(ctx context.Context, u *source.Unit) (own *listed, deps []*listed, err error) {
	if deps, err = t.list(ctx, u.Target.PkgDir, "-deps", "-test", testFields, "."); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(deps, func(p *listed) bool { return p.ImportPath == u.Target.PkgPath })
	if i < 0 {
		return nil, nil, fmt.Errorf("go list: %s is not the package in %s", u.Target.PkgPath, u.Target.PkgDir)
	}
	return deps[i], deps, nil
}

// importers are the packages of the module whose tests reach the target, the
// nearest first: those that import it, then those that import them.
func (t *toolchain) importers(ctx context.Context, u *source.Unit) ([]*listed, error) {
	all, err := t.list(ctx, u.Target.Dir, testFields, "./...")
	if err != nil {
		return nil, err
	}
	far := distances(all, u.Target.PkgPath)
	reach := func(p *listed) int {
		best, ok := far[p.ImportPath]
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			if d, is := far[i]; is && (!ok || d+1 < best) {
				best, ok = d+1, true
			}
		}
		return best
	}
	all = slices.DeleteFunc(all, func(p *listed) bool {
		return p.tests() == 0 || p.ImportPath == u.Target.PkgPath || reach(p) == 0
	})
	slices.SortStableFunc(all, func(a, b *listed) int {
		return cmp.Or(reach(a)-reach(b), strings.Compare(a.ImportPath, b.ImportPath))
	})
	return all, nil
}

// distances counts the imports from each package down to the target.
func distances(all []*listed, target string) map[string]int {
	far := map[string]int{target: 0}
	for round := 1; ; round++ {
		before := len(far)
		for _, p := range all {
			if _, ok := far[p.ImportPath]; ok {
				continue
			}
			if slices.ContainsFunc(p.Imports, func(i string) bool { d, ok := far[i]; return ok && d == round-1 }) {
				far[p.ImportPath] = round
			}
		}
		if len(far) == before {
			return far
		}
	}
}

// deps are what the tests of packages are linked with.
func (t *toolchain) deps(ctx context.Context, u *source.Unit, tests []*listed) ([]*listed, error) {
	args := []string{"-deps", "-test", "-json=Module"}
	for _, p := range tests {
		args = append(args, p.ImportPath)
	}
	return t.list(ctx, u.Target.Dir, args...)
}

// readable are the directories that the toolchain and tests with these
// dependencies may read.
func (t *toolchain) readable(u *source.Unit, deps []*listed) []string {
	dirs := []string{t.GOROOT, t.GOCACHE, t.GOMODCACHE, u.Target.Dir, u.Target.PkgDir}
	if t.GOWORK != "" && t.GOWORK != "off" {
		dirs = append(dirs, filepath.Dir(t.GOWORK))
	}
	for _, p := range deps {
		if p.Module != nil && p.Module.Dir != "" && !strings.HasPrefix(p.Module.Dir, t.GOMODCACHE) {
			dirs = append(dirs, p.Module.Dir)
		}
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}
