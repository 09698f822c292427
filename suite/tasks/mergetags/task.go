// Package mergetags joins the tags of a container with those of a metric.
package mergetags

import "sort"

// MergeTags returns the tags of both lists, sorted, each once. The lists are
// left as they are.
func MergeTags(a, b []string) []string {
	merged := append(append([]string{}, a...), b...)
	sort.Strings(merged)
	unique := []string{}
	for i, tag := range merged {
		if i == 0 || tag != merged[i-1] {
			unique = append(unique, tag)
		}
	}
	return unique
}
