package dogstatsd

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/beagle-go/beagle/metricsd/murmur3"
)

func parse(t *testing.T, line string) Metric {
	t.Helper()
	var m Metric
	if err := NewParser(0, 0).Metric([]byte(line), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestErrorsNameThePlace(t *testing.T) {
	tests := []struct {
		line    string
		offset  int
		problem string
	}{
		{"abc", 0, "no colon"},
		{":1|c", 0, "name is empty"},
		{"a:|c", 2, "value is empty"},
		{"a:1", 3, "no type"},
		{"a:1|", 4, `type "" is unknown`},
		{"a:1|x", 4, `type "x" is unknown`},
		{"a:x|c", 2, `"x" is not a number`},
		{"a:1:2:x|c", 6, `"x" is not a number`},
		{"a:::|c", 2, "no value"},
		{"a:NaN|g", 2, "not finite"},
		{"a:-inf|g", 2, "not finite"},
		{"a:1e999|g", 2, "is not a number"},
		{"a:1|c|@0", 7, "out of range"},
		{"a:1|c|@2", 7, "out of range"},
		{"a:1|c|@NaN", 7, "not finite"},
		{"a:1|c|@", 7, `"" is not a number`},
		{"a:1|c|#t|T0", 10, "not a positive"},
		{"a:1|c|T-5", 7, "not a positive"},
		{"a:1|c|T1.5", 7, "not a positive"},
	}
	for _, test := range tests {
		var m Metric
		err := NewParser(0, 0).Metric([]byte(test.line), &m)
		checkError(t, test.line, err, test.offset, test.problem)
	}
}

func checkError(t *testing.T, line string, err error, offset int, problem string) {
	t.Helper()
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Errorf("%q: error is %v, want a SyntaxError", line, err)
		return
	}
	if syntax.Offset != offset || !strings.Contains(syntax.Problem, problem) || syntax.Remedy == "" {
		t.Errorf("%q: got byte %d, %q; want byte %d, %q", line, syntax.Offset, syntax.Problem, offset, problem)
	}
}

func TestLongLinesAreClippedInErrors(t *testing.T) {
	var m Metric
	err := NewParser(0, 0).Metric([]byte("a:"+strings.Repeat("x", 5000)+"|c"), &m)
	if err == nil || len(err.Error()) > 600 {
		t.Errorf("error has %d bytes", len(err.Error()))
	}
}

func TestValueLists(t *testing.T) {
	for line, want := range map[string][]float64{
		"a::666::123::::|c": {666, 123},
		"a:1e3|g":           {1000},
		"a:+2|g":            {2},
		"a:1:|h":            {1},
	} {
		if got := parse(t, line).Values; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", line, got, want)
		}
	}
}

func TestFieldsInAnyOrderAndTheLastWins(t *testing.T) {
	m := parse(t, "a:1|c|T7|#x|card:low|@0.5|#y,z|T9|@0.25|card:none|c:ci-1|c:in-2")
	if m.Timestamp != 9 || m.Rate != 0.25 || !slices.Equal(m.Tags, []string{"y", "z"}) ||
		m.Source.Cardinality != CardinalityNone || m.Source.Inode != 2 || m.Source.ContainerID != "" {
		t.Errorf("got %+v", m)
	}
}

func TestTags(t *testing.T) {
	for line, want := range map[string][]string{
		"a:1|c|#":         nil,
		"a:1|c|#,,a,,":    {"a"},
		"a:1|c|#b,a,b":    {"b", "a", "b"},
		"a:1|c|#a:\xff:b": {"a:\uFFFD:b"},
		"a:1|c|#a:b:c":    {"a:b:c"},
	} {
		if got := parse(t, line).Tags; !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestInternalTags(t *testing.T) {
	m := parse(t, "a:1|c|#host:web1,x,dd.internal.entity_id:e,dd.internal.card:low,dd.internal.jmx_check_name:j")
	want := Source{Host: "web1", HostSet: true, EntityID: "e", Cardinality: CardinalityLow, JMXCheck: "j"}
	if m.Source != want || !slices.Equal(m.Tags, []string{"x"}) {
		t.Errorf("got %+v", m)
	}
	m = parse(t, "a:1|c|#dd.internal.card:low|card:high")
	if m.Source.Cardinality != CardinalityHigh || !slices.Equal(m.Tags, []string{"dd.internal.card:low"}) {
		t.Errorf("the field must win and the tag stay: %+v", m)
	}
	m = parse(t, "a:1|c|#host:")
	if !m.Source.HostSet || m.Source.Host != "" {
		t.Errorf("an empty host clears the host: %+v", m.Source)
	}
}

func TestContainerForms(t *testing.T) {
	for field, want := range map[string]Source{
		"c:abc":           {ContainerID: "abc"},
		"c:cid-abc":       {ContainerID: "abc"},
		"c:ci-abc":        {ContainerID: "abc"},
		"c:in-12":         {Inode: 12},
		"c:ci-abc,in-12":  {ContainerID: "abc", Inode: 12},
		"c:in-12,cid-abc": {ContainerID: "abc", Inode: 12},
		"card:Low":        {Cardinality: CardinalityLow},
		"card:zebra":      {},
		"e:it-true,zz-1":  {Init: true},
	} {
		if got := parse(t, "a:1|c|"+field); got.Source != want || got.Warnings != nil {
			t.Errorf("%s: got %+v", field, got)
		}
	}
}

func TestBrokenSourceIsAWarning(t *testing.T) {
	m := parse(t, "a:1|c|c:ci-abc,in-x|e:cn-n,it-perhaps")
	if len(m.Warnings) != 2 || m.Warnings[0].Offset != 15 || m.Warnings[1].Offset != 27 {
		t.Errorf("got %v", m.Warnings)
	}
	if m.Source.ContainerID != "abc" || m.Source.Container != "n" {
		t.Errorf("the good parts must stay: %+v", m.Source)
	}
}

func TestLines(t *testing.T) {
	got := slices.Collect(func(yield func(string) bool) {
		for line := range Lines([]byte("a\n\r\n\nb\r\nc|\nd")) {
			if !yield(string(line)) {
				return
			}
		}
	})
	if !slices.Equal(got, []string{"a", "b", "c|", "d"}) {
		t.Errorf("got %q", got)
	}
}

func TestInternerIsBounded(t *testing.T) {
	in := NewInterner(8, 1)
	for range 2 {
		for i := range 100 {
			b := fmt.Append(nil, i)
			if got := in.intern(b); got != (interned{text: string(b), hash: murmur3.Sum64(b, 1)}) {
				t.Fatalf("%s came out as %+v", b, got)
			}
		}
	}
	if n := len(in.sets) * len(internedSet{}.places); n != 8 || in.Misses() <= 192 {
		t.Errorf("room for %d strings, %d of 200 were made", n, in.Misses())
	}
}

func TestInternerKeepsNoLongStrings(t *testing.T) {
	in := NewInterner(8, 1)
	for _, long := range []string{strings.Repeat("x", longestInterned+1),
		strings.Repeat("x", longestInterned) + "\xff"} {
		for range 2 {
			want := strings.ToValidUTF8(long, "\uFFFD")
			if got := in.intern([]byte(long)); got != (interned{text: want, hash: murmur3.Sum64(want, 1)}) {
				t.Errorf("%q came out as %+v", long, got)
			}
		}
	}
	for _, set := range in.sets {
		if set != (internedSet{}) || len(in.broken) > 0 {
			t.Errorf("kept: %v, %v", set, in.broken)
		}
	}
}

// TestInternerKeepsBrokenStringsApart checks that a client that writes Latin-1 costs no more than
// others, and one that writes random bytes no more than its share.
func TestInternerKeepsBrokenStringsApart(t *testing.T) {
	in := NewInterner(8, 1)
	for range 3 {
		for _, broken := range []string{"short\xff", "\xff", "\xfe", "host:\xe9", "valid"} {
			want := strings.ToValidUTF8(broken, "\uFFFD")
			if got := in.intern([]byte(broken)); got != (interned{want, murmur3.Sum64(want, 1), broken[0] == 'h'}) {
				t.Errorf("%q came out as %+v", broken, got)
			}
		}
	}
	if in.Misses() != 5 {
		t.Errorf("%d strings were made, want 5", in.Misses())
	}
	for i := range 3 * mostBroken {
		in.intern(fmt.Appendf(nil, "\xff%d", i))
		if len(in.broken) > mostBroken {
			t.Fatalf("%d are kept", len(in.broken))
		}
	}
}

// TestInternerPassesOverWhatIsAskedForAgain checks that a set drives out strings that were not used
// again, in the order of their arrival; when all were used again, the oldest.
func TestInternerPassesOverWhatIsAskedForAgain(t *testing.T) {
	in := NewInterner(8, 1)
	ask := func(names ...string) (made string) {
		for _, name := range names {
			before := in.Misses()
			if in.String([]byte(name)); in.Misses() > before {
				made += name
			}
		}
		return made
	}
	for _, step := range []struct{ asked, made string }{
		{"abcdefgh", "abcdefgh"}, {"a", ""}, {"i", "i"}, {"acdefghi", ""}, {"b", "b"}, {"adefghi", ""}, {"c", "c"}, {"adefghi", ""}, {"b", "b"},
	} {
		if made := ask(strings.Split(step.asked, "")...); made != step.made {
			t.Errorf("asked for %s, %s were made, want %s", step.asked, made, step.made)
		}
	}
}

// TestInternerHasRoom measures the share of strings that are made anew, when the number of strings
// that the documentation names repeats: one after another, which is the worst order, or at random.
func TestInternerHasRoom(t *testing.T) {
	for _, test := range []struct {
		strings          int
		inTurn, atRandom float64
	}{{1000, 0, 0}, {2000, 0.01, 0.005}, {4000, 0.12, 0.03}} {
		in, names := NewInterner(DefaultStrings, 1), make([][]byte, test.strings)
		for i := range names {
			names[i] = fmt.Appendf(nil, "key%d:value%d", i%20, i)
		}
		share := func(next func(i int) []byte) float64 {
			for i := range 5 * len(names) {
				in.intern(next(i))
			}
			before := in.Misses()
			for i := range 20 * len(names) {
				in.intern(next(i))
			}
			return float64(in.Misses()-before) / float64(20*len(names))
		}
		rng := rand.New(rand.NewPCG(1, 2))
		inTurn := share(func(i int) []byte { return names[i%len(names)] })
		atRandom := share(func(int) []byte { return names[rng.IntN(len(names))] })
		t.Logf("%d strings: %.2f %% in turn, %.2f %% at random", test.strings, 100*inTurn, 100*atRandom)
		if inTurn > test.inTurn || atRandom > test.atRandom {
			t.Errorf("%d strings: %.2f %% in turn, %.2f %% at random are made anew", test.strings,
				100*inTurn, 100*atRandom)
		}
	}
}

// TestInternerKeepsWhatComesOften checks that a client with names that never repeat pushes out the
// tags that all its messages share for a moment only.
func TestInternerKeepsWhatComesOften(t *testing.T) {
	in := NewInterner(DefaultStrings, 1)
	const messages, shared = 10_000, 20
	for i := range messages {
		in.String(fmt.Append(nil, "name.", i))
		for tag := range shared {
			in.String(fmt.Append(nil, "tag:", tag))
		}
	}
	if remade := int(in.Misses()) - messages; remade > messages/50 {
		t.Errorf("%d of %d tags were made anew", remade, shared*messages)
	}
}

func TestKnownStringsCostNoAllocation(t *testing.T) {
	p, line := NewParser(0, 0), []byte("page.views:1:2|c|@0.5|#env:prod,role:db|c:ci-1,in-2|card:low")
	var m Metric
	allocs := testing.AllocsPerRun(100, func() {
		if err := p.Metric(line, &m); err != nil {
			t.Fatal(err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations a line, want 0", allocs)
	}
}

// FuzzParse checks any line: no panic, an error with a place inside the line, clean strings, and
// the same result the second time.
func FuzzParse(f *testing.F) {
	for _, d := range datagrams {
		f.Add([]byte(d.datagram))
	}
	for _, seed := range []string{"_e{5,4}:title|text|d:1|h:x|k:y|p:low|s:z|t:error|#a,b",
		"_sc|name|2|d:1|h:x|#a|m:b\\nc", "_e{", "_sc"} {
		f.Add([]byte(seed))
	}
	shared := NewParser(16, 0)
	f.Fuzz(func(t *testing.T, line []byte) {
		before := string(line)
		first, err1 := describe(t, shared, line)
		again, err2 := describe(t, NewParser(0, 0), line)
		if first != again || fmt.Sprint(err1) != fmt.Sprint(err2) {
			t.Errorf("two parsers differ:\n%s %v\n%s %v", first, err1, again, err2)
		}
		if !utf8.ValidString(first) {
			t.Errorf("invalid UTF-8 in %q", first)
		}
		if string(line) != before {
			t.Error("the input was changed")
		}
	})
}

func describe(t *testing.T, p *Parser, line []byte) (string, error) {
	var m Metric
	var e Event
	var c Check
	var err error
	switch KindOf(line) {
	case KindMetric:
		err = p.Metric(line, &m)
	case KindEvent:
		e, err = p.Event(line)
	case KindCheck:
		c, err = p.Check(line)
	}
	var syntax *SyntaxError
	if err != nil && (!errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(line)) {
		t.Errorf("%q: error without a place in the line: %v", line, err)
	}
	if err != nil {
		return "", err
	}
	for _, w := range slices.Concat(m.Warnings, e.Warnings, c.Warnings) {
		if w.Offset < 0 || w.Offset > len(line) {
			t.Errorf("%q: warning out of place: %v", line, w)
		}
	}
	m.Warnings, e.Warnings, c.Warnings = nil, nil, nil
	return fmt.Sprintf("%v %v %v", m, e, c), nil
}
