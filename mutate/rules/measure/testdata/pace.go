package differ

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"time"
)

// A Side is one version of a function: the function, and what its package
// offers to take calls in and to run them.
type Side struct {
	Target any
	Add    func([]reflect.Value)
	Run    func(n int)
}

// A Pair is what is timed: a case's two versions.
type Pair struct {
	Case
	Old, New Side
}

// A Pace holds the slices of one pair in one program.
type Pace struct {
	Name   string     `json:"name"`
	Inputs int        `json:"inputs"`
	Wall   [2][]int64 `json:"wall"`          // nanoseconds of the slices of each round, old and new
	Why    string     `json:"why,omitempty"` // why there are none
}

// Measure times all pairs and prints a Pace for each.
func Measure(pairs []Pair, rounds int) {
	runtime.GOMAXPROCS(1)
	out := json.NewEncoder(os.Stdout)
	for _, p := range pairs {
		if err := out.Encode(p.measure(rounds)); err != nil {
			panic(err)
		}
	}
}

const wanted = 256 // inputs

func (p *Pair) measure(rounds int) Pace {
	pace := Pace{Name: p.Name}
	for seed := uint64(0); pace.Inputs < wanted && seed < 8*wanted; seed++ {
		if p.accept(seed) {
			pace.Inputs++
		}
	}
	if pace.Inputs < 8 {
		pace.Why = "too few generated inputs on which it does not panic"
		return pace
	}
	n := p.calls(pace.Inputs)
	rng := rand.New(rand.NewPCG(1, 2))
	for range rounds {
		sides := [2]func(int){p.Old.Run, p.New.Run}
		first := rng.IntN(2)
		a, b := sides[first], sides[1-first]
		// ABBA: what drifts slowly cancels out.
		a1, b1, b2, a2 := took(a, n), took(b, n), took(b, n), took(a, n)
		pace.Wall[first] = append(pace.Wall[first], int64(a1+a2))
		pace.Wall[1-first] = append(pace.Wall[1-first], int64(b1+b2))
	}
	return pace
}

// accept hands one generated call to both versions unless one of them panics.
func (p *Pair) accept(seed uint64) bool {
	for _, s := range []Side{p.Old, p.New} {
		f := reflect.ValueOf(s.Target)
		args, _ := p.args(f.Type(), seed)
		if call(f, args).panicked {
			return false
		}
	}
	for _, s := range []Side{p.Old, p.New} {
		args, _ := p.args(reflect.TypeOf(s.Target), seed)
		s.Add(args)
	}
	return true
}

// calls is how many calls a slice has, a multiple of the inputs: the old
// version takes 100 microseconds or more, and the new one enough for the clock.
func (p *Pair) calls(inputs int) int {
	const slice, least, most = 100 * time.Microsecond, 3 * time.Microsecond, 20 * time.Millisecond
	for n := inputs; ; n *= 2 {
		a, b := min(took(p.Old.Run, n), took(p.Old.Run, n)), min(took(p.New.Run, n), took(p.New.Run, n))
		if a >= slice && b >= least || a >= most {
			return n
		}
	}
}

func took(run func(int), n int) time.Duration {
	start := time.Now()
	run(n)
	return time.Since(start)
}
