package benchfile

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// A build takes as long as a profile, and with thousands of inputs much longer. So forms that
// differ in numbers alone share one program, which takes them from its environment. In the file for
// people they are literals.

// programs are built programs, by the text of their benchmarks.
type programs map[string]*Bench

// program returns the program of a form, which other forms may have, too.
func (f *Fitter) program(ctx context.Context, p *Plan, form Form) (*Bench, error) {
	body := p.body(form)
	if b := f.programs[body]; b != nil {
		return b, nil
	}
	text, err := p.finish(body)
	if err != nil {
		return nil, err
	}
	b, err := Build(ctx, p.Unit, &p.For.Target, p.Path(), text, f.PGO)
	if err != nil {
		return nil, err
	}
	if f.programs == nil {
		f.programs = programs{}
	}
	f.programs[body] = b
	return b, nil
}

// close removes all programs.
func (f *Fitter) close() {
	for body, b := range f.programs {
		b.Close()
		delete(f.programs, body)
	}
}

// A number is a number of a form that its program takes from its environment.
type number struct {
	name  string // of the variable, without its prefix
	value int
}

const (
	everyName  = "Every"  // calls between two pauses
	piecesName = "Pieces" // of other work
	roomName   = "Room"   // bytes of copies of far parameters
)

// variables lists the numbers of a form that it has at all: others are other code.
func (p *Plan) variables() (list []number) {
	for _, n := range []number{{everyName, p.Pause}, {piecesName, p.Work}, {roomName, p.Distance}} {
		if n.value > 0 {
			list = append(list, n)
		}
	}
	return list
}

// general returns the form whose code all forms have that differ from p in numbers alone.
func (p *Plan) general() *Plan {
	out := *p
	out.open = true
	out.Pause, out.Work, out.Distance = min(p.Pause, 1), min(p.Work, 1)*maxWork, min(p.Distance, 1)*coldBytes
	return &out
}

// number returns a number as Go code.
func (p *Plan) number(name string, value int) string {
	if p.open {
		return p.lower() + name
	}
	return strconv.Itoa(value)
}

// environment is the prefix of variables of the environment.
const environment = "BEAGLE_BENCH_"

// numbers returns the environment of a form's program.
func (p *Plan) numbers() (env []string) {
	for _, n := range p.variables() {
		env = append(env, fmt.Sprintf("%s%s=%d", environment, n.name, n.value))
	}
	return env
}

// writeVariables declares the numbers that a program takes from its environment.
func (p *Plan) writeVariables(b *strings.Builder) {
	list := p.variables()
	if len(list) == 0 {
		return
	}
	for _, n := range list {
		fmt.Fprintf(b, "var %[1]s%[2]s = %[1]sNumber(%[2]q)\n", p.lower(), n.name)
	}
	fmt.Fprintf(b, `
func %sNumber(name string) int {
	n, err := strconv.Atoi(os.Getenv(%q + name))
	if err != nil {
		panic(err)
	}
	return n
}

`, p.lower(), environment)
}
