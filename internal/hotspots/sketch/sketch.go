// Package sketch makes profiles for tests from stacks that are written as text.
package sketch

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/pprof/profile"
)

// A Sketch is a profile as tests write it.
type Sketch struct {
	Kind    string // cpu, alloc, or block for waits
	Seconds float64
	Start   time.Time
	Build   string
	// Starts are the lines where functions begin, by linker name.
	Starts map[string]int64
	// Stacks are lines of "SAMPLES LEAF CALLER ...", frames as NAME@FILE:LINE, and as
	// INLINED@FILE:LINE>INTO@FILE:LINE where a call was inlined. A sample is one of 10 ms, of
	// 512 KiB or of a wait of a second.
	Stacks []string
}

// Parse reads a sketch from text: lines of "field value" for kind, seconds,
// start, build and starts (NAME LINE), and lines that begin with a number.
func Parse(text string) (Sketch, error) {
	s := Sketch{Kind: "cpu", Starts: map[string]int64{}}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		var err error
		switch words[0] {
		case "kind":
			s.Kind = words[1]
		case "seconds":
			s.Seconds, err = strconv.ParseFloat(words[1], 64)
		case "start":
			s.Start, err = time.Parse(time.RFC3339, words[1])
		case "build":
			s.Build = words[1]
		case "starts":
			s.Starts[words[1]], err = strconv.ParseInt(words[2], 10, 64)
		default:
			s.Stacks = append(s.Stacks, line)
		}
		if err != nil {
			return s, fmt.Errorf("%q: %w", line, err)
		}
	}
	return s, nil
}

// Profile makes the profile.
func (s Sketch) Profile() (*profile.Profile, error) {
	b := &builder{
		sketch: s, locations: map[string]*profile.Location{}, functions: map[string]*profile.Function{},
		p: &profile.Profile{DurationNanos: int64(s.Seconds * 1e9), Period: 1e7},
	}
	if !s.Start.IsZero() {
		b.p.TimeNanos = s.Start.UnixNano()
	}
	unit := b.types()
	b.p.Mapping = []*profile.Mapping{{ID: 1, Start: 1, Limit: 1 << 20, File: "/srv/bin/svc", BuildID: s.Build,
		HasFunctions: true}}
	for _, text := range s.Stacks {
		words := strings.Fields(text)
		n, err := strconv.ParseInt(words[0], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		sample := &profile.Sample{Value: []int64{n, n * unit}}
		for _, word := range words[1:] {
			sample.Location = append(sample.Location, b.location(word))
		}
		b.p.Sample = append(b.p.Sample, sample)
	}
	return b.p, b.p.CheckValid()
}

// Bytes returns the profile as a program writes it.
func (s Sketch) Bytes() ([]byte, error) {
	p, err := s.Profile()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = p.Write(&b)
	return b.Bytes(), err
}

type builder struct {
	sketch    Sketch
	p         *profile.Profile
	locations map[string]*profile.Location
	functions map[string]*profile.Function
}

// types sets the sample types of a kind, and returns a sample's value.
func (b *builder) types() (unit int64) {
	p := b.p
	switch b.sketch.Kind {
	case "cpu":
		p.SampleType = []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
		p.PeriodType = &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}
		return 1e7
	case "alloc":
		p.SampleType = []*profile.ValueType{{Type: "alloc_objects", Unit: "count"},
			{Type: "alloc_space", Unit: "bytes"}}
		p.PeriodType = &profile.ValueType{Type: "space", Unit: "bytes"}
		p.Period = 512 << 10
		return 512 << 10
	}
	p.SampleType = []*profile.ValueType{{Type: "contentions", Unit: "count"}, {Type: "delay", Unit: "nanoseconds"}}
	p.PeriodType, p.Period = &profile.ValueType{Type: "contentions", Unit: "count"}, 1
	return 1e9
}

func (b *builder) location(word string) *profile.Location {
	if l := b.locations[word]; l != nil {
		return l
	}
	l := &profile.Location{ID: uint64(len(b.p.Location) + 1), Mapping: b.p.Mapping[0]}
	for part := range strings.SplitSeq(word, ">") {
		name, rest, _ := strings.Cut(part, "@")
		file, at, _ := strings.Cut(rest, ":")
		line, _ := strconv.ParseInt(at, 10, 64)
		l.Line = append(l.Line, profile.Line{Function: b.function(name, file), Line: line})
	}
	b.locations[word] = l
	b.p.Location = append(b.p.Location, l)
	return l
}

func (b *builder) function(name, file string) *profile.Function {
	f := b.functions[name+" "+file]
	if f == nil {
		f = &profile.Function{ID: uint64(len(b.p.Function) + 1), Name: name, SystemName: name, Filename: file,
			StartLine: b.sketch.Starts[name]}
		b.functions[name+" "+file] = f
		b.p.Function = append(b.p.Function, f)
	}
	return f
}
