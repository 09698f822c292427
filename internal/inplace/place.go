package inplace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/gotool"
	"github.com/beagle-go/beagle/internal/inplace/live"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
)

// A Place runs versions of a target inside the tests of its module. Several goroutines may use it
// at once.
type Place struct {
	programs
	watch func(what string) // progress, for people

	// Timing asks for a benchmark that calls the target. Survey refuses a target without one, as
	// soon as that is known and before it tries the tests.
	Timing bool

	shell  *dispatcher
	base   overlay  // the common part of all programs
	survey *Program // the original and its copy, from the survey

	tape     bool     // recorders may be built
	faults   bool     // calls are made again in which a callback or an interface fails
	norace   bool     // leave the race detector out
	brief    bool     // the quickest tests alone notice a target that does nothing
	trouble  []string // tests that could not run, and why
	evidence beagle.InPlace

	mu     sync.Mutex
	count  int                // of programs
	hooked map[string]overlay // test files with hooks, by package
}

// programs builds and runs the test programs of the package.
type programs struct {
	u       *source.Unit
	box     *sandbox.Sandbox
	dir     string
	tools   *gotool.Toolchain
	read    []string
	suites  []*suite
	profile sandbox.Profile // under which the tests run
}

// A suite are the tests of one package that reach the target.
type suite struct {
	pkg   *gotool.Listed
	tests []string // that call the target, and do the same each time
	quick []string // the quickest of them
	flaky []string // that call it and do not
	slow  []string // that call it and take too long
	bench []string // leaf benchmarks that call it
	timed []timedBenchmark
	race  bool // calls came from several goroutines

	counted map[string]outcome // of all tests, while calls were counted
	wanted  map[string]outcome // of the tests, with the original
	stderr  *string            // of the tests; nil where it may differ, or the target does not print

	took      time.Duration // the longest run of them, with the original
	quickTook time.Duration // a run of the quickest; 0 before it is known
}

// New prepares a place. dir is for temporary files, which the caller removes. It returns a
// [beagle.UsageError] where the module's tests cannot serve.
func New(
	ctx context.Context, u *source.Unit, box *sandbox.Sandbox, dir string, watch func(string),
) (*Place, error) {
	// Find the go command, and the directories that tests may write to.
	p := &Place{programs: programs{u: u, box: box, dir: dir, profile: sandbox.Run}, watch: watch, tape: true}
	if watch == nil {
		p.watch = func(string) {}
	}
	if err := os.MkdirAll(filepath.Join(dir, "runtime"), 0o755); err != nil {
		return nil, err
	}
	var err error
	if p.tools, err = gotool.Find(ctx, u); err != nil {
		return nil, err
	}
	if err := p.writable(); err != nil {
		return nil, err
	}
	// Write the packages that versions need at run time, and the dispatcher for single functions.
	if u.Scope.Group() {
		p.base, err = p.runtimes(filepath.Join(dir, "runtime"))
		return p, err
	}
	if p.shell, err = newDispatcher(u); err != nil {
		return nil, err
	}
	if p.base, err = p.runtimes(filepath.Join(dir, "runtime")); err != nil {
		return nil, err
	}
	p.shell.imports = source.Imports{}
	text, err := p.shell.edited()
	if err != nil {
		return nil, err
	}
	return p, p.base.put(filepath.Join(dir, "runtime"), u.Target.File, text)
}

// writable refuses packages to which the go command adds no file.
func (p *programs) writable() error {
	t := &p.u.Target
	local, err := filepath.Rel(t.Dir, t.PkgDir)
	if err == nil && slices.Contains(strings.Split(filepath.ToSlash(local), "/"), "vendor") {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s is vendored from another module, so that its tests are not here", t.Spec()),
			Remedy: "name a function of the main module, or work in a checkout of " + t.Module,
		}
	}
	if c := p.tools.GOMODCACHE; c != "" && strings.HasPrefix(t.PkgDir, c+string(filepath.Separator)) {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s is in the module cache, where the go command adds no files", t.Spec()),
			Remedy: "copy the module to another directory, and name the function there",
		}
	}
	return nil
}

// A Version is one text of the target in a program. The first is the original.
type Version struct {
	ID     string
	Source string
}

// A Link says how a program is linked.
type Link struct {
	FuncAlign int    // alignment of functions; 0 is the linker's own
	Layout    uint64 // seed of the order of functions; 0 is the linker's own order
	Race      bool   // with the race detector
}

// A Program are the test binaries with some versions in them, one for each suite.
type Program struct {
	Failed      map[int]string // why a version is not in it
	dir         string
	overlayText string // the overlay's description
	link        Link
	paths       []string // by suite; "" for one that does not build
	why         []string // why not

	overs    []string   // of a group: the overlay's description, by version
	versions [][]string // of a group: the binary, by suite and version
}

// path returns the binary for a job.
func (g *Program) path(j *job) string {
	if g.versions == nil || j.plan.Mode == live.Count || j.plan.Void > 0 {
		return g.paths[j.suite]
	}
	return g.versions[j.suite][j.plan.Version]
}

// Remove deletes the binaries.
func (g *Program) Remove() { os.RemoveAll(g.dir) }

// errRefused is a build that the compiler refuses for a reason that names no version.
var errRefused = errors.New("the tests do not build in place")

// Build compiles versions into the test binaries of all suites.
func (p *Place) Build(ctx context.Context, vs []Version, link Link) (*Program, error) {
	if p.u.Scope.Group() {
		return p.buildWhole(ctx, vs, link)
	}
	g := &Program{Failed: map[int]string{}, link: link, dir: p.newDir()}
	if err := os.MkdirAll(g.dir, 0o755); err != nil {
		return nil, err
	}
	texts, err := p.texts(vs, g.Failed)
	if err != nil {
		return nil, err
	}
	for {
		blamed, err := p.compile(ctx, g, texts)
		if err != nil || len(blamed) == 0 {
			return g, err
		}
		for i, why := range blamed {
			if i == 0 {
				return nil, fmt.Errorf("%w: %s", errRefused, why)
			}
			g.Failed[i] = why
			delete(texts, i)
		}
	}
}

// newDir returns the directory of a new program.
func (p *Place) newDir() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.count++
	return filepath.Join(p.dir, fmt.Sprintf("program%d", p.count))
}

// texts returns the renamed versions by their numbers.
func (p *Place) texts(vs []Version, failed map[int]string) (map[int]string, error) {
	texts := map[int]string{}
	for i, v := range vs {
		text, err := p.variant(v.Source, suffix(i))
		if err != nil && i == 0 {
			return nil, err
		}
		if err != nil {
			failed[i] = err.Error()
			continue
		}
		texts[i] = text
	}
	return texts, nil
}

func (p *Place) variant(src, suffix string) (string, error) {
	f, problem := p.u.Reader.Parse(src)
	if problem != nil {
		return "", fmt.Errorf("line %d: %s", problem.Line, problem.Message)
	}
	text, err := p.u.Writer.Variant(f, suffix)
	if name := p.u.Package.BuildName(); err == nil && name != p.u.Target.PkgName {
		text = strings.Replace(text, "package "+name, "package "+p.u.Target.PkgName, 1)
	}
	return p.keepApart(text, suffix), err
}

// keepApart keeps a version from being inlined into the dispatcher. An inlined one has no address,
// and only versions at the same address modulo 64 are compared with each other. The directive takes
// the place of the empty line, or the comment, above the function: lines of profiles and of the
// compiler's messages are those of the version.
func (p *Place) keepApart(text, suffix string) string {
	_, name, method := strings.Cut(p.u.Target.Name, ".")
	if !method {
		name = p.u.Target.Name
	}
	head := `(func (?:\([^)]*\) )?` + regexp.QuoteMeta(name+suffix) + `\b)`
	if above := regexp.MustCompile(`(?m)^(?://|// .*)?\n` + head); above.MatchString(text) {
		return above.ReplaceAllString(text, "//go:noinline\n$1")
	}
	return regexp.MustCompile(`(?m)^`+head).ReplaceAllString(text, "//go:noinline\n$1")
}
