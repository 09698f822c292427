package trials

import (
	_ "embed"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"

	"golang.org/x/tools/txtar"
)

//go:embed functions.txtar
var functions []byte

// A Truth is the true gain of a version.
type Truth string

const (
	SameCode    Truth = "itself" // the same machine code, of other words
	TwoPercent  Truth = "2 %"    // faster by 357 / 350
	FivePercent Truth = "5 %"    // faster by 357 / 341, a little less than 5 %
)

// Truths are all of them.
var Truths = []Truth{SameCode, TwoPercent, FivePercent}

// changes are what the versions have in place of the original's text. Those with a gain do fewer
// turns than 357. With 340, those that tell in the result, the compiler would see that all of them
// do, and make other code of it. Those without a gain have longer names. The compiler places the
// variables of a frame by their names where nothing else decides, and other places are faster or
// slower. A letter at the end of a name leaves the order of names as it is, and so the machine
// code.
var changes = map[Truth]string{SameCode: "${1}s", TwoPercent: "range 350", FivePercent: "range 341"}

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
	copy(s[:], string(t)+changes[t])
	s[30], s[31] = byte(i), byte(i>>8)
	return rand.NewChaCha8(s).Uint64()
}

var names = regexp.MustCompile(`\b(keep|turn|unit|made)\b`)

// edit makes the version of a truth.
func edit(t Truth) func(string) string {
	if t == SameCode {
		return func(src string) string { return names.ReplaceAllString(src, changes[t]) }
	}
	return func(src string) string { return strings.Replace(src, "range 357", changes[t], 1) }
}

// module returns the module of the functions.
func module() *txtar.Archive { return txtar.Parse(functions) }

// writeModule writes the module into a directory.
func writeModule(dir string) error {
	files, err := txtar.FS(module())
	if err != nil {
		return err
	}
	return os.CopyFS(dir, files)
}
