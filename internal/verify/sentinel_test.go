package verify

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
)

// TestSentinels: an error may move into a variable of the candidate's own. One
// that the original gives by name keeps its identity.
func TestSentinels(t *testing.T) {
	const module = `package p

import "errors"

var errShort = errors.New("short")

func Read(s string) (int, error) {
	switch {
	case s == "":
		return 0, errors.New("empty")
	case len(s) < 3:
		return 0, errShort
	}
	return len(s), nil
}

func use() error { return errShort }
`
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/sentinels\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), module)
	e := environment(t, dir, "./p.Read")
	for edit, ok := range map[[2]string]bool{
		{`errors.New("empty")`, `errEmpty`}:           true,
		{`errShort`, `errors.New("short")`}:           false,
		{`errShort`, `errOther`}:                      false,
		{`errors.New("empty")`, `errors.New("none")`}: false,
	} {
		src := strings.Replace(e.Unit.Target.Source, "return 0, "+edit[0], "return 0, "+edit[1], 1)
		for name, text := range map[string]string{"errEmpty": "empty", "errOther": "short"} {
			if edit[1] == name {
				src += "\nvar " + name + " = errors.New(\"" + text + "\")\n"
			}
		}
		v, err := Full(t.Context(), e, beagle.NewCandidate(src, nil, nil), &beagle.Corpus{},
			Budget{Exhaust: 200 * time.Millisecond, Fuzz: -1, Race: -1, Proof: -1})
		if err != nil {
			t.Fatal(err)
		}
		if v.OK() != ok || !ok && v.Status != beagle.Wrong {
			t.Errorf("%s instead of %s: %s at %s: %s", edit[1], edit[0], v.Status, v.Stage, v.Reason)
		}
	}
}
