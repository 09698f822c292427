package probe

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/beagle-go/beagle/probe/wire"
)

// A question counts a predicate at a site. The values stay in the process.
type question struct {
	id      int
	prog    *wire.Program
	code    []op
	late    bool // needs the call's end
	o       *options
	yes     atomic.Uint64
	no      atomic.Uint64
	unclear atomic.Uint64
}

// An op is an operation with its operand.
type op struct {
	code byte
	n    int64
}

// Which questions are asked.
const (
	earlyQuestions = false
	lateQuestions  = true
)

const maxQuestions = 16 // at a site

// hasOperand are the operations with a varint after them.
var hasOperand = []byte{wire.OpArg, wire.OpResult, wire.OpInt, wire.OpText, wire.OpFloat, wire.OpBool, wire.OpField,
	wire.OpAnd, wire.OpOr, wire.OpCall}

// parseCode splits byte code. Running them checks what operations mean.
func parseCode(b []byte) (code []op, err error) {
	if len(b) == 0 || len(b) > wire.MaxCode {
		return nil, fmt.Errorf("a program of %d bytes: give 1 to %d", len(b), wire.MaxCode)
	}
	for len(b) > 0 {
		o := op{code: b[0]}
		b = b[1:]
		if o.code == 0 || o.code > wire.OpPanicked {
			return nil, fmt.Errorf("the program has the unknown operation %d", o.code)
		}
		if slices.Contains(hasOperand, o.code) {
			n, size := binary.Varint(b)
			if size <= 0 {
				return nil, fmt.Errorf("operation %d ends too early", o.code)
			}
			o.n, b = n, b[size:]
		}
		code = append(code, o)
	}
	return code, nil
}

// add installs a question at an armed site. It refuses questions about secrets, whose answers would
// tell them bit by bit.
func (s *session) add(site string, prog *wire.Program) (int, error) {
	// Find the armed site.
	i := slices.IndexFunc(s.sites, func(a *arming) bool { return wire.Matches(site, a.site.about.name) })
	if i < 0 {
		return 0, fmt.Errorf("the site %q is not armed", site)
	}
	a := s.sites[i]
	// Read the program.
	code, err := parseCode(prog.Code)
	if err != nil {
		return 0, err
	}
	q := &question{prog: prog, code: code, o: &s.options}
	// Refuse questions that cannot be answered, or that may not.
	q.late = slices.ContainsFunc(code, func(o op) bool { return o.code == wire.OpResult || o.code == wire.OpPanicked })
	if q.late && !a.site.about.returns {
		return 0, fmt.Errorf("%s: results are not seen there: %s", a.site.about.name, a.site.about.note)
	}
	if name := s.secretOf(a, code); name != "" {
		return 0, fmt.Errorf("%s is secret by its name or type: no question about it is answered", name)
	}
	// Replace the list: calls read it meanwhile.
	s.asked++
	q.id = s.asked
	var list []*question
	if old := a.questions.Load(); old != nil {
		list = slices.Clone(*old)
	}
	if len(list) >= maxQuestions {
		return 0, fmt.Errorf("%d questions are open at %s: end one first", len(list), a.site.about.name)
	}
	list = append(list, q)
	a.questions.Store(&list)
	return q.id, nil
}

// secretOf returns the name of a secret parameter or field that a program reads, so that the asker
// hears it at once. If this simple look misses one, the question stays undecided when it runs.
func (s *session) secretOf(a *arming, code []op) string {
	var at *coder // the type of the value on top, where it is known
	for _, o := range code {
		from := at
		at = nil
		switch o.code {
		case wire.OpArg:
			from = a.site.about.args
		case wire.OpResult:
			from = a.site.about.results
		case wire.OpField:
		case wire.OpDeref, wire.OpIndex:
			if from != nil {
				at = from.elem
			}
			continue
		case wire.OpInt: // perhaps an index of what is below it
			at = from
			continue
		default:
			continue
		}
		if from == nil || o.n < 0 || o.n >= int64(len(from.fields)) {
			continue
		}
		f := &from.fields[o.n]
		if s.options.redact.name(f.name) || s.options.redact.typ(f.c) {
			return f.name
		}
		at = f.c
	}
	return ""
}

// remove ends a question and returns its counts.
func (s *session) remove(id int) (wire.Answer, error) {
	for _, a := range s.sites {
		old := a.questions.Load()
		if old == nil {
			continue
		}
		i := slices.IndexFunc(*old, func(q *question) bool { return q.id == id })
		if i < 0 {
			continue
		}
		list := slices.Delete(slices.Clone(*old), i, i+1)
		a.questions.Store(&list)
		return (*old)[i].answer(a), nil
	}
	return wire.Answer{}, fmt.Errorf("no question has the number %d", id)
}

func (q *question) answer(a *arming) wire.Answer {
	return wire.Answer{ID: q.id, Site: a.site.about.name, Text: q.prog.Text, Yes: q.yes.Load(), No: q.no.Load(),
		Undecided: q.unclear.Load()}
}

// answers lists the open questions.
func (s *session) answers() (all []wire.Answer) {
	for _, a := range s.sites {
		if list := a.questions.Load(); list != nil {
			for _, q := range *list {
				all = append(all, q.answer(a))
			}
		}
	}
	return all
}

// ask answers the questions of a call's entry or of its end. Without any it allocates nothing.
func (a *arming) ask(late bool, f frame) {
	if list := a.questions.Load(); list != nil {
		a.answer(*list, late, f)
	}
}

//go:noinline
func (a *arming) answer(list []*question, late bool, f frame) {
	f.about = &a.site.about
	for _, q := range list {
		if q.late != late {
			continue
		}
		switch yes, ok := q.run(&f); {
		case !ok:
			q.unclear.Add(1)
		case yes:
			q.yes.Add(1)
		default:
			q.no.Add(1)
		}
	}
}
