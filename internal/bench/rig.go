package bench

import (
	"context"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
)

// Confirm measures candidates fully: over link layouts, in processes shared
// with the original and apart from it, on training, held-out and fresh
// inputs, and on top of profile-guided optimisation. The result has an entry
// for each candidate. tried is how many candidates competed before these were
// chosen. An error means that the measuring failed, never that a candidate did.
func Confirm(
	ctx context.Context, e *Env, u *source.Unit, cs []beagle.Candidate, c *beagle.Corpus, tried int, o Options,
) ([]beagle.Measurement, error) {
	if len(cs) == 0 {
		return nil, nil
	}
	l, m, err := prepare(e, u, cs, c, o.defaults())
	if err != nil {
		return nil, err
	}
	defer l.close()
	return m.run(ctx, tried)
}

// prepare writes the inputs and names the variants.
func prepare(e *Env, u *source.Unit, cs []beagle.Candidate, c *beagle.Corpus, o Options) (*realRig, *confirmer, error) {
	l := &realRig{env: e, u: u, n: copiesOf(len(cs)), files: map[string]string{}, pgo: o.PGO}
	// The original is the first variant, and each candidate follows with its copies.
	l.copies("original", u.Target.Source)
	for _, x := range cs {
		l.copies(x.ID, x.Source)
	}
	m := newConfirmer(l, len(cs), o)
	m.mutates, m.panics, m.held = len(c.Facets.Mutates) > 0, c.Facets.Panics > 0, len(c.Holdout)
	// Each set of inputs becomes a file. One without records stays out.
	for name, records := range map[string][]beagle.Record{"train": timed(c), "holdout": c.Holdout, "fresh": o.Fresh} {
		if err := l.add(name, records); err != nil {
			l.close()
			return nil, nil, err
		}
	}
	if l.has("train") == "" {
		return nil, nil, fmt.Errorf("the corpus of %s holds no record to time", u.Target.Spec())
	}
	for i, x := range cs {
		m.finalists[i].table = extraTables(u, x.Source)
	}
	// Held-out and fresh inputs are only timed where there are some.
	m.sets = inputSets("train", l.has("holdout"), l.has("fresh"))
	return l, m, nil
}

// extraTables returns how many more bytes of tables a version has than the original. A table of
// unknown size counts as large: that costs time only.
func extraTables(u *source.Unit, version string) int64 {
	of := func(src string) (int64, bool) {
		if f, problem := u.Reader.Parse(src); problem == nil {
			return f.TableBytes()
		}
		return 0, true
	}
	n, known := of(version)
	was, _ := of(u.Target.Source)
	if !known {
		return max(n-was, largeTable+1)
	}
	return n - was
}

// A realRig builds with the harness and times in the sandbox.
type realRig struct {
	env      *Env
	u        *source.Unit
	n        int // copies of each version
	variants []harness.Variant
	files    map[string]string // name in the work directory -> path
	scratch  []string
	static   []beagle.StaticFacts
	built    []*harness.Binary
	pgo      string // the module's own profile
}

// A program is a linked binary with the addresses of its variants.
type program struct {
	bin    *harness.Binary
	link   harness.Link
	aligns map[int]int
}

func (p *program) seed() uint64 { return p.link.Layout }

func (p *program) align(v int) int {
	if a, ok := p.aligns[v]; ok {
		return a
	}
	return -1
}

// copies adds a version as often as it is to be in each binary.
func (l *realRig) copies(id, src string) {
	for i := range l.n {
		l.variants = append(l.variants, harness.Variant{ID: fmt.Sprintf("%s#%d", id, i), Source: src})
	}
}

func (l *realRig) add(name string, records []beagle.Record) error {
	if len(records) == 0 {
		return nil
	}
	path, err := l.env.records(records)
	l.files[name] = path
	return err
}

// has returns the name if there are such inputs, and "" otherwise.
func (l *realRig) has(name string) string {
	if l.files[name] == "" {
		return ""
	}
	return name
}

func (l *realRig) close() {
	for _, path := range l.files {
		os.Remove(path)
	}
	for _, path := range l.scratch {
		os.Remove(path)
	}
	for _, bin := range l.built {
		bin.Remove() // its layouts live in the same directory
	}
}

// build uses the linker's own alignment, as production does; screening's 64 bytes would hide the
// effect of a rebuild on the code.
func (l *realRig) build(ctx context.Context, pgo string, layout uint64) (image, map[int]string, error) {
	link := harness.Link{Layout: layout, PGO: pgo, PGOLocal: pgo != "" && pgo != l.pgo}
	bin, err := l.env.Builder.Build(ctx, l.variants, link)
	if err != nil {
		return nil, nil, err
	}
	l.built = append(l.built, bin)
	if l.static == nil {
		l.static = bin.Static
	}
	failed := map[int]string{}
	// Variants are numbered by version and copy. An original that does not build ends it all.
	for v, why := range bin.Failed {
		if v < l.n {
			return nil, nil, fmt.Errorf("the original does not build: %s", why)
		}
		failed[v/l.n-1] = why
	}
	im, err := l.program(bin, link)
	return im, failed, err
}

// relink links the same objects in other orders, several at a time: linking takes most of the
// preparation and no measurement runs yet.
func (l *realRig) relink(ctx context.Context, like image, layouts []uint64) ([]image, error) {
	p := like.(*program)
	out := make([]image, len(layouts))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.NumCPU())
	for i, layout := range layouts {
		g.Go(func() error {
			link := p.link
			link.Layout = layout
			bin, err := l.env.Builder.Relink(ctx, p.bin, link)
			if err == nil {
				out[i], err = l.program(bin, link)
			}
			return err
		})
	}
	return out, g.Wait()
}

func (l *realRig) program(bin *harness.Binary, link harness.Link) (image, error) {
	aligns, err := entries(bin.Path, l.u.Target.PkgPath, l.u.Target.Name)
	if err != nil {
		return nil, err
	}
	return &program{bin, link, aligns}, nil
}

func (l *realRig) time(ctx context.Context, im image, q *rt.Time) (*rt.TimeReply, string, error) {
	return l.env.run(ctx, im.(*program).bin, q, l.inputs(q))
}

func (l *realRig) timeApart(ctx context.Context, im image, qs [2]*rt.Time) ([2]*rt.TimeReply, string, error) {
	return l.env.runBoth(ctx, im.(*program).bin, qs, l.inputs(qs[0]))
}

// inputs returns the files that a request names.
func (l *realRig) inputs(q *rt.Time) map[string]string {
	files := map[string]string{}
	for _, s := range q.Sets {
		files[s.Records] = l.files[s.Records]
	}
	return files
}

func (l *realRig) profile(ctx context.Context, im image, q *rt.Time) (string, error) {
	reply, failure, err := l.time(ctx, im, q)
	if err == nil && failure != "" {
		err = fmt.Errorf("taking a profile: %s", failure)
	}
	if err != nil {
		return "", err
	}
	path := l.env.path("pgo")
	l.scratch = append(l.scratch, path)
	return path, os.WriteFile(path, reply.Profile, 0o644)
}

func (l *realRig) discard(im image) { os.Remove(im.(*program).bin.Path) }

func (l *realRig) sameCode(candidate int) bool {
	of := func(v int) string {
		if v < len(l.static) {
			return l.static[v].CodeHash
		}
		return ""
	}
	return of(0) != "" && of(0) == of(l.n*(1+candidate))
}
