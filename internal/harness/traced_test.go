package harness

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle/internal/rt"
)

const tracedFile = `package p

import "strings"

func Classify(s string, n int) (kind int) {
	defer func() {
		if r := recover(); r != nil {
			kind = -1
		}
	}()
outer:
	for i, w := range strings.Fields(s) {
		switch w {
		case "skip":
			continue outer
		case "stop", name:
			break outer
		}
		f := func(x int) bool { return x > i && !odd(x) || x == limit }
		if f(n) {
			kind += pick([]int{i, n}, n)
		}
	}
	if n == 1<<10 {
		panic("limit")
	}
	return kind + helper(s)
}

const name = "end"

const limit = 99

func odd(x int) bool { return x&1 == 1 }

func pick[T any](list []T, i int) T { return list[i&1] }
`

// helperFile is kept: the package has another use for it.
const helperFile = `package p

func helper(s string) int {
	if len(s) == 333 {
		return 3
	}
	return 0
}

var Other = helper("")
`

// guideOf searches with a traced program.
func guideOf(t *testing.T, f *fixture, candidate string) (*Traced, *rt.GuideReply) {
	t.Helper()
	traced, err := f.b.Traced(t.Context(), f.variants(candidate), nil)
	if err != nil {
		t.Fatal(err)
	}
	reply := new(rt.GuideReply)
	q := &rt.GuideRequest{
		Exhaust: rt.Exhaust{
			Variant: 1,
			Budget:  int64(20 * time.Second),
			Ints:    []int64{99, 1024, 333},
			Strings: []string{"skip", "stop", "end"},
		},
		Sites: len(traced.Sites),
	}
	exit, err := traced.Run(t.Context(), f.box, &rt.Request{
		Guide: q,
	}, reply, RunOptions{CPU: -1, Wall: 5 * time.Minute})
	if exit != nil || err != nil {
		t.Fatal(exit, err)
	}
	return traced, reply
}

// TestTraced: tracing changes nothing that the versions do, reaches helpers
// that are not the candidate's, and shows what is never reached.
func TestTraced(t *testing.T) {
	f := load(t, "./p.Classify", map[string]string{"p/p.go": tracedFile, "p/helper.go": helperFile})
	dead := f.edit(t, "return kind + helper(s)", "if n > 5 && n < 5 {\nkind = 7\n}\nreturn kind + helper(s)")
	traced, reply := guideOf(t, f, dead)
	if reply.Diff != nil || !reply.Saturated || len(traced.Plain) > 0 {
		t.Fatalf("%+v, without tracing: %v", reply, traced.Plain)
	}
	var never []string
	for _, id := range reply.Unreached[0] {
		if s := traced.Sites[id]; s.Sides[0] != "" {
			never = append(never, s.Text)
		}
	}
	if len(never) != 1 || !strings.Contains(never[0], "n < 5") {
		t.Errorf("never true: %q", never)
	}
	ofRest := slices.ContainsFunc(traced.Sites, func(s TracedSite) bool {
		return s.Version == ofPackage && s.Text == "len(s) == 333"
	})
	if !ofRest {
		t.Error("the helper outside the candidate is not traced")
	}
	_, reply = guideOf(t, f,
		f.edit(t, "return kind + helper(s)",
			"if n == 777123 && helper(s) == 3 {\nreturn 0\n}\nreturn kind + helper(s)"))
	if reply.Diff == nil {
		t.Errorf("missed: %+v", reply)
	}
}

// TestTracedFallsBack: a version that does not compile with the calls goes in
// without them, and the other one with them.
func TestTracedFallsBack(t *testing.T) {
	f := sum(t)
	hides := f.edit(t, "t := 0", "beaglert := 0\n\tt := beaglert")
	traced, reply := guideOf(t, f, hides)
	if !slices.Equal(traced.Plain, []string{"candidate"}) || len(traced.Sites) == 0 ||
		traced.Sites[len(traced.Sites)-1].Version != 0 {
		t.Errorf("without tracing: %v, sites %v", traced.Plain, traced.Sites)
	}
	if reply.Diff != nil {
		t.Errorf("%+v", reply.Diff)
	}
}
