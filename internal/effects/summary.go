package effects

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// A Kind says whose memory a [Ref] names.
type Kind uint8

const (
	Invalid Kind = iota // the zero Ref names no memory
	Fresh               // made in the call
	Top                 // the memory that a parameter points at
	Deep                // everything reachable from Top
	Shared              // outlives the call: a package variable, or unknown memory
)

// A Ref names memory as one function sees it.
type Ref struct {
	Kind  Kind
	Param int    // for Top and Deep; a receiver is parameter 0
	Field int    // of the struct that the parameter points at; Whole for all of it
	Name  string // for Shared
	By    string // for a write that only a function without a summary may make: its name
}

// WholeValue is the Field of a Ref that means no single field.
const WholeValue = -1

// A Store is a reference, From, that a function leaves in memory Into, which it did not make.
type Store struct{ Into, From Ref }

// A Run is a call of code that the function received: a function value, or the named method of an
// interface value.
type Run struct {
	Code   Ref
	Method string // "" for a function value
	Arg    Ref    // what the code receives; Invalid when it receives no memory
}

// A Result says where one result may lead.
type Result struct {
	Field int // of a fresh struct that the result points at; Whole otherwise
	Ref   Ref
	Deep  bool // Ref is inside the fresh memory, not the result itself
}

// A Summary lists the possible effects of a call of a function.
type Summary struct {
	Writes  []Ref
	Stores  []Store
	Runs    []Run
	Results [][]Result // for each result
	Panics  []Ref      // where the values of its panics lead; the table has none
}

// String writes a reference in the form of the table: new, p0 for the memory of the first
// parameter, d0 for what lies below it, and *name for shared memory. The table has no writes of
// which only unknown functions are suspected.
func (r Ref) String() string {
	if by := r.By; by != "" {
		r.By = ""
		return r.String() + "@" + by
	}
	field := ""
	if r.Field != WholeValue {
		field = "." + strconv.Itoa(r.Field)
	}
	switch r.Kind {
	case Fresh:
		return "new"
	case Top:
		return "p" + strconv.Itoa(r.Param) + field
	case Deep:
		return "d" + strconv.Itoa(r.Param) + field
	case Shared:
		return "*" + r.Name
	}
	return "-"
}

// parseRef reads what String writes.
func parseRef(s string) (Ref, error) {
	r := Ref{Field: WholeValue}
	switch {
	case s == "new":
		r.Kind = Fresh
		return r, nil
	case s == "-":
		return r, nil
	case strings.HasPrefix(s, "*"):
		r.Kind, r.Name = Shared, s[1:]
		return r, nil
	case strings.HasPrefix(s, "p"):
		r.Kind = Top
	case strings.HasPrefix(s, "d"):
		r.Kind = Deep
	default:
		return r, fmt.Errorf("memory %q: want new, pN, dN or *", s)
	}
	// The number of the parameter comes first, and then the field if there is one.
	param, field, has := strings.Cut(s[1:], ".")
	n, err := strconv.ParseUint(param, 10, 16)
	if err != nil {
		return r, fmt.Errorf("memory %q: the parameter is not a number", s)
	}
	r.Param = int(n)
	if has {
		n, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return r, fmt.Errorf("memory %q: the field is not a number", s)
		}
		r.Field = int(n)
	}
	return r, nil
}

// OnlyReads reports whether a call neither writes to the memory that it receives nor keeps it.
func (s *Summary) OnlyReads() bool { return len(s.Writes) == 0 && len(s.Stores) == 0 }

// String returns the summary in the form of the table: "w:p0 k:d0<p1 c:p1.Write(p0) r:new[p1]".
func (s *Summary) String() string {
	// One word for each effect, with a letter for its kind. Sorted, equal summaries have equal
	// texts.
	var out []string
	for _, w := range s.Writes {
		out = append(out, "w:"+w.String())
	}
	for _, k := range s.Stores {
		out = append(out, "k:"+k.Into.String()+"<"+k.From.String())
	}
	for _, c := range s.Runs {
		out = append(out, "c:"+c.Code.String()+"!"+c.Method+"("+c.Arg.String()+")")
	}
	for i, list := range s.Results {
		for _, r := range list {
			text := "r" + strconv.Itoa(i)
			if r.Deep {
				text += "/"
				if r.Field != WholeValue {
					text += strconv.Itoa(r.Field)
				}
			}
			out = append(out, text+":"+r.Ref.String())
		}
	}
	for _, r := range s.Panics {
		out = append(out, "x:"+r.String())
	}
	inorder.Sort(out)
	return strings.Join(slices.Compact(out), " ")
}

// parseSummary parses the form that String returns.
func parseSummary(words []string) (*Summary, error) {
	s := new(Summary)
	for _, w := range words {
		if err := s.add(w); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// add reads one word of the table's form into the summary.
func (s *Summary) add(word string) error {
	key, rest, ok := strings.Cut(word, ":")
	if !ok || key == "" {
		return fmt.Errorf("effect %q: the colon after its letter is missing", word)
	}
	// Each letter has its own form; refs reads the references in it.
	refs := func(texts ...string) (out []Ref, err error) {
		for _, t := range texts {
			r, err := parseRef(t)
			if err != nil {
				return nil, err
			}
			out = append(out, r)
		}
		return out, nil
	}
	switch key[0] {
	case 'w':
		list, err := refs(rest)
		if err != nil {
			return err
		}
		s.Writes = append(s.Writes, list[0])
	case 'k':
		into, from, _ := strings.Cut(rest, "<")
		list, err := refs(into, from)
		if err != nil {
			return err
		}
		s.Stores = append(s.Stores, Store{list[0], list[1]})
	case 'c':
		code, call, _ := strings.Cut(rest, "!")
		method, arg, _ := strings.Cut(strings.TrimSuffix(call, ")"), "(")
		list, err := refs(code, arg)
		if err != nil {
			return err
		}
		s.Runs = append(s.Runs, Run{list[0], method, list[1]})
	case 'x':
		list, err := refs(rest)
		if err != nil {
			return err
		}
		s.Panics = append(s.Panics, list[0])
	case 'r':
		return s.addResult(word, key[1:], rest)
	default:
		return fmt.Errorf("effect %q: it must begin with w, k, c, r or x", word)
	}
	return nil
}

// maxResults bounds the memory that a damaged table can claim.
const maxResults = 64

// addResult reads a result: its number, a slash if it lies inside of another one, and the
// reference.
func (s *Summary) addResult(word, key, rest string) error {
	index, field, deep := strings.Cut(key, "/")
	n, err := strconv.ParseUint(index, 10, 16)
	if err != nil || n >= maxResults {
		return fmt.Errorf("effect %q: the result is not a number below %d", word, maxResults)
	}
	ref, err := parseRef(rest)
	if err != nil {
		return err
	}
	r := Result{Field: WholeValue, Ref: ref, Deep: deep}
	if field != "" {
		f, err := strconv.ParseUint(field, 10, 16)
		if err != nil {
			return fmt.Errorf("effect %q: the field is not a number", word)
		}
		r.Field = int(f)
	}
	// Results are listed by number, and some may have no effects.
	for len(s.Results) <= int(n) {
		s.Results = append(s.Results, nil)
	}
	s.Results[n] = append(s.Results[n], r)
	return nil
}
