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
func (x *exhauster) knots(records int, put func(r int)) {
	// Count for each pair of a number and a sequence in how many records they agree.
	counts := map[knot]int{}
	for r := range records {
		put(r)
		for n, s := range x.slots {
			if !isInteger(s.t) {
				continue
			}
			number, ok := x.peek(n)
			if !ok {
				continue
			}
			// A length of 0 or 1 agrees with many numbers by chance.
			for k, s := range x.slots {
				if !isSequence(s.t) {
					continue
				}
				if f, ok := x.peek(k); ok && f.Len() > 1 && isNumber(number, f.Len()) {
					counts[knot{n, k}]++
				}
			}
		}
	}
	// A number is tied to one sequence at most.
	for n := range x.slots {
		for k := range x.slots {
			if c := counts[knot{n, k}]; c >= tiedLeast && float64(c) >= tiedShare*float64(records) {
				x.tied = append(x.tied, knot{n, k})
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
	for _, t := range x.tied {
		f, ok := x.peek(t.sequence)
		number, there := x.peek(t.number)
		if ok && there && !isNumber(number, f.Len()) && x.setInt(t.number, int64(f.Len())) {
			changed = true
		}
	}
	return changed && x.small()
}

// twice yields a case as it is, and again with its numbers tied.
func (x *exhauster) twice(yield func() bool) func() bool {
	if len(x.tied) == 0 {
		return yield
	}
	return func() bool {
		return yield() && (!x.tie() || yield())
	}
}
