package mutants

import (
	_ "embed"
	"strings"
)

//go:embed equivalent.txt
var equivalent string

// Reviewed returns the argument, recorded in equivalent.txt, that a surviving
// mutant is equivalent to its original. The file holds a prefix of the candidate's
// ID.
func Reviewed(id string) (why string, ok bool) {
	for line := range strings.Lines(equivalent) {
		prefix, why, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && len(prefix) >= 12 && prefix[0] != '#' && strings.HasPrefix(id, prefix) {
			return strings.TrimSpace(why), true
		}
	}
	return "", false
}
