package hotspots

import (
	"fmt"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
)

// skew warns of windows that tell of clocks that are wrong, or of hosts that
// were watched at times too far apart to be added.
func skew(all []*Profile) []string {
	type window struct {
		source     string
		begin, end time.Time
	}
	// Join the profiles of each host to one window.
	hosts := map[string]*window{}
	for _, p := range all {
		if p.Start.IsZero() || p.Kind != CPU {
			continue
		}
		host := p.Instance
		if host == "" {
			host = p.Group
		}
		end := p.Start.Add(time.Duration(p.Seconds * 1e9))
		w := hosts[host]
		if w == nil {
			hosts[host] = &window{p.Source, p.Start, end}
			continue
		}
		if p.Start.Before(w.begin) {
			w.begin = p.Start
		}
		if end.After(w.end) {
			w.end = end
		}
	}
	if len(hosts) < 2 {
		return nil
	}
	if text := warnOfWindows(all); text != "" {
		return []string{text}
	}
	// Compare the first window with the last.
	var by []*window
	for _, w := range hosts {
		by = append(by, w)
	}
	inorder.By(by, func(a, b *window) int { return a.begin.Compare(b.begin) })
	first, last := by[0], by[len(by)-1]
	if gap := last.begin.Sub(first.end); gap > time.Hour {
		return []string{fmt.Sprintf("%s ends at %s and %s begins at %s: either their load differs by the hour, "+
			"or a host's clock is wrong; "+
			"compare profiles of the same time", first.source, first.end.Format(time.RFC3339), last.source,
			last.begin.Format(time.RFC3339))}
	}
	return nil
}

// warnOfWindows warns of files that are added as instances and look like
// windows of one: none of them overlaps another, and nothing tells their hosts.
func warnOfWindows(all []*Profile) string {
	var files []*Profile
	for _, p := range all {
		if p.Kind != CPU {
			continue
		}
		if p.Start.IsZero() || p.Seconds <= 0 || p.Instance != "" || p.Whole || p.Stands > 0 {
			return ""
		}
		files = append(files, p)
	}
	if overlap(files) > 1 {
		return ""
	}
	return fmt.Sprintf("%d sources were taken one after the other, and each counts as an instance of its own: "+
		"if they are windows of one instance, put them into a directory and name that", len(files))
}
