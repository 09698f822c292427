// Package edit writes the text of which the edits of several rules consist: statements, operands,
// names, and helpers.
package edit
