package corpus

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// Results read and write results of a target's calls.
type Results struct {
	shape *rt.Shape
	types func(string) *rt.Shape
	names []string
}

// ResultsOf returns the results of a target.
func ResultsOf(u *source.Unit) *Results {
	r := &Results{}
	r.shape, r.types = resultsShape(u)
	r.names = recordNames("R", len(r.shape.Fields))
	return r
}

// None reports whether the target has no results.
func (r *Results) None() bool { return len(r.names) == 0 }

// Keep returns captured results as a record has them, or says why a corpus cannot hold them: a file
// must give back what was captured.
func (r *Results) Keep(captured []byte) ([]byte, error) {
	v, err := r.value(captured)
	if err != nil {
		return nil, err
	}
	encoded := v.Append(nil)
	again, err := r.parse(v.JSON())
	if err == nil && !bytes.Equal(again, encoded) {
		err = fmt.Errorf("%s have no form in a file", r.shape.Name)
	}
	return encoded, err
}

// parse reads the results of a line.
func (r *Results) parse(text []byte) ([]byte, error) {
	v, err := rt.ParseJSON(text, r.shape, r.types)
	if err != nil {
		return nil, err
	}
	v.Names = r.names
	return v.Append(nil), nil
}

// write writes the results of a record for a line: a list, since many have no names.
func (r *Results) write(results []byte) ([]byte, error) {
	v, err := r.value(results)
	if err != nil {
		return nil, err
	}
	list := rt.Value{Kind: rt.KindList, Elems: v.Elems}
	return list.JSON(), nil
}

func (r *Results) value(encoded []byte) (rt.Value, error) {
	v, err := rt.ParseValue(encoded)
	if err == nil && (v.Kind != rt.KindStruct || len(v.Elems) != len(r.names)) {
		err = fmt.Errorf("they are not %s", r.shape.Name)
	}
	v.Names = r.names
	return v, err
}

// writeResults writes a record file of the results beside the records.
func writeResults(path string, records []beagle.Record) error {
	list := make([]rt.Record, len(records))
	for i, r := range records {
		list[i].Args = r.Results
	}
	return rt.WriteRecords(path, list)
}

// answer compares the results that production gave with the original's.
func (m *maker) answer(ctx context.Context) error {
	var known []beagle.Record
	out := &beagle.Answers{}
	for _, r := range slices.Concat(m.c.Train, m.c.Holdout) {
		switch {
		case r.Varies:
			out.Varied++
		case r.Results != nil:
			known = append(known, r)
		}
	}
	if len(known)+out.Varied == 0 {
		return nil
	}
	m.c.Answers = out
	if len(known) == 0 {
		return nil
	}
	// The original has survived these records. Where it does not now, nothing is compared.
	var o rt.Observation
	exit, err := m.observe(ctx, known, &rt.Observe{Answers: "answers"}, oneInput, &o)
	if err != nil || exit != nil || o.Answers == nil {
		return err
	}
	out.Compared, out.Otherwise, out.Unread = o.Answers.Compared, o.Answers.Otherwise, o.Answers.Unread
	out.Share = ratio(o.Answers.Other, o.Answers.Calls)
	if e := o.Answers.Example; e != nil {
		out.Example = fmt.Sprintf("%s(%s) gave %s there, and gives %s here", m.u.Target.Name, brief(e.Args),
			brief(e.There), brief(e.Here))
	}
	return nil
}

// brief cuts a value for a line of text.
func brief(text string) string { return tail.Short(text, 120) }
