// Package gotool knows the go command of a target's module: its place, the files and settings that
// it needs to run in a sandbox, and the test suites that reach the target.
package gotool

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/exports"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/source"
)

// A Toolchain is the go command as the target's module selects it.
type Toolchain struct {
	GOROOT, GOCACHE, GOMODCACHE, GOWORK, GOFLAGS, CGO_ENABLED, GOEXPERIMENT string

	tags          []string
	dir           string
	candidateDirs []string // directories that builds of candidates alone read
}

// Find asks the go command of the target's module where things are.
func Find(ctx context.Context, u *source.Unit) (*Toolchain, error) {
	t := &Toolchain{tags: u.Target.Tags, dir: u.Target.PkgDir, candidateDirs: u.RequirementDirs()}
	err := harness.GoEnv(ctx, t.dir, t)
	t.GOFLAGS = u.Requirement.GOFLAGS(t.GOFLAGS)
	return t, err
}

// Command returns the path of the go command.
func (t *Toolchain) Command() string { return filepath.Join(t.GOROOT, "bin", "go") }

// Env returns the go command's variables in a sandbox.
func (t *Toolchain) Env() []string {
	return []string{"GOROOT=" + t.GOROOT, "GOCACHE=" + t.GOCACHE, "GOMODCACHE=" + t.GOMODCACHE, "GOWORK=" + t.GOWORK,
		"GOFLAGS=" + t.GOFLAGS,
		"CGO_ENABLED=" + t.CGO_ENABLED, "GOEXPERIMENT=" + t.GOEXPERIMENT, "GOTOOLCHAIN=local", "GOPROXY=off"}
}

// TagArgs returns the flag of the build tags, if there are any.
func (t *Toolchain) TagArgs() []string {
	return source.TagFlags(t.tags)
}

// A Listed is go list's output for one package.
type Listed struct {
	ImportPath, Dir, Name, ForTest     string
	Imports, TestImports, XTestImports []string
	TestGoFiles, XTestGoFiles          []string
	Module                             *struct{ Dir string }
}

func (t *Toolchain) list(ctx context.Context, dir string, args ...string) ([]*Listed, error) {
	args = append(append([]string{"list", "-e", "-buildvcs=false"}, t.TagArgs()...), args...)
	out, err := harness.GoOutput(ctx, t.Command(), dir, append(os.Environ(), t.Env()...), args...)
	if err != nil {
		return nil, err
	}
	return exports.Decode[*Listed](out)
}

const testFields = "-json=ImportPath,Dir,Name,Imports,TestImports,XTestImports,TestGoFiles,XTestGoFiles,Module"

// Tests counts the test files of a package.
func (p *Listed) Tests() int { return len(p.TestGoFiles) + len(p.XTestGoFiles) }

// TargetPackage returns the target's package, and what its tests are linked with.
func (t *Toolchain) TargetPackage(ctx context.Context, of *beagle.Target) (own *Listed, deps []*Listed, err error) {
	if deps, err = t.list(ctx, of.PkgDir, "-deps", "-test", testFields, "."); err != nil {
		return nil, nil, err
	}
	i := slices.IndexFunc(deps, func(p *Listed) bool { return p.ImportPath == of.PkgPath })
	if i < 0 {
		return nil, nil, fmt.Errorf("go list: %s is not the package in %s", of.PkgPath, of.PkgDir)
	}
	return deps[i], deps, nil
}

// Importers returns the packages of the module whose tests reach the target, the nearest first:
// those that import it, then those that import them.
func (t *Toolchain) Importers(ctx context.Context, of *beagle.Target) ([]*Listed, error) {
	all, err := t.list(ctx, of.Dir, testFields, "./...")
	if err != nil {
		return nil, err
	}
	far := distances(all, of.PkgPath)
	reach := func(p *Listed) int {
		best, ok := far[p.ImportPath]
		for _, i := range slices.Concat(p.TestImports, p.XTestImports) {
			if d, is := far[i]; is && (!ok || d+1 < best) {
				best, ok = d+1, true
			}
		}
		return best
	}
	all = slices.DeleteFunc(all, func(p *Listed) bool {
		return p.Tests() == 0 || p.ImportPath == of.PkgPath || reach(p) == 0
	})
	inorder.By(all, func(a, b *Listed) int {
		return cmp.Or(reach(a)-reach(b), strings.Compare(a.ImportPath, b.ImportPath))
	})
	return all, nil
}

// distances counts the imports from each package down to the target.
func distances(all []*Listed, target string) map[string]int {
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

// Deps returns the packages that the tests of packages are linked with.
func (t *Toolchain) Deps(ctx context.Context, of *beagle.Target, tests []*Listed) ([]*Listed, error) {
	args := []string{"-deps", "-test", "-json=Module"}
	for _, p := range tests {
		args = append(args, p.ImportPath)
	}
	return t.list(ctx, of.Dir, args...)
}

// Readable returns the directories that the Toolchain and tests with these dependencies may read.
func (t *Toolchain) Readable(of *beagle.Target, deps []*Listed) []string {
	dirs := []string{t.GOROOT, t.GOCACHE, t.GOMODCACHE, of.Dir, of.PkgDir}
	dirs = append(dirs, t.candidateDirs...)
	if t.GOWORK != "" && t.GOWORK != "off" {
		dirs = append(dirs, filepath.Dir(t.GOWORK))
	}
	for _, p := range deps {
		if p.Module != nil && p.Module.Dir != "" && !strings.HasPrefix(p.Module.Dir, t.GOMODCACHE) {
			dirs = append(dirs, p.Module.Dir)
		}
	}
	inorder.Sort(dirs)
	return slices.Compact(dirs)
}
