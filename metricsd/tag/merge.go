package tag

import "slices"

// MergeTags returns the tags of both lists, sorted and each once. The lists are
// nearly always sorted and without duplicates already; then this is one walk over
// both. They are not changed, and the result shares nothing with them.
func MergeTags(a, b []string) []string {
	a, b = sortedUnique(a), sortedUnique(b)
	merged := make([]string, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] < b[0]:
			merged, a = append(merged, a[0]), a[1:]
		case a[0] > b[0]:
			merged, b = append(merged, b[0]), b[1:]
		default:
			merged, a, b = append(merged, a[0]), a[1:], b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

func sortedUnique(tags []string) []string {
	for i := 1; i < len(tags); i++ {
		if tags[i-1] >= tags[i] {
			sorted := slices.Clone(tags)
			slices.Sort(sorted)
			return slices.Compact(sorted)
		}
	}
	return tags
}
