package hotspots

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/beagle-go/beagle"
)

// TestBadProfiles: every kind of file that is no profile is named, with what to do.
func TestBadProfiles(t *testing.T) {
	good := serving.bytes(t)
	edited := func(edit func(*profile.Profile)) []byte {
		p := serving.profile(t)
		edit(p)
		var b bytes.Buffer
		if err := p.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	for name, k := range map[string]struct {
		data []byte
		want string
	}{
		"empty":      {nil, "is empty"},
		"truncated":  {good[:len(good)-40], "cut off"},
		"page":       {[]byte("<!doctype html><title>login</title>"), "web page"},
		"text":       {[]byte("goroutine profile: total 4\n1 @ 0x1\n"), "as text"},
		"perf":       {[]byte("PERFILE2 ......"), "perf_to_profile"},
		"trace":      {[]byte("go 1.23 trace\x00\x00\x00"), "execution trace"},
		"noise":      {[]byte("not a profile"), "not a pprof profile"},
		"no samples": {edited(func(p *profile.Profile) { p.Sample = nil }), "holds no samples"},
		"no symbols": {edited(func(p *profile.Profile) {
			p.Function = nil
			for _, l := range p.Location {
				l.Line = nil
			}
		}), "no symbols"},
		"goroutines": {edited(func(p *profile.Profile) {
			for _, s := range p.SampleType {
				s.Type = "goroutine"
			}
		}), "no cost"},
		"unit":       {edited(func(p *profile.Profile) { p.SampleType[1].Unit = "microseconds" }), "microseconds"},
		"difference": {edited(func(p *profile.Profile) { p.Sample[0].Value[1] *= -1 }), "--diff"},
		"duration":   {edited(func(p *profile.Profile) { p.DurationNanos = -1 }), "negative"},
		"cut": {edited(func(p *profile.Profile) {
			f := p.Sample[3].Location[0].Line[0].Function
			f.Name = "other"
		}), "\"other\""},
	} {
		_, err := Parse(name, k.data)
		var bad *beagle.UsageError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), k.want) || bad.Remedy == "" {
			t.Errorf("%s: %v, want %q and a remedy", name, err, k.want)
		}
	}
}

// TestEmptyMutex checks that a mutex profile without samples, given alone, is called one: its
// stacks cannot tell.
func TestEmptyMutex(t *testing.T) {
	for name, kind := range map[string]string{
		"http://h/debug/pprof/mutex": Mutex, "host/0-mutex.pprof": Mutex, "http://mutex/debug/pprof/block": Block,
	} {
		p, err := From(name, planned{Kind: "block"}.profile(t))
		if err != nil {
			t.Fatal(err)
		}
		_, err = Rank([]*Profile{p}, Options{Checkout: checkout()})
		if err == nil || !strings.Contains(err.Error(), "the "+kind+" profiles hold no samples") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte("not a profile"))
	f.Add([]byte{0x1f, 0x8b, 8, 0})
	f.Add(serving.bytes(f))
	f.Add(waiting.bytes(f))
	var raw bytes.Buffer
	if err := allocating.profile(f).WriteUncompressed(&raw); err != nil {
		f.Fatal(err)
	}
	f.Add(raw.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse("fuzz", data)
		var bad *beagle.UsageError
		if err != nil {
			if !errors.As(err, &bad) {
				t.Errorf("%v is no usage error", err)
			}
			return
		}
		h, err := Rank([]*Profile{p}, Options{Least: 0.005, Limit: 10, Checkout: checkout()})
		if err != nil {
			if !errors.As(err, &bad) {
				t.Errorf("%v is no usage error", err)
			}
			return
		}
		sum := 0.0
		for _, x := range h.Hotspots.Hotspots {
			sum += x.Net
		}
		if sum > 1+1e-6 {
			t.Errorf("net shares add up to %g", sum)
		}
	})
}
