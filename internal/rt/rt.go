// Package rt is linked into the programs that Beagle generates: the
// instrumented tests that record a target's calls, and the harness that
// checks and times its candidates. Its source is embedded into Beagle and
// compiled with the user's toolchain, and where the go command must do that
// inside the user's module, so it imports the standard library only and uses
// nothing newer than Go 1.23. A program gets the files that it needs: see ProgramKind.
//
// It is one package, although it is large. Beagle compiles it for a program in one step, before the
// program's own package; packages that build on each other would be steps in a row. And most of it
// shares unexported types that are generic in the target's arguments and results.
package rt

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"time"
)

// A Variant is one version of the target inside a harness. A is a struct of
// the arguments (receiver first), R a struct of the results.
type Variant[A, R any] struct {
	ID   string
	Eval func(a *A, r *R) // calls the version and keeps its results; may panic
	Time func(a []A)      // calls the version once for each element, in order, and drops the results
}

// A Harness is a generated program's view of the target. Variants[0] is the original.
type Harness[A, R any] struct {
	Variants []Variant[A, R]
	Params   []string                // names of the fields of A, for people
	Types    map[string]reflect.Type // concrete types that interface values may hold, by TypeName

	requires []func(*A) bool // of the request's terms
}

// A Request is an order of the parent process, as JSON on standard input. Exactly one of the
// pointers is set.
type Request struct {
	Nonce string `json:"nonce"` // returned in the reply, so that a candidate's own output is not taken for it
	Procs int    `json:"procs"` // GOMAXPROCS; 0 means 1

	Progress string  `json:"progress,omitempty"` // file for the place of the work, see Begin; the parent sets it
	Stall    float64 `json:"stall,omitempty"`    // milliseconds that one input may take; 0 means no limit
	Stack    int     `json:"stack,omitempty"`    // bytes of stack that it may take; 0 means maxStack

	// the contract; the parent sets the target's own unless another is to be tried
	Terms *Terms `json:"terms,omitempty"`

	Observe *Observe      `json:"observe,omitempty"`
	Replay  *Replay       `json:"replay,omitempty"`
	Series  []Replay      `json:"series,omitempty"` // several replays, one after the other
	Exhaust *Exhaust      `json:"exhaust,omitempty"`
	Guide   *GuideRequest `json:"guide,omitempty"`
	Time    *Time         `json:"time,omitempty"`
	Spell   *Spell        `json:"spell,omitempty"`
	Sift    *Sift         `json:"sift,omitempty"`
}

// A Reply is the answer of a harness, as one line of JSON on standard output.
type Reply struct {
	Nonce  string          `json:"nonce"`
	Error  string          `json:"error,omitempty"` // the request could not be carried out
	Result json.RawMessage `json:"result,omitempty"`
}

// Types makes the table of a harness.
func Types(ts ...reflect.Type) map[string]reflect.Type {
	table := make(map[string]reflect.Type, len(ts))
	for _, t := range ts {
		table[TypeName(t)] = t
	}
	return table
}

// Linked is set by the shim's init function.
var Linked bool

// New puts a harness together. The shim in the target's package gives the
// parts and not the whole, so that only the main package, which is compiled
// once, holds the modes for the target's types. A nil function is a version
// that did not compile.
func New[A, R any](ids, params []string, eval []func(*A, *R), time []func([]A), types []reflect.Type) *Harness[A, R] {
	SetOwnPackage(reflect.TypeFor[A]().PkgPath())
	h := &Harness[A, R]{Params: params, Types: Types(append(types, faultyTypes...)...)}
	for i, id := range ids {
		h.Variants = append(h.Variants, Variant[A, R]{ID: id, Eval: eval[i], Time: time[i]})
	}
	return h
}

// Main carries out the request on standard input and exits.
func Main[A, R any](h *Harness[A, R]) {
	var q Request
	if err := json.NewDecoder(os.Stdin).Decode(&q); err != nil {
		fmt.Fprintln(os.Stderr, "harness: broken request:", err)
		os.Exit(2)
	}
	result, err := h.carryOut(&q)
	answer(q.Nonce, result, err)
}

func (h *Harness[A, R]) carryOut(q *Request) (any, error) {
	if err := q.prepare(); err != nil {
		return nil, err
	}
	if err := h.agree(q.Terms); err != nil {
		return nil, err
	}
	return h.serve(q)
}

// prepare sets the process up as the request wants it.
func (q *Request) prepare() error {
	runtime.GOMAXPROCS(max(q.Procs, 1))
	debug.SetMaxStack(cmp.Or(q.Stack, maxStack))
	Idle()
	if q.Progress != "" {
		if err := openProgress(q.Progress); err != nil {
			return err
		}
	}
	if q.Stall > 0 {
		go watch(time.Duration(q.Stall * float64(time.Millisecond)))
	}
	return nil
}

// maxStack ends endless recursion before it looks like a hang or like a lack
// of memory.
const maxStack = 64 << 20

// answer writes the reply on a line of its own, whatever candidates printed
// before, and exits.
func answer(nonce string, result any, err error) {
	Idle()
	reply := Reply{Nonce: nonce}
	if err == nil {
		reply.Result, err = json.Marshal(result)
	}
	if err != nil {
		reply.Error = err.Error()
	}
	line, _ := json.Marshal(reply)
	io.WriteString(os.Stdout, "\n"+string(line)+"\n")
	os.Exit(0)
}

// serve carries out a request, which names one thing to do.
func (h *Harness[A, R]) serve(q *Request) (any, error) {
	switch {
	case q.Observe != nil:
		return h.observe(q.Observe)
	case q.Replay != nil:
		return h.replay(q.Replay)
	case len(q.Series) > 0:
		return h.series(q.Series)
	case q.Exhaust != nil:
		return h.exhaust(q.Exhaust)
	case q.Guide != nil:
		return h.guided(q.Guide)
	case q.Time != nil:
		return h.time(q.Time)
	case q.Spell != nil:
		return h.spell(q.Spell)
	case q.Sift != nil:
		return h.sift(q.Sift)
	}
	return nil, fmt.Errorf("the request names nothing to do")
}
