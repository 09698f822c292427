package verify

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
)

const sumOriginal = `package p

import "strconv"

// Label writes the sum of a list.
func Label(list []int) string {
	n := 0
	for _, x := range list {
		n += x
	}
	return "sum of list = " + strconv.Itoa(n)
}
`

// rememberers are versions of Label that remember something, or seem to. The policy refuses most of
// them by their text; this test looks only at what they do.
var rememberers = []struct{ name, refused, decls, body string }{
	{"memo by address", rt.CheckRefilled, "var at *int\nvar had string\n", `
	if len(list) > 0 && &list[0] == at {
		return had
	}
	s := label(list)
	if len(list) > 0 {
		at, had = &list[0], s
	}
	return s`},
	{"memo by address and length, last element checked", rt.CheckRefilled,
		"var at *int\nvar size, last int\nvar had string\n", `
	if n := len(list); n > 0 && &list[0] == at && n == size && list[n-1] == last {
		return had
	}
	s := label(list)
	if n := len(list); n > 0 {
		at, size, last, had = &list[0], n, list[n-1], s
	}
	return s`},
	{"memo by content", rt.CheckPlace, "var memo = map[string]string{}\n", `
	key := ""
	for _, x := range list {
		key += strconv.Itoa(x) + ","
	}
	if s, ok := memo[key]; ok {
		return s
	}
	memo[key] = label(list)
	return memo[key]`},
	{"wrong once in 10,000 calls", "", "var calls int\n", `
	if calls++; calls%10000 == 0 {
		return "sum"
	}
	return label(list)`},
	{"a lock is missing", rt.CheckCold, "var sum int\n", `
	sum = 0
	for k := 0; k < 2000; k++ {
		for _, x := range list {
			sum += x
		}
	}
	return "sum of list = " + strconv.Itoa(sum/2000)`},
	{"a table made at the start", "good",
		"var small = make100()\nfunc make100() (t [100]string) {\n\tfor i := range t {\n" +
			"\t\tt[i] = \"sum of list = \" + strconv.Itoa(i)\n\t}\n\treturn t\n}\n", `
	n := 0
	for _, x := range list {
		n += x
	}
	if 0 <= n && n < len(small) {
		return small[n]
	}
	return "sum of list = " + strconv.Itoa(n)`},
	{"another order of work", "good", "", "\treturn label(list)"},
}

const labelHelper = `
func label(list []int) string {
	n := 0
	for i := range list {
		n += list[i]
	}
	return "sum of list = " + strconv.Itoa(n)
}
`

// TestKeepsState checks that running a version reveals what it keeps.
func TestKeepsState(t *testing.T) {
	dir := t.TempDir()
	put(t, dir+"/go.mod", "module ex.com/keep\n\ngo 1.24\n")
	put(t, dir+"/p/p.go", sumOriginal)
	c := &catalogue{env: environment(t, dir, "./p.Label")}
	c.corpus = &beagle.Corpus{}
	for _, line := range []string{"[[1,2,3]]", "[[10,20]]", "[[7]]", "[[]]", "[[4,4,4,4,4]]",
		"[[30,60,1000]]", "[[5,6]]"} {
		c.corpus.Train = append(c.corpus.Train, record(t, line, rt.KindInt))
	}
	vs := []harness.Variant{{ID: "original", Source: sumOriginal}}
	var cands []beagle.Candidate
	for _, k := range rememberers {
		text := "package p\n\nimport \"strconv\"\n\n" + k.decls + "\nfunc Label(list []int) string {" + k.body + "\n}\n"
		if strings.Contains(text, "label(list)") {
			text += labelHelper
		}
		if !strings.Contains(strings.TrimPrefix(text, "package p\n\nimport \"strconv\"\n"), "strconv.") {
			text = strings.Replace(text, "import \"strconv\"\n", "", 1)
		}
		cand := beagle.NewCandidate(text, nil, nil)
		cands = append(cands, cand)
		vs = append(vs, harness.Variant{ID: cand.ID, Source: cand.Source})
	}
	bin, err := c.env.Builder.Build(t.Context(), vs, harness.Link{})
	if err != nil {
		t.Fatal(err)
	}
	ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
		return k.Name != "parse" && k.Name != "state"
	})
	for i, k := range rememberers {
		if why := bin.Failed[i+1]; why != "" {
			t.Fatalf("%s: %s", k.name, why)
		}
		j := &Job{Env: c.env, Candidate: cands[i], Corpus: c.corpus, bin: bin, idx: i + 1, Budget: Budget{
			Exhaust: 300 * time.Millisecond,
		}.orDefaults()}
		v, err := ladder.climb(t.Context(), j)
		if err != nil {
			t.Fatalf("%s: %v", k.name, err)
		}
		t.Logf("%s: %v %s %+v keeps %v", k.name, v.Status, v.Reason, v.Checks[len(v.Checks)-1], j.cand.keeps())
		if k.refused == rt.CheckRefilled {
			proveKept(t, dir, k.name, cands[i].Source, v.Counterexample.Test)
		}
		switch {
		case k.refused == "good":
			if !v.OK() || j.cand.keeps() {
				t.Errorf("%s: refused: %s; keeps: %v", k.name, v.Reason, j.cand.keeps())
			}
		case v.OK() || !strings.Contains(v.Reason, k.refused):
			t.Errorf("%s: %v %q, want %q", k.name, v.Status, v.Reason, k.refused)
		case !j.cand.keeps():
			t.Errorf("%s: its variables are taken for constants", k.name)
		}
	}
}

// proveKept runs a printed test. The original must pass it and the candidate must fail.
func proveKept(t *testing.T, dir, name, source, test string) {
	t.Helper()
	c := &catalogue{dir: dir}
	put(t, dir+"/p/proof_test.go", test)
	if out, err := c.goTest(t, "."); err != nil {
		t.Errorf("%s: its test fails with the original: %v\n%s\n%s", name, err, out, test)
	}
	put(t, dir+"/p/p.go", source)
	if out, err := c.goTest(t, "."); err == nil || !strings.Contains(out, "--- FAIL") {
		t.Errorf("%s: its test does not fail with it: %v\n%s\n%s", name, err, out, test)
	}
	put(t, dir+"/p/p.go", sumOriginal)
}
