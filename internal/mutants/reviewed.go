package mutants

import (
	_ "embed"
	"strings"
)

//go:embed equivalent.txt
var equivalent string

// Reviewed returns why a text that the judge lets through is none that it
// should stop: someone read it and wrote down the argument in equivalent.txt.
// id is the candidate's; the file holds the beginning of it.
func Reviewed(id string) (why string, ok bool) {
	for line := range strings.Lines(equivalent) {
		prefix, why, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && len(prefix) >= 12 && prefix[0] != '#' && strings.HasPrefix(id, prefix) {
			return strings.TrimSpace(why), true
		}
	}
	return "", false
}
