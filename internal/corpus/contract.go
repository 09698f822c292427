package corpus

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
)

// FilterByContract leaves out the records that do not keep to the contract of a program.
func FilterByContract(
	ctx context.Context, bin *harness.Binary, box *sandbox.Sandbox, records []beagle.Record,
) ([]beagle.Record, error) {
	s, err := bin.Sift(ctx, box, records)
	if err != nil {
		return nil, err
	}
	var kept []beagle.Record
	for i, r := range records {
		if rt.Has(s.Kept, i) {
			kept = append(kept, r)
		}
	}
	return kept, nil
}

// filterByContract is [FilterByContract] where there is a condition to keep to.
func (m *maker) filterByContract(ctx context.Context, records []beagle.Record) ([]beagle.Record, error) {
	if m.u.Conditions.Requires == nil {
		return records, nil
	}
	return FilterByContract(ctx, m.bin, m.box, records)
}

// ErrViolated marks the error of recorded calls that violate the contract.
var ErrViolated = errors.New("recorded calls violate the contract")

// violated is a usage error that is ErrViolated, too.
type violated struct{ *beagle.UsageError }

func (e violated) Unwrap() []error { return []error{e.UsageError, ErrViolated} }

// recordedKeep refuses recorded calls that violate the contract: such a contract does not describe
// the function's calls.
func (m *maker) recordedKeep(ctx context.Context) error {
	if m.u.Conditions.Requires == nil {
		return nil
	}
	s, err := m.bin.Sift(ctx, m.box, m.all)
	if err != nil || s.Broken == nil {
		return err
	}
	broken := 0
	for i := range m.all {
		if !rt.Has(s.Kept, i) {
			broken++
		}
	}
	t := &m.u.Target
	return violated{&beagle.UsageError{
		What: fmt.Sprintf("%s: %d of %d recorded calls violate the contract %q, the first of them: %s",
			t.Spec(), broken, len(m.all), t.Contract.Requires, callOf(t, s.Broken)),
		Remedy: "callers do make such calls: widen the contract, or leave these calls out of the tests or of the " +
			"file given with --corpus",
	}}
}

// callOf writes a call of the target in Go, cut when it is long.
func callOf(t *beagle.Target, args []string) string {
	for i, a := range args {
		if r := []rune(a); len(r) > 120 {
			args[i] = string(r[:80]) + " ... " + string(r[len(r)-20:])
		}
	}
	name := t.Name
	if t.Recv != "" && len(args) > 0 {
		name, args = "("+args[0]+")"+name[strings.LastIndexByte(name, '.'):], args[1:]
	}
	return name + "(" + strings.Join(args, ", ") + ")"
}
