package rt

import "reflect"

// Many functions take a number that is the length of another argument, and leave at once when it
// is not. An input with another sequence and the same number never gets past that test. So each
// case of such a function is tried twice: as it was made, and with the number set to the length.

// A knot ties a number to the length of a sequence, by their slots.
type knot struct{ number, sequence int }

// How often a number must be a length in the records: tests pass wrong ones too.
const (
	tiedShare = 0.3
	tiedLeast = 2
)

// knots finds the numbers that are often the length of a sequence. A pair says something only where
// the lengths differ from record to record, or are more than one. put makes a record the current
// case.
func (a *arguments) knots(records int, put func(r int)) {
	// Count for each pair of a number and a sequence in how many records they agree.
	counts := map[knot]int{}
	for r := range records {
		put(r)
		for n, s := range a.slots {
			if !isInteger(s.t) {
				continue
			}
			number, ok := a.peek(n)
			if !ok {
				continue
			}
			// A length of 0 or 1 agrees with many numbers by chance.
			for k, s := range a.slots {
				if !isSequence(s.t) {
					continue
				}
				if f, ok := a.peek(k); ok && f.Len() > 1 && isNumber(number, f.Len()) {
					counts[knot{n, k}]++
				}
			}
		}
	}
	// A number is tied to one sequence at most.
	for n := range a.slots {
		for k := range a.slots {
			if met := counts[knot{n, k}]; met >= tiedLeast && float64(met) >= tiedShare*float64(records) {
				a.tied = append(a.tied, knot{n, k})
				break
			}
		}
	}
}

func isNumber(v reflect.Value, n int) bool {
	return v.CanInt() && v.Int() == int64(n) || v.CanUint() && v.Uint() == uint64(n)
}

// tie sets the numbers of the current case to the lengths that they go with. It reports whether
// that changed anything.
func (x *exhauster) tie() bool {
	changed := false
	for _, t := range x.args.tied {
		f, ok := x.args.peek(t.sequence)
		number, there := x.args.peek(t.number)
		if ok && there && !isNumber(number, f.Len()) && x.args.setInt(t.number, int64(f.Len())) {
			changed = true
		}
	}
	return changed && x.small()
}

// alsoTied yields a case as it is, and again with its numbers tied.
func (x *exhauster) alsoTied(yield func() bool) func() bool {
	if len(x.args.tied) == 0 {
		return yield
	}
	return func() bool {
		return yield() && (!x.tie() || yield())
	}
}
