package flow

import (
	"context"
	"fmt"
	"go/types"
	"os"
	"path/filepath"
	"sync"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/scratch"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/lift"
)

// A lab builds, runs and times versions. It has a sandbox, a builder, the two judges, and a
// directory for their files.
type lab struct {
	unit     *source.Unit
	root     beagle.Candidate
	box      *sandbox.Sandbox
	builder  *harness.Builder // from equip on, as the judges
	bench    *bench.Env
	evidence evidence     // see use
	inPlace  bool         // the evidence comes from the user's tests
	score    beagle.Score // that compares versions
	verify   *verify.Env
	brief    bool // see Brief
	scratch  *scratch.Dir
	dir      string       // scratch, removed at the end
	ahead    func()       // ends compilations ahead of need, which work in dir
	timing   sync.RWMutex // held during a measurement; disturbing work takes the read lock
}

// newLab makes a lab without a sandbox: see enclose.
func newLab() (*lab, error) {
	dir, err := scratch.New("run")
	if err != nil {
		return nil, err
	}
	return &lab{scratch: dir, dir: dir.Path, ahead: func() {}}, nil
}

// enclose begins to set up the sandbox, and to compile in it what harnesses of every target need.
// The lab has the sandbox once the returned function was called.
func (l *lab) enclose(ctx context.Context, spec *Spec) (enclosed func() error) {
	box := sync.OnceValues(func() (*sandbox.Sandbox, error) {
		return sandbox.New(sandbox.Options{Require: spec.Sandbox == "require"})
	})
	go box()
	l.ahead = harness.Ahead(ctx, box, spec.Dir, spec.Tags, filepath.Join(l.dir, "ahead"))
	return func() (err error) {
		l.box, err = box()
		return err
	}
}

// require prepares builds with the module simd where the spec allows it and go.mod lacks it; it
// returns nil where nothing is to be added. A run that began before keeps its version.
func (l *lab) require(ctx context.Context, spec *Spec, version string) (*source.Requirement, error) {
	if !spec.WithSimd {
		return nil, nil
	}
	dir := filepath.Join(l.dir, "module")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return source.Require(ctx, spec.Load(), lift.SimdPath, version, dir)
}

// equip makes the builder and the two judges.
func (l *lab) equip(ctx context.Context) error {
	var err error
	l.builder, err = harness.NewBuilder(ctx, l.unit, l.box, filepath.Join(l.dir, "build"))
	if err != nil {
		return err
	}
	if err := l.furnish(); err != nil {
		return err
	}
	l.bench.Builder, l.verify.Builder = l.builder, l.builder
	return nil
}

// furnish makes the two judges without a builder, as evidence in place needs them.
func (l *lab) furnish() error {
	for _, sub := range []string{"bench", "verify", "corpus"} {
		if err := os.MkdirAll(filepath.Join(l.dir, sub), 0o755); err != nil {
			return err
		}
	}
	l.bench = &bench.Env{Box: l.box, Dir: filepath.Join(l.dir, "bench"), CPU: sandbox.LastCPU(), Score: l.score}
	l.verify = &verify.Env{
		Unit: l.unit, Box: l.box, Dir: filepath.Join(l.dir, "verify"), InPlace: l.inPlace, Brief: l.brief,
	}
	return nil
}

// use makes an evidence that of the run. Only the preparer calls it: after the preparation nothing
// changes the evidence.
func (l *lab) use(e evidence, inPlace bool) { l.evidence, l.inPlace = e, inPlace }

func (l *lab) close() {
	l.ahead()
	l.scratch.Remove()
}

// original returns the original as the first version of a program.
func (l *lab) original() harness.Variant {
	return harness.Variant{ID: l.root.ID, Source: l.root.Source}
}

// buildWithOriginal builds one program of the original, as version 0, and other versions.
func (l *lab) buildWithOriginal(
	ctx context.Context, link harness.Link, cs ...beagle.Candidate,
) (*harness.Binary, error) {
	variants := []harness.Variant{l.original()}
	for _, c := range cs {
		variants = append(variants, harness.Variant{ID: c.ID, Source: c.Source})
	}
	return l.builder.Build(ctx, variants, link)
}

// buildOriginal equips the lab, and builds a program of the original by itself.
func (l *lab) buildOriginal(ctx context.Context) (*harness.Binary, error) {
	if err := l.equip(ctx); err != nil {
		return nil, err
	}
	bin, err := l.buildWithOriginal(ctx, harness.Link{FuncAlign: 64})
	l.verify.Alone = bin
	return bin, err
}

// compiles describes to people what the first harness compiles.
func (l *lab) compiles() string {
	f, problem := l.unit.Reader.Parse(l.root.Source)
	if problem != nil {
		return l.unit.Target.PkgPath
	}
	seen := map[*types.Package]bool{}
	var visit func(*types.Package)
	visit = func(p *types.Package) {
		for _, imported := range p.Imports() {
			if !seen[imported] {
				seen[imported] = true
				visit(imported)
			}
		}
	}
	visit(f.Types)
	return fmt.Sprintf("%s, %d packages that it imports, and Beagle's runtime", l.unit.Target.PkgPath, len(seen))
}

// assembly returns the compiler's assembly of a version. It waits until nothing is timed.
func (l *lab) assembly(ctx context.Context, c beagle.Candidate) ([]harness.Instruction, error) {
	if l.builder == nil { // in place there is no harness to read the assembly from
		return nil, nil
	}
	l.timing.RLock()
	defer l.timing.RUnlock()
	return l.builder.Assembly(ctx, harness.Variant{ID: c.ID, Source: c.Source})
}
