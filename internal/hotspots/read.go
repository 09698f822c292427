package hotspots

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
)

// Limits of one profile: a gzip bomb must not take the machine's memory.
const (
	MaxPacked   = 64 << 20
	MaxUnpacked = 512 << 20
)

// The kinds of profiles that a ranking can be made of.
const (
	CPU   = "cpu"
	Alloc = "alloc"
	Block = "block"
	Mutex = "mutex"
)

// A Profile is one profile with its origin.
type Profile struct {
	Source   string // how a person finds it again
	Group    string // profiles of one group are of instances that do the same
	Instance string // the host or process, "" when unknown
	// Stands is the number of instances that the group stands for; 0 if unknown. All profiles of a
	// group have the same.
	Stands float64
	// Whole says that the profile is a sum over all instances already, as
	// profile stores give it. Seconds is then the time of the window.
	Whole   bool
	Kind    string
	Seconds float64
	Start   time.Time
	Build   string // the build ID of the program
	Pprof   *profile.Profile

	value, count int     // indices into a sample's values; count is -1 when there is none
	scale        float64 // of values, to nanoseconds or bytes
}

// Parse reads a profile as runtime/pprof writes it, packed or not. name tells
// in errors where it comes from. Every error is a [beagle.UsageError].
func Parse(name string, data []byte) (*Profile, error) {
	raw, err := unpack(data)
	if err != nil {
		return nil, unreadable(name, data, err)
	}
	p, err := profile.ParseUncompressed(raw)
	if err != nil {
		return nil, unreadable(name, data, err)
	}
	if err := p.CheckValid(); err != nil {
		return nil, unreadable(name, data, err)
	}
	return From(name, p)
}

// From takes a parsed profile, and finds out its kind.
func From(name string, p *profile.Profile) (*Profile, error) {
	out := &Profile{Source: name, Group: name, Pprof: p, Seconds: float64(p.DurationNanos) / 1e9}
	if p.DurationNanos < 0 {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s: its duration is negative: %d ns", name, p.DurationNanos),
			Remedy: "take the profile again",
		}
	}
	if p.TimeNanos > 0 {
		out.Start = time.Unix(0, p.TimeNanos).UTC()
	}
	if len(p.Mapping) > 0 {
		out.Build = p.Mapping[0].BuildID
	}
	if err := out.findKind(); err != nil {
		return nil, err
	}
	return out, out.check()
}

func unpack(data []byte) ([]byte, error) {
	if !packed(data) {
		return data, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(z, MaxUnpacked+1))
	if err == nil && len(raw) > MaxUnpacked {
		err = fmt.Errorf("unpacked it is larger than %d MB", MaxUnpacked>>20)
	}
	return raw, err
}

func packed(data []byte) bool { return len(data) > 1 && data[0] == 0x1f && data[1] == 0x8b }

// unreadable guesses from the bytes why they are no profile.
func unreadable(name string, data []byte, err error) error {
	bad := &beagle.UsageError{
		What:   fmt.Sprintf("%s is not a pprof profile: %v", name, err),
		Remedy: "give a profile as runtime/pprof, net/http/pprof or 'go test -cpuprofile' writes it",
	}
	head := string(bytes.TrimSpace(data[:min(len(data), 512)]))
	switch {
	case len(data) == 0:
		bad.What = name + " is empty"
		bad.Remedy = "a CPU profile is written when the program calls pprof.StopCPUProfile: end the program in order"
	case packed(data) && (errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF)):
		bad.What = fmt.Sprintf("%s is cut off after %d bytes", name, len(data))
		bad.Remedy = "copy or take the profile again: its end is missing, and a part would give false shares"
	case strings.HasPrefix(head, "<"):
		bad.What = name + " holds a web page, not a profile"
		bad.Remedy = "a proxy or login page may have answered: fetch /debug/pprof/profile from the service itself"
	case strings.HasPrefix(head, "goroutine profile:"), strings.HasPrefix(head, "heap profile:"),
		strings.HasPrefix(head, "--- "):
		bad.What = name + " is a profile as text"
		bad.Remedy = "fetch it without debug=1: the text form lacks what is needed here"
	case strings.HasPrefix(head, "PERFILE2"):
		bad.What = name + " is a file of perf"
		bad.Remedy = "convert it with perf_to_profile, or take a profile with net/http/pprof"
	case strings.HasPrefix(head, "go 1.") || strings.HasPrefix(head, "\x00\x00go 1."):
		bad.What = name + " is an execution trace"
		bad.Remedy = "give a CPU profile: /debug/pprof/profile in place of /debug/pprof/trace"
	}
	return bad
}

// findKind tells the kind by the profile's sample types. Block and mutex profiles have the same
// types: a mutex profile's stacks begin in an Unlock, and one without samples has its name alone.
func (p *Profile) findKind() error {
	p.count, p.scale = -1, 1
	index := map[string]int{}
	var types []string
	for i, t := range p.Pprof.SampleType {
		index[t.Type] = i
		types = append(types, t.Type+"/"+t.Unit)
	}
	pick := func(kind, value, count string) bool {
		i, ok := index[value]
		if !ok {
			return false
		}
		p.Kind, p.value = kind, i
		if j, ok := index[count]; ok {
			p.count = j
		}
		return true
	}
	switch {
	case pick(CPU, "cpu", "samples"):
		return p.timeUnit()
	case pick(Alloc, "alloc_space", ""):
		return nil // one sample a period of allocated bytes
	case pick(Block, "delay", "contentions"):
		if p.unlocks() || len(p.Pprof.Sample) == 0 && strings.Contains(path.Base(p.Source), Mutex) {
			p.Kind = Mutex
		}
		return p.timeUnit()
	case pick(CPU, "samples", "samples"):
		// Samples without a time: each stands for a period.
		if t := p.Pprof.PeriodType; t != nil && t.Type == "cpu" && t.Unit == "nanoseconds" && p.Pprof.Period > 0 {
			p.scale = float64(p.Pprof.Period)
			return nil
		}
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("%s holds %s, which has no cost to rank", p.Source, strings.Join(types, ", ")),
		Remedy: "give a CPU, allocation, block or mutex profile: " +
			"/debug/pprof/profile, allocs, block or mutex",
	}
}

// timeUnit refuses times that are not in nanoseconds, which no Go program
// writes: a wrong unit makes money wrong by a factor of a thousand.
func (p *Profile) timeUnit() error {
	if unit := p.Pprof.SampleType[p.value].Unit; unit != "nanoseconds" {
		return &beagle.UsageError{
			What:   fmt.Sprintf("%s counts %s in %q", p.Source, p.Kind, unit),
			Remedy: "give a profile in nanoseconds, as Go programs write it",
		}
	}
	return nil
}

func (p *Profile) unlocks() bool {
	unlock := 0.0
	for _, s := range p.Pprof.Sample {
		if name := leafName(s); strings.Contains(name, "nlock") {
			unlock += p.sampleValue(s)
		}
	}
	return 2*unlock > p.Total()
}

func leafName(s *profile.Sample) string {
	for _, l := range s.Location {
		for _, line := range l.Line {
			if line.Function != nil {
				return line.Function.Name
			}
		}
	}
	return ""
}

// maxValue bounds one sample: a hundred years of processor time in
// nanoseconds, so that sums over millions of samples stay exact as floats do.
const maxValue = 100 * 365 * 86400 * int64(time.Second)

// check refuses profiles whose shares would mislead.
func (p *Profile) check() error {
	for _, s := range p.Pprof.Sample {
		if v := s.Value[p.value]; v < 0 || v > maxValue {
			return &beagle.UsageError{
				What:   fmt.Sprintf("%s has a sample with the value %d", p.Source, v),
				Remedy: "give the profile as it was taken: a difference of two profiles has no shares (use --diff)",
			}
		}
	}
	if p.Kind == Block || p.Kind == Mutex {
		return nil // empty ones are common: their rates are 0 unless a program sets them
	}
	if p.Total() <= 0 {
		return &beagle.UsageError{
			What:   p.Source + " holds no samples",
			Remedy: "profile while the service works, for 30 seconds or more",
		}
	}
	var named float64
	all := p.Total()
	for _, s := range p.Pprof.Sample {
		if leafName(s) != "" {
			named += p.sampleValue(s)
		}
	}
	if 2*named < all {
		return &beagle.UsageError{
			What: fmt.Sprintf("%s has no symbols: %.0f %% of it lies at addresses without a function", p.Source,
				100*(all-named)/all),
			Remedy: "symbolise it with the program that was profiled: go tool pprof -proto PROGRAM PROFILE " +
				">symbols.pprof",
		}
	}
	return p.cutToOther()
}

// cutToOther refuses answers of profile stores that summed up small nodes of the tree: the own
// cost of those functions is lost.
func (p *Profile) cutToOther() error {
	var other float64
	for _, s := range p.Pprof.Sample {
		if leafName(s) == "other" {
			other += p.sampleValue(s)
		}
	}
	share := other / p.Total()
	if share <= 0.01 {
		return nil
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("%s is cut: %.1f %% of it is summed up as \"other\", so shares of functions are too small",
			p.Source,
			100*share),
		Remedy: "ask for a shorter window or for one version of the service, and let the server send more nodes " +
			"(Pyroscope: querier.max-flamegraph-nodes-max)",
	}
}

// Since returns what a profile counted since an older one of the same process, a time ago: profiles
// of allocations and waits are sums since the start. It changes the newer one.
func (p *Profile) Since(old *Profile, ago time.Duration) (*Profile, error) {
	before, lost := map[string][]int64{}, map[string]float64{}
	for _, s := range old.Pprof.Sample {
		key := addresses(s)
		before[key] = append(before[key], s.Value...)
		lost[key] += old.sampleValue(s)
	}
	// Sums of one process never fall. A service that works more than before may have a larger total
	// soon after it started again, but not on each stack.
	for _, s := range p.Pprof.Sample {
		lost[addresses(s)] -= p.sampleValue(s)
	}
	fell := 0.0
	for _, v := range lost {
		fell += max(0, v)
	}
	if p.Total() < old.Total() || fell > 0.01*old.Total() {
		return nil, &beagle.UsageError{
			What:   p.Source + " counts less than it did before: the service started again meanwhile",
			Remedy: "take the profile again",
		}
	}
	// Take off each stack what it counted before. No count is below zero then: memory in use may
	// have become less, which is no matter of a rate.
	between := p.Pprof
	for _, s := range between.Sample {
		was := before[addresses(s)]
		for i := range s.Value {
			for k := i; k < len(was); k += len(s.Value) {
				n := min(s.Value[i], was[k])
				s.Value[i], was[k] = s.Value[i]-n, was[k]-n
			}
		}
	}
	between.Sample = slices.DeleteFunc(between.Sample, func(s *profile.Sample) bool { return s.Value[p.value] == 0 })
	between.TimeNanos, between.DurationNanos = old.Pprof.TimeNanos, int64(ago)
	return From(p.Source, between)
}

// addresses names a stack, and the size of the blocks that are allocated there, within one process.
func addresses(s *profile.Sample) string {
	var key []byte
	for _, l := range s.Location {
		key = binary.AppendUvarint(key, l.Address)
		for _, line := range l.Line {
			if l.Address == 0 && line.Function != nil { // numbers of locations differ between profiles
				key = binary.AppendVarint(append(key, line.Function.Name...), line.Line)
			}
		}
	}
	for _, size := range s.NumLabel["bytes"] {
		key = binary.AppendVarint(append(key, ' '), size)
	}
	return string(key)
}

// Total returns the sum of the profile's values: nanoseconds, or bytes.
func (p *Profile) Total() float64 {
	total := 0.0
	for _, s := range p.Pprof.Sample {
		total += p.sampleValue(s)
	}
	return total
}

// sampleValue returns the value of a sample in nanoseconds or bytes.
func (p *Profile) sampleValue(s *profile.Sample) float64 { return float64(s.Value[p.value]) * p.scale }

// samplesOf returns how many samples a stack of the profile stands for.
func (p *Profile) samplesOf(s *profile.Sample) int64 {
	if p.count >= 0 {
		return s.Value[p.count]
	}
	switch {
	case p.Pprof.Period > 0:
		return s.Value[p.value] / p.Pprof.Period
	case p.Kind == CPU:
		return s.Value[p.value] / 1e7 // a store that dropped the period: Go's is 10 ms
	}
	return 1
}

// Samples returns the number of samples in the profile.
func (p *Profile) Samples() int64 {
	var n int64
	for _, s := range p.Pprof.Sample {
		n += p.samplesOf(s)
	}
	return n
}
