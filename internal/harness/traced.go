package harness

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/beagle-go/beagle/internal/source"
)

// A Traced is a program of two versions that counts their decisions.
type Traced struct {
	*Binary
	Sites []TracedSite // by number
	Plain []string     // versions that had to be built without counting
}

// A TracedSite is a decision of one version, which is its index.
type TracedSite struct {
	source.Site
	Version int
}

// Traced builds vs[0], the original, and vs[1] with calls of rt at their
// decisions. A version that does not compile with them goes in without.
func (b *Builder) Traced(ctx context.Context, vs []Variant) (*Traced, error) {
	var last error
	for _, trace := range [][]int{{0, 1}, {1}, {0}, {}} {
		t, err := b.tracedBatch(vs, trace)
		if err != nil {
			return nil, err
		}
		bin := &Binary{Variants: t.ids, Failed: t.failed, dir: t.dir, Path: filepath.Join(t.dir, "harness")}
		if b.viaGo != "" {
			err = t.viaGo(ctx, bin)
		} else {
			err = t.direct(ctx, bin)
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && len(bin.Failed) == 0 {
			return &Traced{Binary: bin, Sites: t.sites, Plain: plain(vs, trace)}, nil
		}
		if last = err; last == nil {
			last = failure(bin)
		}
		bin.Remove()
	}
	return nil, last
}

func (b *Builder) tracedBatch(vs []Variant, trace []int) (*batch, error) {
	t, err := b.newBatch(vs)
	if err != nil {
		return nil, err
	}
	for _, i := range trace {
		if t.failed[i] != "" {
			continue
		}
		text, sites, err := b.u.Traced(t.files[i], suffix(i), b.target.PkgPath+rtDir, len(t.sites))
		if err != nil {
			return nil, err
		}
		t.texts[i] = text
		for _, s := range sites {
			t.sites = append(t.sites, TracedSite{s, i})
		}
	}
	return t, t.writeVariants()
}

func plain(vs []Variant, trace []int) []string {
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
