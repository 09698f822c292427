package mutants

import (
	"fmt"
	"slices"
	"strings"
)

// Counts returns how many versions each check rejected, for a report: "replay 12, types 3".
func Counts(by map[string]int) string {
	var parts []string
	for check, n := range by {
		parts = append(parts, fmt.Sprintf("%s %d", check, n))
	}
	slices.Sort(parts)
	return strings.Join(parts, ", ")
}
