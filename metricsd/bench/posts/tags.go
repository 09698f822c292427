package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/metricsd/load"
	"github.com/beagle-go/beagle/metricsd/tag"
	"github.com/beagle-go/beagle/simd"
)

// tags compares ways to see that a tag has its form already, with the tags that the load has, in
// their order and shuffled series by series, and with longer ones.
func tags(o *options, args []string) error {
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	alone()
	t := &table{
		Name:    "Tags that have their form: ns a tag",
		Columns: []string{"bytes a tag", "way", "ns", "times as fast"},
	}
	for _, longer := range []int{0, 16, 48, 112} {
		series, mean := loadTags(longer)
		var found int
		each := func(is func(string) bool) func(int) {
			return func(n int) {
				for i := 0; i < n; {
					for _, t := range series[i%len(series)] {
						if is(t) {
							found++
						}
						i++
					}
				}
			}
		}
		o.rows(t, mean,
			way{name: "Normalize", run: each(func(t string) bool { return len(tag.Normalize(t)) == len(t) })},
			way{name: "a loop with a table", run: each(plainTag)},
			way{name: "simd.TagValidString for each", run: each(simdTag)},
			way{name: "simd.IndexInvalidTag for all of a series", run: func(n int) {
				for i := 0; i < n; {
					all := series[i%len(series)]
					if simd.IndexInvalidTag(all) >= 0 {
						continue
					}
					for _, t := range all {
						if form(t) {
							found++
						}
						i++
					}
				}
			}},
			way{name: "the same, underscores not looked at", run: func(n int) {
				for i := 0; i < n; i += 10 {
					if simd.IndexInvalidTag(series[i%len(series)]) < 0 {
						found++
					}
				}
			}},
		)
		if found == 0 {
			return fmt.Errorf("of the tags of %s bytes none has its form", mean)
		}
	}
	return o.print(t)
}

// loadTags returns the tags of 500 messages; longer is the number of bytes added to each value.
func loadTags(longer int) (series [][]string, mean string) {
	g := load.NewGenerator(load.Shape{Contexts: 3000, Packet: 8192}, 0, 1)
	bytesOf, n := 0, 0
	for len(series) < 500 {
		for line := range bytes.Lines(g.Packet()) {
			_, list, _ := strings.Cut(strings.TrimSpace(string(line)), "|#")
			all := strings.Split(list, ",")
			for i := range all {
				all[i] = strings.Clone(all[i] + strings.Repeat("x", longer))
				bytesOf, n = bytesOf+len(all[i]), n+1
			}
			series = append(series, all)
		}
	}
	return series, fmt.Sprint(bytesOf / n)
}

func simdTag(t string) bool { return simd.TagValidString(t) && form(t) }

// form reports whether a tag of valid bytes also has the form of a tag.
func form(t string) bool {
	return len(t) > 0 && len(t) <= 200 && startsTag(t[0]) && t[len(t)-1] != '_' && !strings.Contains(t, "__")
}

func startsTag(c byte) bool { return 'a' <= c && c <= 'z' || c == ':' }

var inTag = func() (t [256]bool) {
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789_:./-") {
		t[c] = true
	}
	return t
}()

func plainTag(t string) bool {
	if len(t) == 0 || len(t) > 200 || !startsTag(t[0]) {
		return false
	}
	last := byte(0)
	for i := range len(t) {
		c := t[i]
		if !inTag[c] || c == '_' && last == '_' {
			return false
		}
		last = c
	}
	return last != '_'
}
