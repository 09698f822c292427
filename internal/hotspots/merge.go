package hotspots

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A stack is the same stack of all profiles of a kind.
type stack struct {
	frames  []frame // the leaf first
	weight  float64 // cores, or the unit of the kind
	gc      float64 // the collector's cores that this stack caused
	count   int64   // samples
	squares float64 // of their weights
	by      []portion
}

// A merged profile is the sum of all profiles of one kind.
type merged struct {
	kind     string
	unit     string
	total    float64
	samples  int64
	squares  float64 // of the samples' weights, for the effective number of samples
	origins  []origin
	stacks   []*stack
	used     []beagle.ProfileUsed
	warnings []string
}

// merge adds up profiles of one kind. Each sample weighs its group's instances over the seconds
// that the group was watched.
func merge(kind string, all []*Profile, n *namer) (*merged, error) {
	m := &merged{kind: kind}
	index := map[string]*stack{}
	groups, order := group(kind, all)
	if len(order) == 0 {
		return m, nil
	}
	// Profiles of known length count by the second.
	timed := true
	for _, name := range order {
		timed = timed && seconds(groups[name]) > 0
	}
	if err := m.setUnit(timed, groups, order); err != nil {
		return nil, err
	}
	// Add each group, by the number of instances that it stands for.
	for number, name := range order {
		g := groups[name]
		stands, why := standsFor(g)
		if why != "" {
			m.warnings = append(m.warnings, why)
		}
		for _, p := range g {
			w := stands / 1e9
			if kind == Alloc {
				w = stands
			}
			if timed {
				w /= seconds(g)
			}
			m.origins = append(m.origins, origin{group: number})
			m.add(p, w, n, index)
			m.used = append(m.used, used(p, stands))
		}
	}
	return m, nil
}

// group sorts profiles of a kind by the instances that they are of.
func group(kind string, all []*Profile) (groups map[string][]*Profile, order []string) {
	groups = map[string][]*Profile{}
	for _, p := range all {
		if p.Kind != kind {
			continue
		}
		if groups[p.Group] == nil {
			order = append(order, p.Group)
		}
		groups[p.Group] = append(groups[p.Group], p)
	}
	return groups, order
}

// setUnit chooses the unit of the sum. Untimed CPU profiles of several groups have no common one.
func (m *merged) setUnit(timed bool, groups map[string][]*Profile, order []string) error {
	units := map[bool]map[string]string{
		true: {CPU: "cores", Alloc: "bytes a second", Block: "seconds of waiting a second",
			Mutex: "seconds of waiting a second"},
		false: {CPU: "seconds", Alloc: "bytes", Block: "seconds of waiting", Mutex: "seconds of waiting"},
	}
	m.unit = units[timed][m.kind]
	if timed || len(order) == 1 || m.kind == Block || m.kind == Mutex {
		return nil
	}
	for _, name := range order {
		for _, p := range groups[name] {
			if p.Seconds == 0 && m.kind == CPU {
				return &beagle.UsageError{
					What: fmt.Sprintf("%s does not say how long it was taken for, so it has no weight beside others",
						p.Source),
					Remedy: "leave it out, or take it again with net/http/pprof, which writes the duration",
				}
			}
		}
	}
	return nil
}

func seconds(g []*Profile) float64 {
	sum := 0.0
	for _, p := range g {
		if p.Seconds <= 0 {
			return 0
		}
		sum += p.Seconds
	}
	return sum
}

// standsFor returns how many instances a group stands for. Without a number from the user, it
// counts the instances that can be told apart: a process has one CPU profile at a time, so windows
// that overlap are of several.
func standsFor(g []*Profile) (n float64, warning string) {
	if g[0].Stands > 0 {
		return g[0].Stands, ""
	}
	if g[0].Whole {
		return 1, "" // its processor time is that of all instances
	}
	hosts := map[string]bool{}
	for _, p := range g {
		hosts[p.Instance] = true
	}
	if delete(hosts, ""); len(hosts) > 0 {
		return float64(len(hosts)), ""
	}
	if n := overlap(g); n > 1 {
		return float64(n), fmt.Sprintf("%s: %d of its %d profiles were taken at the same time, so it counts as "+
			"%d instances: "+
			"say how many there are with --instances N", g[0].Group, n, len(g), n)
	}
	if len(g) > 1 {
		return 1, fmt.Sprintf("%s: its %d profiles were taken one after the other, so they count as windows of "+
			"one instance: "+
			"say how many there are with --instances N", g[0].Group, len(g))
	}
	return 1, ""
}

// overlap returns the largest number of profiles that were under way at once.
func overlap(g []*Profile) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, p := range g {
		if p.Start.IsZero() || p.Seconds <= 0 {
			continue
		}
		// Half a second less: one profile may begin while another is being written.
		end := p.Start.Add(time.Duration((p.Seconds - 0.5) * 1e9))
		edges = append(edges, edge{p.Start, 1}, edge{end, -1})
	}
	inorder.By(edges, func(a, b edge) int {
		if c := a.at.Compare(b.at); c != 0 {
			return c
		}
		return a.step - b.step
	})
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

func used(p *Profile, stands float64) beagle.ProfileUsed {
	start := ""
	if !p.Start.IsZero() {
		start = p.Start.UTC().Format(time.RFC3339)
	}
	return beagle.ProfileUsed{
		Source: p.Source, Kind: p.Kind, Instance: p.Instance, Start: start, Seconds: p.Seconds, Samples: p.Samples(),
		Total: p.Total(), Build: p.Build, StandsFor: stands,
	}
}

// add puts a profile's samples to the sum. The profile's origin is the last one.
func (m *merged) add(p *Profile, weight float64, n *namer, index map[string]*stack) {
	locations := map[*profile.Location][]frame{}
	ids := map[*function]uint64{}
	at := len(m.origins) - 1
	from := &m.origins[at]
	var key []byte
	for _, s := range p.Pprof.Sample {
		v := p.sampleValue(s) * weight
		if v == 0 {
			continue
		}
		// Name the frames of the sample. Locations repeat, so each is named once.
		var frames []frame
		for _, l := range s.Location {
			if _, ok := locations[l]; !ok {
				locations[l] = n.frames(l)
			}
			frames = append(frames, locations[l]...)
		}
		frames = withoutPreemption(frames)
		// Find the stack with the same frames.
		key = key[:0]
		for _, f := range frames {
			if _, ok := ids[f.fn]; !ok {
				ids[f.fn] = n.id(f.fn)
			}
			key = binary.AppendUvarint(key, ids[f.fn])
			key = binary.AppendVarint(key, f.line)
			if f.inlined {
				key = append(key, 1)
			} else {
				key = append(key, 0)
			}
		}
		k := index[string(key)]
		if k == nil {
			k = &stack{frames: frames}
			index[string(key)] = k
			m.stacks = append(m.stacks, k)
		}
		// Add the sample to it.
		count := max(p.samplesOf(s), 1)
		square := v * v / float64(count)
		k.weight += v
		k.count += count
		if n := len(k.by); n > 0 && k.by[n-1].profile == at {
			k.by[n-1].weight += v
		} else {
			k.by = append(k.by, portion{at, v})
		}
		m.total += v
		m.samples += count
		from.total += v
		from.squares += square
		k.squares += square
		m.squares += square
	}
}

// withoutPreemption drops the frame that the runtime puts on a stack to stop a
// goroutine: on a busy machine the profiler's signal often arrives just there,
// and the time is the function's below.
func withoutPreemption(frames []frame) []frame {
	for len(frames) > 1 && frames[0].fn.key == "runtime.asyncPreempt" {
		frames = frames[1:]
	}
	return frames
}

// effective returns the number of samples of equal weight that would tell as much.
func (m *merged) effective() float64 {
	if m.squares == 0 {
		return 0
	}
	return m.total * m.total / m.squares
}

// frames returns the functions of a location, the innermost of inlined calls first.
func (n *namer) frames(l *profile.Location) []frame {
	var out []frame
	for i, line := range l.Line {
		if line.Function != nil {
			out = append(out, frame{n.function(line.Function), line.Line, i < len(l.Line)-1})
		}
	}
	return out
}

// id numbers functions.
func (n *namer) id(f *function) uint64 {
	if f.id == 0 {
		n.last++
		f.id = n.last
	}
	return f.id
}
