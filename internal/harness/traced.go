package harness

import (
	"context"
	"fmt"
	"go/version"
	"path/filepath"
	"slices"

	"github.com/beagle-go/beagle/internal/source"
)

// A Traced is a program of two versions that counts their decisions.
type Traced struct {
	*Binary
	Sites []TracedSite // by number
	Plain []string     // versions that had to be built without counting
}

// A TracedSite is a decision of one version, which is its index, or of the rest
// of the package, which is -1.
type TracedSite struct {
	source.Site
	Version int
}

// Traced builds vs[0], the original, and vs[1] with calls of rt at their
// decisions. A version that does not compile with them goes in without. The
// program can evaluate more predicates, as that of [Builder.BuildWith].
func (b *Builder) Traced(ctx context.Context, vs []Variant, more []*source.Predicate) (*Traced, error) {
	// Trace both versions; on failure try again with less: without some of the calls, then one
	// version alone, then none.
	var last error
	attempts := [][]int{{0, 1}, {0, 1}, {1}, {0}, {}}
	if version.Compare(b.lang(), "go1.18") < 0 {
		attempts = attempts[4:] // the calls are generic
	}
	// Build, and take the first program in which all versions compile.
	for i, trace := range attempts {
		t, err := b.tracedBatch(vs, trace, i == 0 && len(trace) > 0)
		if err != nil {
			return nil, err
		}
		t.predicates = append(b.predicates(), more...)
		bin := &Binary{
			Variants: t.ids,
			Failed:   t.failed,
			dir:      t.dir,
			terms:    b.Terms(),
			Path:     filepath.Join(t.dir, "harness"),
		}
		if b.viaGo != "" {
			err = t.viaGo(ctx, bin)
		} else {
			err = t.direct(ctx, bin)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && len(bin.Failed) == 0 {
			return &Traced{Binary: bin, Sites: t.sites, Plain: untracedVersions(vs, trace)}, nil
		}
		if last = err; last == nil {
			last = failure(bin)
		}
		bin.Remove()
	}
	return nil, last
}

// tracedBatch traces some of the versions, and the rest of the package as far as
// they reach it if helpers says so.
func (b *Builder) tracedBatch(vs []Variant, trace []int, helpers bool) (*batch, error) {
	t, err := b.newBatch(vs)
	if err != nil {
		return nil, err
	}
	for _, i := range trace {
		if t.failed[i] != "" {
			continue
		}
		text, sites, err := b.u.Writer.Traced(t.files[i], suffix(i), b.target.PkgPath+rtDir, len(t.sites))
		if err != nil {
			return nil, err
		}
		t.texts[i] = text
		for _, s := range sites {
			t.sites = append(t.sites, TracedSite{s, i})
		}
	}
	if helpers {
		if err := t.traceHelpers(); err != nil {
			return nil, err
		}
	}
	return t, t.writeVariants()
}

// ofPackage is the version of a site that belongs to the rest of the package.
const ofPackage = -1

// traceHelpers writes traced copies of the package's files.
func (t *batch) traceHelpers() error {
	b := t.b
	var files []*source.File
	for _, i := range t.alive() {
		files = append(files, t.files[i])
	}
	texts, sites := b.u.Writer.TracedHelpers(files, b.target.PkgPath+rtDir, len(t.sites))
	if len(texts) == 0 {
		return nil
	}
	t.pkg = slices.Clone(b.files)
	for i, path := range b.u.Package.Files() {
		if text, ok := texts[path]; ok {
			t.pkg[i] = filepath.Join(t.dir, "helpers", filepath.Base(path))
			if err := write(t.pkg[i], []byte(text)); err != nil {
				return err
			}
		}
	}
	for _, s := range sites {
		t.sites = append(t.sites, TracedSite{s, ofPackage})
	}
	return nil
}

// untracedVersions names the versions that went in without counting calls.
func untracedVersions(vs []Variant, trace []int) []string {
	names := []string{"original", "candidate"}
	for _, i := range trace {
		names[i] = ""
	}
	var out []string
	for _, n := range names[:len(vs)] {
		if n != "" {
			out = append(out, n)
		}
	}
	return out
}

// failure words why a version is not in a program.
func failure(bin *Binary) error {
	for i, why := range bin.Failed {
		return fmt.Errorf("version %s: %s", bin.Variants[i], why)
	}
	return nil
}
