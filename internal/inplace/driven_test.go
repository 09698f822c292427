package inplace

import (
	"testing"

	"github.com/beagle-go/beagle"
)

// TestIterators: the test of the module takes each iterator once, to its end.
func TestIterators(t *testing.T) {
	words := func(body string) string {
		return "package place\n\nimport (\n\t\"iter\"\n\t\"strings\"\n)\n\n" +
			"func Words(s string) iter.Seq[string] {\n" + body + "}\n"
	}
	judgeAll(t, map[string]string{"w.go": words(`	return func(yield func(string) bool) {
		for _, w := range strings.Fields(s) {
			if !yield(w) {
				return
			}
		}
	}
`), "w_test.go": `package place

import "testing"

func TestWords(t *testing.T) {
	n := 0
	for w := range Words("a few words") {
		n += len(w)
	}
	if n != 9 {
		t.Fatal(n)
	}
}
`}, "./.Words", beagle.ByTape, []planted{
		{"honest", words("\treturn strings.FieldsSeq(s)\n"), beagle.Equal, ""},
		{"works once", words(`	all := strings.Fields(s)
	return func(yield func(string) bool) {
		for len(all) > 0 {
			w := all[0]
			all = all[1:]
			if !yield(w) {
				return
			}
		}
	}
`), beagle.Wrong, "result"},
		{"goes on", words(`	return func(yield func(string) bool) {
		for w := range strings.FieldsSeq(s) {
			yield(w)
		}
	}
`), beagle.Wrong, "result"},
		{"nothing", words("\treturn nil\n"), beagle.Wrong, "result"},
	})
}

// TestClosures: the test of the module calls each function once.
func TestClosures(t *testing.T) {
	judgeAll(t, map[string]string{"c.go": `package place

func Count(from, step int) func() (int, bool) {
	n := from
	return func() (int, bool) {
		n += step
		return n, n < 100
	}
}
`, "c_test.go": `package place

import "testing"

func TestCount(t *testing.T) {
	if n, ok := Count(3, 40)(); n != 43 || !ok {
		t.Fatal(n, ok)
	}
}
`}, "./.Count", beagle.ByTape, []planted{
		{"honest", "package place\n\nfunc Count(from, step int) func() (int, bool) {\n" +
			"\treturn func() (int, bool) {\n\t\tfrom += step\n\t\treturn from, from < 100\n\t}\n}\n", beagle.Equal, ""},
		{"does not count on", "package place\n\nfunc Count(from, step int) func() (int, bool) {\n" +
			"\treturn func() (int, bool) { return from + step, from+step < 100 }\n}\n", beagle.Wrong, "result"},
	})
}
