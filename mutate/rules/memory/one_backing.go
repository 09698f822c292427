package memory

import (
	_ "embed"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate/example"
)

//go:embed one_backing.go
var oneBackingSource string

// oneBacking (catalogue A6) matches a loop that makes one slice for each row, all of one length. It
// makes one slice for all rows in front of the loop, and cuts each row out of it.
var oneBacking = example.Rule{
	Name: "one-backing",
	Doc: "Allocate the rows of a table in one piece and hand out parts of it, each cut off at its end so that " +
		"appending to one cannot reach the next. One allocation instead of one a row. Contents, lengths and " +
		"capacities are the same; only, one row in use keeps all rows alive.",
	Class:  beagle.E2,
	Gain:   1.4,
	Source: oneBackingSource,
	Pairs: []example.Pair{
		{Before: rowByRow[uint8], After: rowsAtOnce[uint8], Given: below1000},
		{Before: countedRows[uint8], After: countedRowsAtOnce[uint8], Given: fewRows, Go: 21},
	},
	Label: func(m *example.Match) string { return "rows of " + m.Pass.Text(m.Expr("rows")) },
}.Mutator()

func below1000(n int) bool  { return n < 1000 }
func fewRows(h, n int) bool { return h < 1000 && n < 1000 }

func rowByRow[T any](rows [][]T, n int, then func(int)) {
	for i := range rows {
		rows[i] = make([]T, n)
		then(i)
	}
}

// rowsAtOnce multiplies only lengths that make accepts: without rows the product is 0.
func rowsAtOnce[T any](rows [][]T, n int, then func(int)) {
	cells := make([]T, len(rows)*n) // all rows in one piece
	for i := range rows {
		rows[i] = cells[i*n : (i+1)*n : (i+1)*n]
		then(i)
	}
}

func countedRows[T any](rows [][]T, h, n int, then func(int)) {
	for i := range h {
		rows[i] = make([]T, n)
		then(i)
	}
}

func countedRowsAtOnce[T any](rows [][]T, h, n int, then func(int)) {
	cells := make([]T, max(h, 0)*n) // all rows in one piece
	for i := range h {
		rows[i] = cells[i*n : (i+1)*n : (i+1)*n]
		then(i)
	}
}
