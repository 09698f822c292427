package mergetags

import "slices"

// MergeTags merges the lists as if they were sorted, and looks on the way
// whether they are: an element need only be compared with the one before it in
// its own list when that came out just before it. At the first that is out of
// order it starts again and sorts.
func MergeTags(a, b []string) []string {
	merged := make([]string, 0, len(a)+len(b))
	x, y := a, b
	last := "" // of the result
	const (
		none = iota
		fromX
		fromY
	)
	from := none // the list from which the last one came
	for len(x) > 0 && len(y) > 0 {
		switch compare(x[0], y[0]) {
		case -1:
			if from == fromX && last >= x[0] {
				return sortTags(merged, a, b)
			}
			last, from, x = x[0], fromX, x[1:]
		case 1:
			if from == fromY && last >= y[0] {
				return sortTags(merged, a, b)
			}
			last, from, y = y[0], fromY, y[1:]
		default:
			if from != none && last >= x[0] {
				return sortTags(merged, a, b)
			}
			last, from, x, y = x[0], none, x[1:], y[1:]
			merged = append(merged, last)
			if len(x) > 0 && last >= x[0] || len(y) > 0 && last >= y[0] {
				return sortTags(merged, a, b)
			}
			continue
		}
		merged = append(merged, last)
	}
	rest := x
	if len(rest) == 0 {
		rest = y
	}
	for _, tag := range rest {
		if len(merged) > 0 && last >= tag {
			return sortTags(merged, a, b)
		}
		last = tag
		merged = append(merged, tag)
	}
	return merged
}

func compare(a, b string) int {
	if a == b {
		return 0
	}
	if a < b {
		return -1
	}
	return 1
}

// sortTags is the long way. It has the room of merged.
func sortTags(merged, a, b []string) []string {
	merged = append(append(merged[:0], a...), b...)
	slices.Sort(merged)
	return slices.Compact(merged)
}
