package trials

import (
	_ "embed"
	"math/rand/v2"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed functions.txtar
var functions []byte

// A Truth is the true gain of a version.
type Truth string

const (
	SameCode    Truth = "itself" // the original in other words
	TwoPercent  Truth = "2 %"    // faster by 357 / 350
	FivePercent Truth = "5 %"    // faster by 357 / 341, a little less than 5 %
)

// Truths are all of them.
var Truths = []Truth{SameCode, TwoPercent, FivePercent}

// turns are those of the versions with a gain, instead of 357. With 340, those
// that tell in the result, the compiler would see that all of them do, and make
// other code of it.
var turns = map[Truth]string{TwoPercent: "range 350", FivePercent: "range 341"}

var (
	worked = []string{"Branch", "Bytes", "Hash", "Allocate", "Count", "Sort", "Build", "Recurse", "Point.Walk"}
	small  = []string{"Clamp", "Index", "Equal", "Vowels", "Merge"}
)

// specs returns the functions that a truth is tried on.
func specs(t Truth) []string {
	var out []string
	for _, f := range worked {
		out = append(out, "./work."+f)
	}
	if t == SameCode {
		for _, f := range small {
			out = append(out, "./small."+f)
		}
	}
	return out
}

// A Task is a trial to be made.
type Task struct {
	Truth    Truth  `json:"truth"`
	Function string `json:"function"`
	Loaded   bool   `json:"loaded"`
	Seed     uint64 `json:"seed"`
}

// plan returns the i-th trial of a truth: one round over the functions after the other, every
// second one under load.
func plan(t Truth, i int) Task {
	list := specs(t)
	round := i / len(list)
	return Task{Truth: t, Function: list[i%len(list)], Loaded: round%2 == 1, Seed: seed(t, i)}
}

// seed draws the seed of a trial, so that nearby trials have nothing in common, nor trials of other
// texts.
func seed(t Truth, i int) uint64 {
	var s [32]byte
	copy(s[:], string(t)+turns[t])
	s[30], s[31] = byte(i), byte(i>>8)
	return rand.NewChaCha8(s).Uint64()
}

var (
	names   = regexp.MustCompile(`\b(keep|turn|unit|made)\b`)
	renamed = strings.NewReplacer("keep", "kept", "turn", "step", "unit", "part", "made", "own")
)

// edit makes the version of a truth.
func edit(t Truth) func(string) string {
	if fewer := turns[t]; fewer != "" {
		return func(src string) string { return strings.Replace(src, "range 357", fewer, 1) }
	}
	return func(src string) string { return names.ReplaceAllStringFunc(src, renamed.Replace) }
}

// module returns the module of the functions.
func module() []txtar.File { return txtar.Parse(functions).Files }
