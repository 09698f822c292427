package lift

// Redraw draws other inputs for the regions that have a term, and none for the others. The caller
// runs the same program again and reads its output: then [Study.HeldRegions] tells which terms
// still hold.
func (s *Study) Redraw(seed uint64, n int) {
	for i, q := range s.questions {
		n := n
		if q.found == nil {
			n = 0
		}
		var ts []*Type
		for _, in := range q.r.Inputs {
			ts = append(ts, in.Type)
		}
		q.inputs, q.status, q.outs, q.first = draw(seed+uint64(i)<<20, q.words, ts, n), nil, nil, 0
	}
}

// HeldRegions reports for each region with a term, in their order, whether the term
// agrees with it on all inputs that it was run on.
func (s *Study) HeldRegions() (held []bool, of []*Region) {
	// A question has a term only if the search found one for all outputs.
	for _, q := range s.questions {
		if q.found == nil {
			continue
		}
		ok := q.status != nil
		// Without statuses the program did not run on the last inputs, and nothing speaks for the
		// term.
		if ok {
			p := q.pool(s.library(), nil)
			for k, o := range p.outs {
				ok = ok && p.refute(q.found[k], o) < 0
			}
		}
		held, of = append(held, ok), append(of, q.r)
	}
	return held, of
}
