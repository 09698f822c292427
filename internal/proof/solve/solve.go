// Package solve asks an SMT solver, as a process of its own, whether a query
// in SMT-LIB can be satisfied.
//
// The solvers are optional: z3, and bitwuzla beside it when it is installed.
// A process gets limits of time and memory; z3 counts its own steps too, so
// that the same query has the same answer on a loaded machine.
package solve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A Status is a solver's answer.
type Status string

// The answers.
const (
	Sat     Status = "sat"
	Unsat   Status = "unsat"
	Unknown Status = "unknown" // it gave up, or was stopped
)

// An Answer is a solver's answer to one query.
type Answer struct {
	Status Status
	Model  map[string]uint64 // of the variables asked for, when Sat
	Spent  time.Duration     // processor time
	Why    string            // of Unknown
}

// Limits bound one query.
type Limits struct {
	Time   time.Duration
	Memory int // MiB
}

// A Solver is an installed one.
type Solver struct {
	Name string

	path  string
	first []string                // arguments before the file
	flags func(l Limits) []string // and by the limits
}

// stepsPerSecond is about how many of its own steps z3 does in a second.
const stepsPerSecond = 4_000_000

// bitwuzlaModule runs bitwuzla where it is installed as a Python module.
const bitwuzlaModule = `import sys, bitwuzla as b
o = b.Options(); o.set(b.Option.PRODUCE_MODELS, True); o.set(b.Option.TIME_LIMIT_PER, int(sys.argv[1])); o.set(b.Option.MEMORY_LIMIT, int(sys.argv[2]))
b.Parser(b.TermManager(), o).parse("/dev/stdin")`

// Installed finds the solvers of this machine, z3 first.
var Installed = sync.OnceValue(find)

// find looks for the solvers on this machine, the better one first. Both get limits that do not
// depend on how busy the machine is, where they have such.
func find() []Solver {
	var out []Solver
	if path, err := exec.LookPath("z3"); err == nil {
		out = append(out, Solver{Name: "z3", path: path, flags: func(l Limits) []string {
			return []string{"-in", "-smt2", fmt.Sprintf("-memory:%d", l.Memory),
				fmt.Sprintf("rlimit=%d", int64(l.Time.Seconds()*stepsPerSecond))}
		}})
	}
	millis := func(l Limits) string { return fmt.Sprint(l.Time.Milliseconds()) }
	// The second solver may be a program or a module of Python.
	if path, err := exec.LookPath("bitwuzla"); err == nil {
		out = append(out, Solver{Name: "bitwuzla", path: path, flags: func(l Limits) []string {
			return []string{"-m", "-t", millis(l), "--memory-limit", fmt.Sprint(l.Memory), "/dev/stdin"}
		}})
	} else if path, err := exec.LookPath("python3"); err == nil && hasBitwuzla(path) {
		out = append(out,
			Solver{Name: "bitwuzla", path: path, first: []string{"-c", bitwuzlaModule}, flags: func(l Limits) []string {
				return []string{millis(l), fmt.Sprint(l.Memory)}
			}})
	}
	return out
}

// hasBitwuzla reports whether Python knows the solver's module. An interpreter
// that hangs must not hold up every proof.
func hasBitwuzla(python string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return exec.CommandContext(ctx, python, "-c", "import bitwuzla").Run() == nil
}

// Ask runs a query: declarations and assertions, without check-sat. vars are
// the variables whose values are wanted. An error means that the solver did
// not work at all.
func (s *Solver) Ask(ctx context.Context, query string, vars []string, l Limits) (Answer, error) {
	// The query asks for the values at once: without a model the solver complains, which is
	// ignored.
	var in bytes.Buffer
	in.WriteString("(set-option :produce-models true)\n(set-logic QF_BV)\n")
	in.WriteString(query)
	in.WriteString("(check-sat)\n")
	if len(vars) > 0 {
		fmt.Fprintf(&in, "(get-value (%s))\n", strings.Join(vars, " "))
	}
	in.WriteString("(exit)\n")
	// The solver has limits of its own; the clock is for one that ignores them.
	ctx, cancel := context.WithTimeout(ctx, 4*l.Time+2*time.Second) // of the wall's clock, on a loaded machine
	defer cancel()
	c := exec.CommandContext(ctx, s.path, append(append([]string{}, s.first...), s.flags(l)...)...)
	c.Stdin = &in
	c.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	c.WaitDelay = time.Second
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	err := c.Run()
	// A solver that ends without an answer is no error.
	a := Answer{Status: Unknown}
	if c.ProcessState != nil {
		a.Spent = c.ProcessState.UserTime() + c.ProcessState.SystemTime()
	}
	if ctx.Err() != nil {
		a.Why = "the time was over"
		return a, nil
	}
	status, rest, _ := strings.Cut(strings.TrimSpace(out.String()), "\n")
	switch Status(strings.TrimSpace(status)) {
	case Unsat:
		a.Status = Unsat
		return a, nil
	case Sat:
		// A model must name all variables, or it would prove nothing.
		a.Model, err = ParseModel(rest)
		if err != nil {
			return a, fmt.Errorf("%s: %w", s.Name, err)
		}
		for _, v := range vars {
			if _, ok := a.Model[v]; !ok {
				return a, fmt.Errorf("%s: its model has no value of %s", s.Name, v)
			}
		}
		a.Status = Sat
		return a, nil
	case Unknown:
		a.Why = "it gave up"
		return a, nil
	}
	// Solvers say in words of their own that a limit was reached.
	if strings.Contains(out.String(), "memory") || strings.Contains(out.String(), "timeout") {
		a.Why = "it reached a limit"
		return a, nil
	}
	if err == nil {
		err = errors.New("no answer")
	}
	return a, fmt.Errorf("%s: %w: %.300s %.300s", s.Name, err, out.String(), complaint.String())
}
