package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/store"
)

var ledgerCommand = &command{
	name: "ledger", args: "",
	short: "list the savings of changes: predicted, and proven in production",
	long: `
Lists each shipped change with its predicted and its proven saving, sums them up by
service, and says how far the predictions were off. Savings are shares of the service's
processor time, with 95 % intervals. The ledger is a file of JSON lines in the store. A
later line with the same ID replaces the earlier one: add a change when it ships, and
again when its experiment ends or when it is reverted. docs/json.md has the fields.

Examples:
  beagle ledger
  beagle ledger --json
  beagle ledger --add change.json     one or more lines; - reads standard input`,
}

func init() { ledgerCommand.run = runLedger }

// runLedger adds changes to the ledger, and prints it.
func runLedger(_ context.Context, c *command, args []string, std stdio) (int, error) {
	f := c.flags(std)
	add := f.String("add", "", "append the lines of this `file` to the ledger; - is standard input")
	asJSON := f.Bool("json", false, "print the ledger as one JSON object")
	if _, err := parse(f, args, 0, 0); err != nil {
		return exitUsage, err
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	// Add before reading, so that the answer counts the new changes.
	path := filepath.Join(s.Dir(), "ledger.jsonl")
	if *add != "" {
		if err := addChanges(path, *add); err != nil {
			return exitNo, err
		}
	}
	l, err := readLedger(path)
	if err != nil {
		return exitNo, err
	}
	if *asJSON {
		e := json.NewEncoder(std.out)
		e.SetIndent("", "  ")
		return exitOK, e.Encode(l)
	}
	return exitOK, printLedger(std.out, l)
}

// addChanges appends the lines of a file, all or none.
func addChanges(path, from string) error {
	data, err := readInput(from)
	if err != nil {
		return err
	}
	// Read all lines before the first one is written.
	changes, err := ledger.Read(bytes.NewReader(data))
	if err != nil {
		return &beagle.UsageError{What: from + ": " + err.Error(), Remedy: "docs/json.md has the fields of a Change"}
	}
	j, err := store.OpenJournal(path)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := j.Append(c); err != nil {
			return errors.Join(err, j.Close())
		}
	}
	return errors.Join(j.Sync(), j.Close())
}

// readInput reads a file, or standard input for "-".
func readInput(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(os.Stdin)
	}
	data, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("--add %s: there is no such file", name),
			Remedy: "give a file of JSON lines, or - for standard input",
		}
	}
	return data, err
}

// readLedger reads the ledger; a missing file is an empty one.
func readLedger(path string) (ledger.Ledger, error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return ledger.Summarise(nil), nil
	}
	if err != nil {
		return ledger.Ledger{}, err
	}
	defer file.Close()
	changes, err := ledger.Read(file)
	if err != nil {
		return ledger.Ledger{}, fmt.Errorf("%s: %w", path, err)
	}
	return ledger.Summarise(changes), nil
}

// printLedger prints the changes, the sums of the services, and the error of the predictions.
func printLedger(out io.Writer, l ledger.Ledger) error {
	if len(l.Changes) == 0 {
		_, err := fmt.Fprintln(out, "The ledger has no changes yet. 'beagle ledger --add FILE' adds them.")
		return err
	}
	// Print a row for each change.
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SHIPPED\tSERVICE\tFUNCTION\tPREDICTED\tPROVEN\tREVERTED")
	for _, c := range l.Changes {
		proven := "not yet"
		if c.Proven != nil {
			proven = savingPercent(*c.Proven)
		}
		reverted := c.Reverted
		if c.Why != "" {
			reverted += ": " + c.Why
		}
		function := c.Function
		if c.Score != "" {
			function += " (by " + c.Score + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", c.Shipped, c.Service, function, savingPercent(c.Predicted),
			proven, reverted)
	}
	// Print the sums of each service.
	fmt.Fprintln(w, "\nSERVICE\tCHANGES\tREVERTED\tPREDICTED CORES\tPROVEN CORES")
	for _, s := range l.Services {
		fmt.Fprintf(w, "%s\t%d\t%d\t%.2f\t%.2f\n", s.Service, s.Changes, s.Reverted, s.Predicted, s.Proven)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	// Print how far predictions were off.
	if e := l.Error; e.Changes > 0 {
		fmt.Fprintf(out,
			"\nPredictions of %d proven changes were off by %.0f %% (median); all proofs together are %+.0f %% of all "+
				"predictions away; %d of %d lie within the predicted interval.\n", e.Changes, 100*e.Median, 100*e.Bias,
			e.Inside, e.Changes)
	}
	return nil
}

func savingPercent(s ledger.Saving) string {
	return fmt.Sprintf("%.2f %% (%.2f to %.2f)", 100*s.Estimate, 100*s.Low, 100*s.High)
}
