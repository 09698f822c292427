// Package mergetags joins the tags of a container with those of a metric.
package mergetags

import "sort"

// MergeTags returns the tags of both lists, sorted, each once. The lists are
// left as they are.
func MergeTags(a, b []string) []string {
	merged := make([]string, 0, len(a)+len(b))
	merged = append(merged, a...)
	merged = append(merged, b...)
	sort.Strings(merged)
	unique := merged[:0]
	for _, tag := range merged {
		if len(unique) == 0 || tag != unique[len(unique)-1] {
			unique = append(unique, tag)
		}
	}
	return unique
}
