package rt

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func observeWith[A, R any](t *testing.T, eval func(*A, *R), q *Observe, args ...A) *Observation {
	t.Helper()
	h := &Harness[A, R]{Variants: []Variant[A, R]{{ID: "0", Eval: eval}}}
	var records []Record
	for i := range args {
		b, err := Encode(&args[i])
		if err != nil {
			t.Fatal(err)
		}
		records = append(records, Record{b, float64(i + 1)})
	}
	if records != nil {
		q.Records = filepath.Join(t.TempDir(), "records")
		if err := WriteRecords(q.Records, records); err != nil {
			t.Fatal(err)
		}
	}
	out, err := h.observe(q)
	if err != nil {
		t.Fatal(err)
	}
	return out.(*Observation)
}

func TestObserveShares(t *testing.T) {
	type args struct{ A0 string }
	type res struct {
		R0 string
	}
	o := observeWith(t, func(a *args, r *res) {
		if a.A0 == "boom" {
			panic("no")
		}
		r.R0 = strings.ToLower(a.A0)
	}, &Observe{Mine: true}, args{"low"}, args{"UP"}, args{"boom"}, args{"x"})
	if o.Records != 4 || o.Identity != 0.5 || o.Panics != 0.3 || !slices.Equal(o.Panicked, []int{2}) ||
		o.Outcomes != 4 || len(o.Digests) != 32 || o.Unstable != nil || o.Stateful != nil {
		t.Errorf("got %+v", o)
	}
	if slices.Contains(o.Mined.Fixed1, 'A') || !slices.Contains(o.Mined.Fixed1, 'a') ||
		o.Mined.Fixed2['a']['b'/8]>>('b'%8)&1 != 1 || o.Mined.Fixed2['a']['B'/8]>>('B'%8)&1 != 0 {
		t.Errorf("mined %q", o.Mined.Fixed1)
	}
}

func TestObserveMutationAndAliases(t *testing.T) {
	type args struct {
		A0 []int
		A1 []string
		A2 *point
	}
	type res struct {
		R0 []string
		R1 error
	}
	o := observeWith(t, func(a *args, r *res) {
		a.A0[0]++
		a.A2.x = 9
		a.A2.x = 0
		r.R0, r.R1 = a.A1[1:], errors.New("x")
	}, &Observe{}, args{[]int{1}, []string{"a", "b"}, &point{}})
	if !slices.Equal(o.Mutates, []string{"A0"}) || !slices.Equal(o.Aliases, []string{"A1"}) || o.Errors != 1 {
		t.Errorf("got %+v", o)
	}
}

func TestObserveHiddenState(t *testing.T) {
	type args struct{ A0 int }
	type res struct{ R0 int }
	n := 0
	o := observeWith(t, func(a *args, r *res) { n++; r.R0 = n }, &Observe{}, args{1}, args{2})
	if !slices.Equal(o.Unstable, []int{0, 1}) {
		t.Errorf("a counter is not seen: %+v", o)
	}
	last := 0
	o = observeWith(t, func(a *args, r *res) {
		r.R0 = a.A0
		if a.A0 == 1 && last == 2 {
			r.R0 = 0
		}
		last = a.A0
	}, &Observe{}, args{1}, args{2}, args{3})
	if !slices.Equal(o.Stateful, []int{0}) || o.Unstable != nil {
		t.Errorf("memory of other calls is not seen: %+v", o)
	}
}

// TestObserveTied: draws that seldom come out the other way are seen, and told from memory of other
// calls and from draws of very many things.
func TestObserveTied(t *testing.T) {
	type args struct{ A0 int }
	type res struct{ R0 int }
	rng, last := rand.New(rand.NewPCG(1, 2)), 0
	o := observeWith(t, func(a *args, r *res) {
		r.R0 = a.A0
		switch {
		case a.A0 == 1 && rng.IntN(8) == 0:
			r.R0 = -1
		case a.A0 == 2:
			r.R0 = rng.Int()
		case a.A0 == 3 && last == 4:
			r.R0 = -3
		}
		last = a.A0
	}, &Observe{Steady: true}, args{0}, args{1}, args{2}, args{3}, args{4})
	if !slices.Equal(o.Unstable, []int{1, 2}) || !slices.Equal(o.Tied, []int{1}) ||
		!slices.Equal(o.Stateful, []int{3}) {
		t.Errorf("unstable %v, tied %v, stateful %v", o.Unstable, o.Tied, o.Stateful)
	}
}

func TestObserveGenerates(t *testing.T) {
	type args struct {
		A0 []string
		A1 int
	}
	o := observeWith(t, func(*args, *struct{}) { panic("called") }, &Observe{Generate: 500})
	if len(o.Made) < 250 || o.Panics != 0 {
		t.Errorf("made %d", len(o.Made))
	}
	var a args
	if err := Decode(o.Made[len(o.Made)-1], &a, nil); err != nil {
		t.Error(err)
	}
}

// TestObserveAnswers: the original's results are compared with given ones, errors by their text,
// and slices without their capacity. Results that cannot be read are counted.
func TestObserveAnswers(t *testing.T) {
	type args struct{ A0 int }
	type res struct {
		R0 []int
		R1 error
	}
	given := []res{{R0: make([]int, 1, 9)}, {R1: errors.New("one")}, {R1: errors.New("other")}, {}, {}}
	var list []Record
	for i := range given {
		b, err := Encode(&given[i])
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Record{Args: b})
	}
	list[3].Args = []byte{255}
	list[4].Args = nil
	q := &Observe{Answers: filepath.Join(t.TempDir(), "answers")}
	if err := WriteRecords(q.Answers, list); err != nil {
		t.Fatal(err)
	}
	a := observeWith(t, func(a *args, r *res) {
		if *r = (res{}); a.A0 == 0 {
			r.R0 = make([]int, 1, 2)
		} else {
			r.R1 = errors.New("one")
		}
	}, q, args{0}, args{1}, args{2}, args{3}, args{4}).Answers
	if a == nil || a.Compared != 3 || a.Otherwise != 1 || a.Calls != 6 || a.Other != 3 || a.Unread != 1 {
		t.Fatalf("%+v", a)
	}
	if e := a.Example; e == nil || e.Args != "2" || !strings.Contains(e.There, "other") ||
		!strings.Contains(e.Here, "one") {
		t.Errorf("%+v", e)
	}
}
