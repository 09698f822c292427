package mcp

import (
	"fmt"
	"io"
	"math"
	"path"
	"path/filepath"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/profiles"
)

const maxDropped = 15

// ReadHotspots ranks the functions of a profile by their net share, as 'beagle hotspots' does. It
// lists functions of at least least percent without an entry, with the reason.
func ReadHotspots(r io.Reader, m Module, limit int, least float64) (*Hotspots, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxProfile+1))
	if err != nil || len(data) > MaxProfile {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("the profile cannot be read, or has more than %d MB", MaxProfile>>20),
			Remedy: "give a profile as runtime/pprof writes it, packed",
		}
	}
	p, err := hotspots.Parse("the profile", data)
	if err != nil {
		return nil, err
	}
	all := []*hotspots.Profile{p}
	checkout, err := profiles.Checkout(m.Dir, nil, all)
	if err != nil || checkout.Module != m.Path {
		checkout = &hotspots.Checkout{Module: m.Path} // names alone decide which code is own code
	}
	t, err := hotspots.Rank(all, hotspots.Options{Least: least / 100, Checkout: checkout})
	if err != nil {
		return nil, err
	}
	return hotspotsAnswer(t, m, limit), nil
}

// hotspotsAnswer returns a ranking as the tool answers it.
func hotspotsAnswer(t *hotspots.Table, m Module, limit int) *Hotspots {
	used := t.Profiles[0]
	out := &Hotspots{Unit: used.Kind + " bytes", Total: used.Total, Hotspots: []Hotspot{}, Dropped: []Dropped{},
		Warnings: t.Warnings}
	if used.Kind != hotspots.Alloc {
		out.Unit, out.Total = used.Kind+" nanoseconds", used.Total/1e9
	}
	for i, h := range t.Hotspots.Hotspots {
		if i < limit {
			out.Hotspots = append(out.Hotspots, Hotspot{
				Target: h.Target, Flat: percent(h.Flat), Cum: percent(h.Cum), Net: percent(h.Net),
				File: relative(m.Dir, h.File), Line: h.Line,
				Why: explainFigures(h),
			})
			continue
		}
		out.drop(Dropped{
			Function: h.Symbols[0], Flat: percent(h.Flat), Cum: percent(h.Cum),
			Reason: fmt.Sprintf("it is not among the first %d; ask for more with limit", limit),
		})
	}
	for _, d := range t.Dropped {
		out.drop(Dropped{Function: d.Function, Flat: percent(d.Flat), Cum: percent(d.Cum), Reason: d.Reason})
	}
	return out
}

// percent has three digits after the point: no profile has samples for more.
func percent(share float64) float64 { return math.Round(1e5*share) / 1e3 }

func (h *Hotspots) drop(d Dropped) {
	if len(h.Dropped) < maxDropped {
		h.Dropped = append(h.Dropped, d)
	}
}

// explainFigures explains the figures of a function.
func explainFigures(h beagle.Hotspot) string {
	half := fmt.Sprintf("were it twice as fast, the program would need about %.1f %% less processor time", 50*h.Net)
	switch {
	case h.Flat >= h.Net/2:
		return "most of its net time is its own: " + half
	case h.GC+h.Runtime >= h.Net/2:
		return "most of its net time is Go's runtime working for it, such as allocation, copying and hashing: " + half
	}
	return "most of its net time is in callees without an entry of their own: " + half
}

func relative(dir, file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path.Base(filepath.ToSlash(file))
}
