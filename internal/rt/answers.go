package rt

import (
	"bytes"
	"fmt"
)

// Answers compare the original's results with those that production gave for the same arguments.
type Answers struct {
	Compared  int            `json:"compared"`            // records
	Otherwise int            `json:"otherwise,omitempty"` // of them, those that the original answers otherwise
	Calls     float64        `json:"calls"`               // that the compared records stand for
	Other     float64        `json:"other"`               // of these, those of Otherwise
	Unread    int            `json:"unread,omitempty"`    // results that this program cannot make again
	Example   *AnswerExample `json:"example,omitempty"`   // the first difference
}

// An AnswerExample is one call with both results, for people.
type AnswerExample struct {
	Args  string `json:"args"`
	There string `json:"there"` // in production
	Here  string `json:"here"`
}

// answersOf reads the results that production gave: a record each, empty where they are not known.
func (o *observer[A, R]) answersOf(path string) error {
	records, err := ReadRecords(path)
	if err != nil {
		return err
	}
	for _, r := range records {
		o.given = append(o.given, r.Args)
	}
	o.out.Answers = &Answers{}
	return nil
}

// answer compares an outcome of a record with production's.
func (o *observer[A, R]) answer(i int, c *observed[R]) {
	out, index := o.out.Answers, o.index[i]
	if out == nil || index >= len(o.given) || len(o.given[index]) == 0 {
		return
	}
	// Both are compared in the form in which the original is compared with itself: without capacity
	// and identity.
	var there R
	if err := Decode(o.given[index], &there, o.h.Types); err != nil {
		out.Unread++
		return
	}
	want, err1 := Snapshot(nil, &there)
	got, err2 := Snapshot(nil, &c.result)
	if err1 != nil || err2 != nil {
		out.Unread++
		return
	}
	out.Compared, out.Calls = out.Compared+1, out.Calls+o.weights[i]
	if !c.panicked && bytes.Equal(want, got) {
		return
	}
	out.Otherwise, out.Other = out.Otherwise+1, out.Other+o.weights[i]
	if out.Example == nil {
		here := render(&c.result)
		if c.panicked {
			here = fmt.Sprintf("panic(%s)", cutTo(c.text, maxShown))
		}
		out.Example = &AnswerExample{Args: render(&o.args[i]), There: render(&there), Here: here}
	}
}
