package rt

import "reflect"

// A stand makes an exhauster's cases: it has the case in the target's own types, and tries it.
type stand[A, R any] struct {
	check *checker[A, R]
	a     A    // the case that is being made
	bases []A  // surroundings of cases; the first is the zero value
	plain bool // a leads to no memory: copying it is enough
}

// load takes surroundings from the records, and has the exhauster learn from them.
func (s *stand[A, R]) load(h *Harness[A, R], x *exhauster) error {
	n := x.q.Bases
	if n == 0 {
		n = 4
	}
	// Surrounding 0 is the zero value. The others are spread over each file, so that they differ.
	s.bases = make([]A, 1)
	for _, path := range x.q.Records {
		list, _, err := LoadArgs[A](path, h.Types)
		if err != nil {
			return err
		}
		for i := range min(n, len(list)) {
			a := list[i*len(list)/min(n, len(list))]
			s.bases = append(s.bases, a)
			x.args.learn(reflect.ValueOf(&a).Elem(), 0)
		}
		// Learn from all records which numbers go with which lengths.
		x.args.knots(len(list), func(r int) { s.a = list[r] })
		s.a = s.bases[0]
	}
	x.args.bases = len(s.bases)
	return nil
}

func (s *stand[A, R]) base(k int) {
	if s.plain {
		s.a = s.bases[k]
	} else {
		cloneTo(&s.a, &s.bases[k])
	}
}

func (s *stand[A, R]) compare(id int) *Diff  { return s.check.compare(id, &s.a) }
func (s *stand[A, R]) original(id int)       { s.check.original(id, &s.a) }
func (s *stand[A, R]) shown(id int) *Diff    { return s.check.diff(id, &s.a, "result", "") }
func (s *stand[A, R]) smaller(d *Diff) *Diff { return s.check.smaller(d) }

func (s *stand[A, R]) keeps() bool { return s.check.h.keeps(&s.a) }

func (s *stand[A, R]) panicked() *thrown { return s.check.p[0] }

func (s *stand[A, R]) snapshot() ([]byte, error) {
	return SnapshotCall(nil, &s.check.a[0], &s.check.r[0])
}
