package branches

import (
	"fmt"

	"github.com/beagle-go/beagle/mutate/rules/internal/characters"
)

// A quickRune is a helper that answers for small characters from a table, and asks for others.
type quickRune struct {
	name, table string
	param, typ  string // of the character
	result      string
	slow        string // what it asks for other characters
	of, each    string // the characters that the table holds
	size        int
}

// function declares the helper, except its table.
func (q quickRune) function() string {
	return fmt.Sprintf(`// %[1]s is %[2]s, from a table for %[3]s.
func %[1]s(%[4]s %[5]s) %[6]s {
	if uint64(%[4]s) < %[7]d {
		return %[8]s[uint64(%[4]s)]
	}
	return %[2]s
}`, q.name, q.slow, q.of, q.param, q.typ, q.result, q.size, q.table)
}

// filled declares the table. says names what is asked, and ask asks it for i.
func (q quickRune) filled(says, ask string) string {
	return characters.FilledTable(q.table, "is what "+says+" says of each "+q.each, q.result, q.size, "t[i] = "+ask)
}
