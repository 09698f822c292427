package harness

import (
	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/rt"
)

// WriteRecords writes the arguments and weights of records into a file that a
// request can name.
func WriteRecords(path string, records []beagle.Record) error {
	plain := make([]rt.Record, len(records))
	for i, r := range records {
		plain[i] = rt.Record{Args: r.Args, Weight: r.Weight}
	}
	return rt.WriteRecords(path, plain)
}
