package inplace

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/inplace/live"
)

// Versions of a group lay values out differently, so that one program holds one version: the
// user's files with its patch. Whole runs of the tests are compared, and for times the programs
// run side by side and pass a baton.

// buildWhole builds a program for each version, in the tests of all suites.
func (p *Place) buildWhole(ctx context.Context, vs []Version, link Link) (*Program, error) {
	g := &Program{Failed: map[int]string{}, link: link, dir: p.newDir(), overs: make([]string, len(vs))}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return nil, err
	}
	same := map[string]string{} // overlay, by the version's text
	for i, v := range vs {
		if g.overs[i] = same[v.Source]; g.overs[i] != "" {
			continue
		}
		o, err := p.patched(g.dir, i, v.Source)
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			g.Failed[i] = err.Error()
			continue
		}
		g.overs[i] = filepath.Join(g.dir, fmt.Sprintf("overlay%d.json", i))
		if err := o.write(g.overs[i]); err != nil {
			return nil, err
		}
		same[v.Source] = g.overs[i]
	}
	return g, p.linkWhole(ctx, g)
}

// patched returns the user's files with a version in them.
func (p *Place) patched(dir string, i int, src string) (overlay, error) {
	patch, err := p.u.Writer.Patch(src, nil)
	if err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, fmt.Sprintf("version%d", i))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	o := maps.Clone(p.base)
	for _, f := range patch.Files {
		if err := o.put(dir, filepath.Join(p.u.Target.Dir, filepath.FromSlash(f.Path)), f.After); err != nil {
			return nil, err
		}
	}
	return o, p.hookSuites(o)
}

// linkWhole runs the go command for each version and suite.
func (p *programs) linkWhole(ctx context.Context, g *Program) error {
	g.paths, g.why = make([]string, len(p.suites)), make([]string, len(p.suites))
	g.versions = make([][]string, len(p.suites))
	built := 0
	for i, s := range p.suites {
		g.versions[i] = make([]string, len(g.overs))
		done := map[string]string{}
		for v, over := range g.overs {
			if g.Failed[v] != "" || g.why[i] != "" {
				continue
			}
			if g.versions[i][v] = done[over]; done[over] != "" {
				continue
			}
			path := filepath.Join(g.dir, fmt.Sprintf("suite%d-%d-%d.test", i, v, g.link.Layout))
			if v == 0 && g.link.Layout == 0 { // the original, which many programs hold
				path = p.original(s, g.link)
			}
			refused, err := p.goTestOnce(ctx, over, g.link, s.pkg, path)
			switch {
			case err != nil:
				return err
			case refused != "" && v == 0:
				g.why[i] = refused
			case refused != "":
				g.Failed[v] = fmt.Sprintf("the tests of %s do not build with it: %s", s.pkg.ImportPath, refused)
			default:
				g.versions[i][v], done[over] = path, path
			}
		}
		if g.paths[i] = g.versions[i][0]; g.paths[i] != "" {
			built++
		}
	}
	if built == 0 {
		return fmt.Errorf("%w: %s", errRefused, strings.Join(g.why, "\n"))
	}
	return nil
}

// original returns the path of the original for all programs that are linked alike.
func (p *programs) original(s *suite, link Link) string {
	name := beagle.HashOf("original", s.pkg.ImportPath, link)[:16]
	return filepath.Join(p.dir, "original-"+name+".test")
}

// goTestOnce does what goTest does, unless the binary is there already.
func (p *programs) goTestOnce(
	ctx context.Context, over string, link Link, pkg *gotool.Listed, path string,
) (string, error) {
	if _, err := os.Stat(path); err == nil {
		return "", nil
	}
	part := fmt.Sprintf("%s-%s", path, filepath.Base(filepath.Dir(over))) // another program may build it, too
	refused, err := p.goTest(ctx, over, link, pkg, part)
	if err == nil && refused == "" {
		err = os.Rename(part, path)
	}
	return refused, err
}

// startWhole leaves out the versions whose programs do not start.
func (p *programs) startWhole(ctx context.Context, g *Program) error {
	for v := 1; v < len(g.overs); v++ {
		for i := range p.suites {
			if g.Failed[v] != "" || g.paths[i] == "" {
				continue
			}
			r, err := p.run(ctx, g, job{suite: i, plan: live.Plan{Mode: live.Run, Version: v}, wall: startTime})
			if err != nil {
				return err
			}
			if !r.OK() {
				g.Failed[v] = "the program does not start: " + outputOf(r.Result)
			}
		}
	}
	return nil
}

// counting builds the original with calls that are counted, for the only suite that there is. It
// also lets each of the functions do nothing.
func (p *Place) counting(ctx context.Context, g *Program) error {
	dir := filepath.Join(g.dir, "counting")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	// Begin each function with a call that counts, and may end it at once.
	o := maps.Clone(p.base)
	for path, text := range p.u.Writer.EnteredAll(func(k int) string {
		return fmt.Sprintf("if beagleVoid(%d) { return }; defer beagleCalled()(); ", k)
	}) {
		if err := o.put(dir, path, text); err != nil {
			return err
		}
	}
	// Add the functions that count to the package.
	text := fmt.Sprintf("package %s\n\nimport beaglelive %q\n\n"+
		"func beagleVoid(k int) bool { return beaglelive.Void(k) }\n\n"+
		"func beagleCalled() func() { return beaglelive.Called() }\n", p.u.Target.PkgName, livePath(p.u))
	if err := o.put(dir, filepath.Join(p.u.Target.PkgDir, "beagle_group.go"), text); err != nil {
		return err
	}
	// Build the test binary.
	over, path := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "counting.test")
	if err := o.write(over); err != nil {
		return err
	}
	refused, err := p.goTest(ctx, over, Link{}, p.suites[0].pkg, path)
	if err == nil && refused != "" {
		err = fmt.Errorf("%w: %s", errRefused, refused)
	}
	g.paths[0] = path
	return err
}

// pairWhole builds the original twice, and once with calls that are counted.
func (p *Place) pairWhole(ctx context.Context, original string) (*Program, error) {
	g, err := p.buildWhole(ctx, []Version{{"original", original}, {"copy", original}}, Link{})
	if err == nil {
		err = p.counting(ctx, g)
	}
	return g, err
}

// voidTime bounds how long it is tried whether the tests notice functions that do nothing.
const voidTime = time.Minute

// voids finds the functions of a group that may do nothing without a test that notices. When that
// is true of all, there is no evidence.
func (p *Place) voids(ctx context.Context, g *Program) error {
	names := p.u.Scope.FunctionNames()
	end := time.Now().Add(voidTime)
	for k, name := range names {
		p.watch(fmt.Sprintf("whether the tests notice a %s that does nothing", name))
		noticed := false
		if time.Now().Before(end) {
			c, err := p.runsOf(ctx, g, live.Plan{Mode: live.Run, Void: k + 1}, false)
			if err != nil {
				return err
			}
			noticed = c.fault() != ""
		}
		if !noticed {
			p.evidence.Unnoticed = append(p.evidence.Unnoticed, name)
		}
	}
	if len(p.evidence.Unnoticed) < len(names) {
		return nil
	}
	return p.unnoticed("none of its functions is missed: the tests and benchmarks end as they do now when one does " +
		"nothing and returns zero values")
}

// unnoticed returns the error for tests that would take any version for equal.
func (p *Place) unnoticed(why string) error {
	return &beagle.UsageError{
		What:   fmt.Sprintf("%s: there is no evidence in place: %s", p.u.Target.Spec(), why),
		Remedy: "write a test that looks at what it returns, changes or calls",
	}
}
