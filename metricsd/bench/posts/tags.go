package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle/metricsd/load"
	"github.com/beagle-go/beagle/metricsd/tag"
	"github.com/beagle-go/beagle/simd"
)

// tags compares ways to check that a tag is in its normal form: on the tags of the load, in their
// order and shuffled series by series, and on longer ones.
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
		l := loadTags(longer)
		o.rows(t, l.mean,
			way{name: "Normalize", run: l.each(func(t string) bool { return len(tag.Normalize(t)) == len(t) })},
			way{name: "a loop with a table", run: l.each(plainTag)},
			way{name: "simd.TagValidString for each", run: l.each(simdTag)},
			way{name: "simd.IndexInvalidTag for all of a series", run: l.bySeries},
			way{name: "the same, underscores not looked at", run: l.byBytes},
		)
		if l.found == 0 {
			return fmt.Errorf("of the tags of %s bytes none has its form", l.mean)
		}
	}
	return o.print(t)
}

// A tagLoad is the tags of 500 messages, series by series, and the count of those found in normal
// form. Without the count the compiler could remove the checks.
type tagLoad struct {
	series [][]string
	mean   string // bytes a tag
	found  int
}

// loadTags makes a load; longer is the number of bytes added to each value.
func loadTags(longer int) *tagLoad {
	l := &tagLoad{}
	g := load.NewGenerator(load.Shape{Contexts: 3000, Packet: 8192}, 0, 1)
	bytesOf, n := 0, 0
	for len(l.series) < 500 {
		for line := range bytes.Lines(g.Packet()) {
			_, list, _ := strings.Cut(strings.TrimSpace(string(line)), "|#")
			all := strings.Split(list, ",")
			// Each tag has memory of its own, as in a service that keeps them.
			for i := range all {
				all[i] = strings.Clone(all[i] + strings.Repeat("x", longer))
				bytesOf, n = bytesOf+len(all[i]), n+1
			}
			l.series = append(l.series, all)
		}
	}
	l.mean = fmt.Sprint(bytesOf / n)
	return l
}

// each asks for n tags, one by one.
func (l *tagLoad) each(is func(string) bool) func(n int) {
	return func(n int) {
		for i := 0; i < n; {
			for _, t := range l.series[i%len(l.series)] {
				if is(t) {
					l.found++
				}
				i++
			}
		}
	}
}

// bySeries checks the bytes of a series at once, and the rest of the form tag by tag.
func (l *tagLoad) bySeries(n int) {
	for i := 0; i < n; {
		all := l.series[i%len(l.series)]
		if simd.IndexInvalidTag(all) >= 0 {
			continue
		}
		for _, t := range all {
			if form(t) {
				l.found++
			}
			i++
		}
	}
}

// byBytes checks the bytes alone. A series counts as ten tags.
func (l *tagLoad) byBytes(n int) {
	for i := 0; i < n; i += 10 {
		if simd.IndexInvalidTag(l.series[i%len(l.series)]) < 0 {
			l.found++
		}
	}
}

func simdTag(t string) bool { return simd.TagValidString(t) && form(t) }

// form checks the rules that a tag of valid bytes must also meet.
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
