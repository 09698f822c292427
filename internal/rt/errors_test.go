package rt

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

type lookupError struct {
	Key   string
	At    []int
	Stack []uintptr // addresses differ from build to build
	Owner *lookupError
	Err   error
	hits  int
}

func (e *lookupError) Error() string { return "not found" }
func (e *lookupError) Unwrap() error { return e.Err }

type plainError struct{ Code int }

func (e plainError) Error() string { return "plain" }

// TestErrorFields checks the exported fields of an error, which errors.As reads: they count,
// as far as they are plain data. The rest of an error does not.
func TestErrorFields(t *testing.T) {
	base := func() *lookupError { return &lookupError{Key: "k", At: []int{1}} }
	with := func(change func(*lookupError)) error { e := base(); change(e); return e }
	for name, c := range map[string]struct {
		e    error
		same bool
	}{
		"as it was":          {base(), true},
		"key":                {with(func(e *lookupError) { e.Key = "l" }), false},
		"an element":         {with(func(e *lookupError) { e.At[0] = 2 }), false},
		"nil list":           {with(func(e *lookupError) { e.At = nil }), false},
		"capacity":           {with(func(e *lookupError) { e.At = append(make([]int, 0, 9), 1) }), true},
		"stack":              {with(func(e *lookupError) { e.Stack = []uintptr{7} }), true},
		"unexported":         {with(func(e *lookupError) { e.hits = 7 }), true},
		"pointer":            {with(func(e *lookupError) { e.Owner = base() }), true},
		"wrapped":            {with(func(e *lookupError) { e.Err = errors.New("x") }), false},
		"a field of wrapped": {with(func(e *lookupError) { e.Err = with(func(e *lookupError) { e.Key = "l" }) }), false},
	} {
		want, err := Snapshot(nil, ptr(error(base())))
		if err != nil {
			t.Fatal(err)
		}
		got, err := Snapshot(nil, &c.e)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Equal(got, want) != c.same {
			t.Errorf("%s: same %v, want %v", name, !c.same, c.same)
		}
		if v, err := ParseValue(got); err != nil || !strings.Contains(string(v.JSON()), `"fields":{"Key":`) {
			t.Errorf("%s: %v %s", name, err, v.JSON())
		}
	}
	var one, two error = plainError{1}, plainError{2}
	a, _ := Snapshot(nil, &one)
	b, _ := Snapshot(nil, &two)
	if bytes.Equal(a, b) {
		t.Error("two values of an error's struct look the same")
	}
}

func ptr[T any](v T) *T { return &v }

// TestErrorsShowTheirTypes: people see why two errors with one text differ.
func TestErrorsShowTheirTypes(t *testing.T) {
	type results struct{ R0 error }
	for want, err := range map[string]error{
		`errors.New("plain")`: errors.New("plain"),
		`errors.New("plain") /* rt.plainError */ with {Code: 3}`: plainError{3},
		`errors.New("a: b") /* *fmt.wrapError */`:                fmt.Errorf("a: %w", errors.New("b")),
	} {
		if got := render(&results{err}); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestErrorTypes names the types that a test must tell apart.
func TestErrorTypes(t *testing.T) {
	type results struct {
		R0, R1 error
		R2     int
	}
	a := results{R0: plainError{3}, R1: errors.New("x")}
	got := errorTypes(&a, &results{R0: errors.New("plain"), R1: errors.New("y")})
	if !slices.Equal(got, []string{"rt.plainError", "", ""}) {
		t.Errorf("got %q", got)
	}
}

// TestRoomIsOverwritten: an owner may write beyond the length of a slice too.
func TestRoomIsOverwritten(t *testing.T) {
	a := struct{ A0, A1 []int }{make([]int, 0, 2), []int{1}}
	v := reflect.ValueOf(&a).Elem()
	if got := overwriteAll(v, false); len(got) != 1 || !strings.Contains(got[0], "range arg1 ") {
		t.Errorf("statements %q", got)
	}
	got := overwriteAll(v, true)
	if len(got) != 2 || !strings.Contains(got[0], "range arg0[:cap(arg0)] ") || a.A0[:2][1] != 1 {
		t.Errorf("statements %q leave %v", got, a.A0[:2])
	}
}
