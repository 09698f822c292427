package mcp

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
)

// A share is what a profile says of one function.
type share struct {
	name  string // as the linker names it
	file  string
	flat  int64
	cum   int64
	lines map[int64]int64 // flat value by line
}

// ReadHotspots ranks the functions of a CPU profile by their own time. Only
// functions of the module with a Go body can be targets; the others that cost
// at least least percent are told with the reason.
func ReadHotspots(r io.Reader, m Module, limit int, least float64) (*Hotspots, error) {
	p, err := profile.Parse(r)
	if err != nil {
		return nil, &beagle.UsageError{
			What:   "the profile cannot be read: " + err.Error(),
			Remedy: "give a CPU profile as runtime/pprof, net/http/pprof or 'go test -cpuprofile' writes it",
		}
	}
	if len(p.SampleType) == 0 {
		return nil, &beagle.UsageError{What: "the profile has no values", Remedy: "give a CPU profile"}
	}
	value, unit := valueOf(p)
	shares, total := sumUp(p, value)
	if total == 0 {
		return nil, &beagle.UsageError{
			What:   "the profile holds no samples",
			Remedy: "profile while the service works, for 30 seconds or more",
		}
	}
	out := &Hotspots{Unit: unit, Total: float64(total), Hotspots: []Hotspot{}, Dropped: []Dropped{}}
	if p.SampleType[value].Unit == "nanoseconds" {
		out.Total /= 1e9
	}
	slices.SortFunc(shares, func(a, b *share) int {
		return cmp.Or(cmp.Compare(b.flat, a.flat), cmp.Compare(b.cum, a.cum), cmp.Compare(a.name, b.name))
	})
	rank(out, shares, total, m, limit, least)
	return out, nil
}

// valueOf picks the processor time of a profile, or else its last value.
func valueOf(p *profile.Profile) (index int, unit string) {
	for i, t := range p.SampleType {
		if t.Type == "cpu" {
			return i, "cpu " + t.Unit
		}
	}
	last := len(p.SampleType) - 1
	return last, p.SampleType[last].Type + " " + p.SampleType[last].Unit
}

// sumUp adds up what functions cost. A closure counts for the function that
// it is written in, and a function counts once for a stack however often it
// is on it.
func sumUp(p *profile.Profile, value int) (all []*share, total int64) {
	byName := map[string]*share{}
	of := func(l profile.Line) *share {
		if l.Function == nil {
			return nil
		}
		name := enclosing(l.Function.Name)
		s := byName[name]
		if s == nil {
			s = &share{name: name, file: l.Function.Filename, lines: map[int64]int64{}}
			byName[name] = s
			all = append(all, s)
		}
		return s
	}
	for _, sample := range p.Sample {
		v := sample.Value[value]
		total += v
		seen := map[*share]bool{}
		leaf := true
		for _, loc := range sample.Location {
			for _, line := range loc.Line { // the innermost of inlined calls first
				s := of(line)
				if s == nil {
					continue
				}
				if leaf {
					s.flat += v
					s.lines[line.Line] += v
					leaf = false
				}
				if !seen[s] {
					seen[s] = true
					s.cum += v
				}
			}
		}
	}
	return all, total
}

var closure = regexp.MustCompile(`(\.func[0-9]+|\.gowrap[0-9]+|\.deferwrap[0-9]+|-range[0-9]+|\.[0-9]+)+$`)

// enclosing is the function that a closure is written in.
func enclosing(name string) string { return closure.ReplaceAllString(name, "") }

func rank(out *Hotspots, shares []*share, total int64, m Module, limit int, least float64) {
	const mostDropped = 15
	percent := func(v int64) float64 { return 100 * float64(v) / float64(total) }
	for _, s := range shares {
		if percent(s.cum) < least {
			continue
		}
		target, why := targetOf(s, m)
		switch {
		case why == "" && len(out.Hotspots) < limit:
			out.Hotspots = append(out.Hotspots, Hotspot{
				Target: target, Flat: percent(s.flat), Cum: percent(s.cum), File: relative(m.Dir, s.file),
				Line: hottest(s), Why: reading(percent(s.flat), percent(s.cum)),
			})
		case why == "":
			why = fmt.Sprintf("it is not among the first %d; ask for more with limit", limit)
			fallthrough
		default:
			if percent(s.flat) >= least && len(out.Dropped) < mostDropped {
				out.Dropped = append(out.Dropped,
					Dropped{Function: s.name, Flat: percent(s.flat), Cum: percent(s.cum), Reason: why})
			}
		}
	}
}

// reading is what the figures say of a function.
func reading(flat, cum float64) string {
	switch {
	case flat >= cum/2:
		return fmt.Sprintf("most of its time is its own: were it twice as fast, the program would need about %.1f %% "+
			"less processor time", flat/2)
	case flat >= 0.5:
		return "more of its time is in what it calls: look at its callees first"
	}
	return "nearly all of its time is in what it calls: a target only if it calls them needlessly"
}

func hottest(s *share) int {
	var best, most int64
	for line, v := range s.lines {
		if v > most || v == most && line < best {
			best, most = line, v
		}
	}
	return int(best)
}

func relative(dir, file string) string {
	if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path.Base(filepath.ToSlash(file))
}

// symbol splits a linker name: package path, and what follows the first dot
// behind its last slash.
func symbol(name string) (pkg, rest string) {
	slash := strings.LastIndex(strings.SplitN(name, "[", 2)[0], "/") + 1
	dot := strings.IndexByte(name[slash:], '.')
	if dot < 0 {
		return "", name
	}
	return name[:slash+dot], name[slash+dot+1:]
}

// targetOf is how a function is named as a target, or why it is none.
func targetOf(s *share, m Module) (target, why string) {
	pkg, rest := symbol(s.name)
	pkg = strings.ReplaceAll(pkg, "%2e", ".")
	switch {
	case pkg == "runtime" || strings.HasPrefix(pkg, "runtime/") || pkg == "":
		return "", "it is part of Go's runtime: its callers cause the work (allocation, copying, hashing, scheduling)"
	case !strings.Contains(strings.Split(pkg, "/")[0], ".") && pkg != m.Path && !strings.HasPrefix(pkg, m.Path+"/") &&
		pkg != "main":
		return "", "it is part of the standard library: look at who calls it, and how often"
	case pkg == "main":
		return "",
			"it is in a main package, which the profile does not tell apart from others: name it by its directory, " +
				"as in ./cmd/server.handle"
	case pkg != m.Path && !strings.HasPrefix(pkg, m.Path+"/"):
		return "", "it is in another module; copy it into this one to change it, or start the server there with -C"
	case strings.HasSuffix(s.file, "_test.go"):
		return "", "it is in a test file"
	case strings.HasSuffix(s.file, ".s"):
		return "", "it is assembly"
	case strings.Contains(s.file, "/vendor/"):
		return "", "it is vendored from another module"
	case rest == "init" || strings.HasPrefix(rest, "init."):
		return "", "it runs once, before main"
	case generated(s.file):
		return "", "its file is generated: change the generator"
	}
	return pkg + "." + methodName(rest), ""
}

// methodName turns "(*Set).Merge" and "Sum[...]" into what a target is called.
func methodName(rest string) string {
	rest, _, _ = strings.Cut(rest, "[")
	rest = strings.NewReplacer("(*", "", ")", "").Replace(rest)
	return rest
}

var generatedMark = regexp.MustCompile(`^// Code generated .* DO NOT EDIT\.$`)

// generated looks for the mark of generated files in the lines before the
// package clause. A file that is not at hand counts as written.
func generated(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	s := bufio.NewScanner(io.LimitReader(f, 64<<10))
	for s.Scan() {
		if generatedMark.MatchString(s.Text()) {
			return true
		}
		if strings.HasPrefix(s.Text(), "package ") {
			break
		}
	}
	return false
}
