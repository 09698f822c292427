package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/tail"
)

// TestDifference checks the one line that reports a difference of each kind.
func TestDifference(t *testing.T) {
	long := fmt.Sprintf("%q", strings.Repeat("The quick brown fox. ", 20))
	for _, test := range []struct {
		diff rt.Diff
		want string
	}{
		{rt.Diff{Kind: "result", Want: `returns "a-a"`, Got: `returns "aa"`}, `F(x) = "aa", want "a-a"`},
		{rt.Diff{Kind: "result", Want: `returns 1, nil`, Got: `returns 0, errors.New("a, b")`}, `F(x) = (0, errors.New("a, b")), want (1, nil)`},
		{rt.Diff{Kind: "panic", Want: "returns 3", Got: "panic: index out of range"}, "F(x) panics (index out of range), want 3"},
		{rt.Diff{Kind: "panic", Want: "panic: string: no", Got: "returns 3"}, "F(x) = 3, want a panic (string: no)"},
		{rt.Diff{Kind: "argument", Want: "leaves b = []byte{}", Got: "leaves b = nil"}, "F(x) leaves b = nil, want b = []byte{}"},
		{rt.Diff{Kind: "state", Want: "returns 3", Got: "returns 4", Check: rt.CheckAgain}, "F(x) = 4, want 3 (" + rt.CheckAgain + ")"},
		{rt.Diff{Kind: "state", Want: "returns 3", Got: "returns 3", Check: rt.CheckFirst}, "F(x): it keeps state between calls: " + rt.CheckFirst},
		{rt.Diff{Kind: "alias", Want: "returns a (b)", Got: "returns a (b)", Check: rt.CheckKept}, "F(x): the memory that results and arguments share differs: " + rt.CheckKept},
		{rt.Diff{Kind: "hang", Want: "returns", Got: "does not return within 250ms"}, "F(x): does not return within 250ms"},
		{rt.Diff{Kind: "result", Want: "returns " + long, Got: "returns " + long[:300] + "x" + long[301:]},
			`F(x) = ...  fox. The quick brown fox. The qxick brown fox. The quick brown  ..., want ...  fox. The quick brown fox. The quick brown fox. The quick brown  ...`},
	} {
		if got := difference("F(x)", &test.diff); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

func TestBrief(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat(`"abc", `, 129), ", ")
	for _, test := range []struct{ in, want string }{
		{`[]string{` + list + `}, 7`, `[]string{"abc", "abc", "abc", "abc", ... 129 in all}, 7`},
		{fmt.Sprintf("T{S: %q, N: 1}", strings.Repeat("ä", 50)), `T{S: "` + strings.Repeat("ä", 16) + `"... (100 bytes), N: 1}`},
		{`strings.Repeat("a", 4096) + "b"`, `strings.Repeat("a", 4096) + "b"`},
		{strings.Repeat("(", 400), strings.Repeat("(", 300) + "..."},
	} {
		if got := brief(test.in); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		}
	}
}

// FuzzBrief checks that shortening never fails and never makes a text much longer, whatever a
// harness says of values.
func FuzzBrief(f *testing.F) {
	f.Add(`returns []string{"a", "b"}`, `returns nil`)
	f.Add("panic: \x80\xff", strings.Repeat("leaves the arguments as {", 99))
	f.Fuzz(func(t *testing.T, want, got string) {
		w, g := briefPair(want, got)
		alike := tail.Short(want, maxShown) == tail.Short(got, maxShown)
		if w == g && want != got && !alike && len(want) < maxText && len(got) < maxText {
			t.Errorf("%q and %q both become %q", want, got, w)
		}
		if most := 2 * maxShown; len(w) > most || len(g) > most {
			t.Errorf("%d and %d bytes are shown", len(w), len(g))
		}
	})
}
