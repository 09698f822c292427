package rt

import (
	"reflect"
	"strconv"
)

// Spell is the request of the spell mode: write calls of the original and
// their results in Go syntax, for a test to commit. Only for types whose values
// are whole when written out: the parent sees to that.
type Spell struct {
	Records string `json:"records"` // record file
}

// A SpellReply holds the calls that return, in the order of the records.
type SpellReply struct {
	Calls   []SpelledCall `json:"calls"`
	Imports []string      `json:"imports"` // imports of the expressions
}

// A SpelledCall is one call. Errors are written as their text, nil as "".
type SpelledCall struct {
	Args    []string `json:"args"`
	Results []string `json:"results"`
}

// spell writes the recorded calls as Go code, with what the original returns. Calls that panic or
// hang have no results, and are left out.
func (h *Harness[A, R]) spell(q *Spell) (any, error) {
	args, _, err := LoadArgs[A](q.Records, h.Types)
	if err != nil {
		return nil, err
	}
	var out SpellReply
	need := map[string]bool{}
	for i := range args {
		Begin(0, i)
		exprs, imports := spell(&args[i]) // before the call, which may change them
		r, ok := h.result(Clone(&args[i]))
		if !ok {
			continue
		}
		results, more := spell(r)
		for _, path := range append(imports, more...) {
			need[path] = true
		}
		out.Calls = append(out.Calls, SpelledCall{exprs, errorsAsText(reflect.ValueOf(r).Elem(), results)})
	}
	for path := range need {
		out.Imports = append(out.Imports, path)
	}
	sortTexts(out.Imports)
	return &out, nil
}

// result calls the original; ok is false when it panics.
func (h *Harness[A, R]) result(a *A) (r *R, ok bool) {
	defer func() { ok = recover() == nil }()
	r = new(R)
	h.Variants[0].Eval(a, r)
	return r, true
}

func errorsAsText(results reflect.Value, exprs []string) []string {
	for i := range exprs {
		if f := results.Field(i); f.Type() == errorType {
			exprs[i] = `""`
			if !f.IsNil() {
				exprs[i] = strconv.Quote(reachable(f).Interface().(error).Error())
			}
		}
	}
	return exprs
}
