package dogstatsd

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

func TestSplit(t *testing.T) {
	for line, want := range map[string][3]string{
		"a:1|c":          {"a", "1", "|c"},
		"a:1:2|h|#x:y|z": {"a", "1:2", "|h|#x:y|z"},
		"a|b:1|c":        {"a|b", "1", "|c"},
		":1|c":           {"", "1", "|c"},
		"a:|c":           {},
		"a:1":            {},
		"a|c":            {},
		"":               {},
	} {
		head, value, tail, ok := Split([]byte(line))
		if got := [3]string{string(head), string(value), string(tail)}; got != want || ok != (want[1] != "") {
			t.Errorf("%s: got %q, %v, want %q", line, got, ok, want)
		}
	}
}

// FuzzSplit checks the agent's assumptions. The parts of a readable line join to the line. Its
// value, or any other in its place, means what the parser reads there.
func FuzzSplit(f *testing.F) {
	for _, d := range datagrams {
		for line := range Lines([]byte(d.datagram)) {
			f.Add(line, []byte("0012"))
		}
	}
	f.Add([]byte("a:1:2|h|@0.5|#b"), []byte("-1e3:::7"))
	f.Add([]byte("a:1|g"), []byte("999999999999999"))
	f.Fuzz(func(t *testing.T, line, other []byte) {
		p := NewParser(16, 0)
		var m Metric
		if KindOf(line) != KindMetric || p.Metric(line, &m) != nil || m.Type == Set {
			return
		}
		head, value, tail, ok := Split(line)
		if joined := slices.Concat(head, []byte(":"), value, tail); !ok || !bytes.Equal(joined, line) {
			t.Fatalf("%q is split into %q, %q and %q, %v", line, head, value, tail, ok)
		}
		agrees(t, p, line, value)
		if !bytes.ContainsAny(other, "|\n") {
			agrees(t, p, slices.Concat(head, []byte(":"), other, tail), other)
		}
	})
}

// agrees compares [AppendValues] with the parser.
func agrees(t *testing.T, p *Parser, line, value []byte) {
	t.Helper()
	var m Metric
	err := p.Metric(line, &m)
	got, ok := AppendValues([]float64{7}, value)
	if ok != (err == nil) {
		t.Fatalf("%q: read %v, %v; the parser says %v", line, got, ok, err)
	}
	same := func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }
	if ok && !slices.EqualFunc(got[1:], m.Values, same) {
		t.Errorf("%q: read %v; the parser read %v", line, got[1:], m.Values)
	}
}
