// Package logfields takes the lines of a log apart.
package logfields

import "strings"

// A Field is a name with its value; a word that stands alone has no name.
type Field struct {
	Name, Value string
}

// Split returns the fields of a line, which are separated by spaces. Names are
// lowered, and quotes around values taken off.
func Split(line string) []Field {
	var fields []Field
	for _, part := range strings.Split(line, " ") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		pair := strings.SplitN(part, "=", 2)
		if len(pair) < 2 {
			fields = append(fields, Field{Value: part})
			continue
		}
		fields = append(fields, Field{Name: strings.ToLower(pair[0]), Value: strings.Trim(pair[1], `"`)})
	}
	return fields
}
