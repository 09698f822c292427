package verify

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/proof/solve"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// proofModule is a package whose functions the tests prove or refute.
const proofModule = `package p

import "errors"

var errTag = errors.New("bad tag")

// Check refuses doubled underscores.
func Check(s string) error {
	last := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c == '_') {
			return errTag
		}
		if c == '_' && last == '_' {
			return errTag
		}
		last = c
	}
	return nil
}

type Point struct{ X, Y int32 }

func (p *Point) Add(q []int32, n uint8) int {
	for i := range q {
		p.X += q[i]
	}
	return int(n) + 1
}

func Total(s []byte) uint32 {
	n := uint32(0)
	for _, c := range s {
		n += uint32(c)
	}
	return n
}

func Scale(x float64) float64 { return x * 2 }
`

// byWords is the tag check by words of eight bytes. One version loses its mask of a word's last
// underscore at the border.
const byWords = `package p

import "errors"

var errTag = errors.New("bad tag")

func word(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

func zero(w uint64) uint64 {
	return ^((w&0x7f7f7f7f7f7f7f7f + 0x7f7f7f7f7f7f7f7f) | w | 0x7f7f7f7f7f7f7f7f)
}

func Check(s string) error {
	last := byte(0)
	for len(s) >= 8 {
		w := word(s)
		under := zero(w ^ 0x5f5f5f5f5f5f5f5f)
		low := w & 0x7f7f7f7f7f7f7f7f
		letter := ^w & (low + 0x1f1f1f1f1f1f1f1f) &^ (low + 0x0505050505050505) & 0x8080808080808080
		if under|letter != 0x8080808080808080 {
			return errTag
		}
		if under&(under<<8) != 0 || CARRY {
			return errTag
		}
		last = s[7]
		s = s[8:]
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c == '_') {
			return errTag
		}
		if c == '_' && last == '_' {
			return errTag
		}
		last = c
	}
	return nil
}
`

// versionsDrawn is the number of versions that a run proves or refutes. -sample.all takes all.
const versionsDrawn = 4

func TestProof(t *testing.T) {
	if len(solve.Installed()) == 0 {
		t.Skip("no solver is installed: apt install z3")
	}
	dir := t.TempDir()
	put(t, filepath.Join(dir, "go.mod"), "module ex.com/proofs\n\ngo 1.24\n")
	put(t, filepath.Join(dir, "p", "p.go"), proofModule)
	words := func(carry string) string { return strings.ReplaceAll(byWords, "CARRY", carry) }
	point := func(body string) string {
		return "package p\n\nfunc (p *Point) Add(q []int32, n uint8) int {\n" + body + "\n}\n"
	}
	envs := map[string]*Env{}
	type version struct {
		name, spec, source, note string // a note of "" means that the test wants a difference
		length                   int
	}
	for _, c := range sampletest.Of(t, []version{
		{"right", "./p.Check", words("last == '_' && s[0] == '_'"), "proved for all inputs up to length", 16},
		{"border", "./p.Check", words("false && last == '_'"), "", 0},
		{"nil receiver", "./p.Point.Add", point("x := p.X\nfor _, v := range q {\nx += v\n}\np.X = x\nreturn 1 + int(n)"), "", 0},
		{"method", "./p.Point.Add", point("if len(q) == 0 {\nreturn 1 + int(n)\n}\nx := p.X\nfor _, v := range q {\nx += v\n}\np.X = x\nreturn 1 + int(n)"), "proved for all inputs up to length", 16},
		{"written argument", "./p.Point.Add", point("if len(q) == 0 {\nreturn 1 + int(n)\n}\nx := p.X\nfor i, v := range q {\nx += v\nif i == 5 && v == 77777 {\nq[i] = 0\n}\n}\np.X = x\nreturn 1 + int(n)"), "", 0},
		{"narrow", "./p.Point.Add", point("for i := range q {\np.X += q[i]\n}\nreturn int(n + 1)"), "", 0},
		{"sum of 16 bits", "./p.Total", "package p\n\nfunc Total(s []byte) uint32 {\nn := uint16(0)\nfor i := range s {\nn += uint16(s[i])\n}\nreturn uint32(n)\n}\n", "", 0},
		{"float", "./p.Scale", "package p\n\nfunc Scale(x float64) float64 { return x + x }\n", "nothing proved: an argument of type float64", 0},
	}, versionsDrawn) {
		if envs[c.spec] == nil {
			envs[c.spec] = environment(t, dir, c.spec)
		}
		t.Run(c.name, func(t *testing.T) {
			e := envs[c.spec]
			ladder := slices.DeleteFunc(slices.Clone(FullLadder), func(k Check) bool {
				return !slices.Contains([]string{"parse", "compile", "proof"}, k.Name)
			})
			j := &Job{
				Env:       e,
				Candidate: beagle.NewCandidate(c.source, nil, nil),
				Corpus:    &beagle.Corpus{},
				Budget:    Budget{Proof: 8 * time.Second}.orDefaults(),
			}
			v, err := ladder.climb(t.Context(), j)
			if err != nil {
				t.Fatal(err)
			}
			if j.bin != nil {
				defer j.bin.Remove()
			}
			last := v.Checks[len(v.Checks)-1]
			t.Logf("%s %s: %s (%.0f ms)", v.Status, v.Stage, last.Note, last.Millis)
			if c.note == "" {
				if v.Status != beagle.Wrong || v.Stage != "proof" || v.Counterexample == nil {
					t.Fatalf("%s at %s: %s, want a counterexample", v.Status, v.Stage, v.Reason)
				}
				t.Logf("%s = %s, want %s", v.Counterexample.Go, v.Counterexample.Got, v.Counterexample.Want)
				return
			}
			if !v.OK() || !strings.HasPrefix(last.Note, c.note) {
				t.Fatalf("%s: %s, note %q, want %q", v.Status, v.Reason, last.Note, c.note)
			}
			if c.length > 0 && (v.Assurance == nil || v.Assurance.Proof == nil || v.Assurance.Proof.Length < c.length) {
				t.Errorf("the assurance is %+v, want a proof up to length %d", v.Assurance, c.length)
			}
		})
	}
}
