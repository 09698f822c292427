package change

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

//go:embed manifest.json
var manifestJSON []byte

// An Entry names one function before and after a performance commit.
type Entry struct {
	Module   string   `json:"module"`
	Before   string   `json:"before"`             // version of the module without the change
	After    string   `json:"after"`              // version with it
	Function string   `json:"function"`           // "./dir.Func" or "./dir.T.Method"; without ./dir in the root
	Commit   string   `json:"commit"`             // in the module's repository
	Licence  string   `json:"licence"`            // SPDX identifier of the module's licence
	Kind     string   `json:"kind"`               // what the commit does, one of kinds
	Note     string   `json:"note"`               // the same in a few words of our own
	Keep     []string `json:"keep,omitempty"`     // what other commits changed, T.M for a method: not cut out
	Requires string   `json:"requires,omitempty"` // contract: condition on the arguments
	Ignore   []string `json:"ignore,omitempty"`   // contract: differences that do not count
	// the contract was written after the strict verdict was known
	Hindsight bool `json:"hindsight,omitempty"`
}

// kinds lists what a performance commit does, in the words of the manifest.
var kinds = []string{
	"algorithm",    // less work for the same answer
	"allocation",   // fewer or smaller allocations
	"bounds check", // an index or a length check that the compiler can drop
	"builder",      // text built in one buffer
	"fast path",    // common inputs leave early
	"inlining",     // small enough for the caller, or in place
	"library",      // another function of the standard library or of a module
	"table",        // a look-up instead of comparisons
	"unrolling",    // several elements a step
	"word",         // several bytes a machine word
}

// Name identifies the entry in tables and messages.
func (e *Entry) Name() string { return e.Module + " " + e.Function }

// HasContract reports whether the entry needs a second verdict, under a contract.
func (e *Entry) HasContract() bool { return e.Requires != "" || len(e.Ignore) > 0 }

// Half returns "development" or "sealed". The judge is tuned on the first half only, so that the
// second measures it on other code. A hash of the names decides.
func (e *Entry) Half() string {
	if beagle.HashOf("commit", e.Module, e.Function)[4] < '8' {
		return "development"
	}
	return "sealed"
}

var (
	versionForm  = regexp.MustCompile(`^v\d+\.\d+\.\d+[\w.+-]*$`)
	commitForm   = regexp.MustCompile(`^[0-9a-f]{10,40}$`)
	functionForm = regexp.MustCompile(`^(\./[\w./-]+\.)?[A-Za-z_]\w*(\.[A-Za-z_]\w*)?$`)
	licenceForm  = regexp.MustCompile(`^[A-Za-z0-9.+-]+$`)
)

// Validate returns the first fault in the entry's form.
func (e *Entry) Validate() error {
	// Check the form of each field.
	for _, field := range []struct {
		name, value string
		form        *regexp.Regexp
	}{
		{"before", e.Before, versionForm},
		{"after", e.After, versionForm},
		{"function", e.Function, functionForm},
		{"commit", e.Commit, commitForm},
		{"licence", e.Licence, licenceForm},
	} {
		if !field.form.MatchString(field.value) {
			return fmt.Errorf("%s: invalid %s %q: want %s", e.Name(), field.name, field.value, field.form)
		}
	}
	// Check what the fields say together.
	switch {
	case !strings.Contains(e.Module, "/"):
		return fmt.Errorf("invalid module %q: want an import path", e.Module)
	case e.Before == e.After:
		return fmt.Errorf("%s: before and after are both %s", e.Name(), e.Before)
	case !slices.Contains(kinds, e.Kind):
		return fmt.Errorf("%s: unknown kind %q: want one of %s", e.Name(), e.Kind, strings.Join(kinds, ", "))
	case slices.ContainsFunc(e.Ignore, func(s string) bool { return !slices.Contains(beagle.Ignorable, s) }):
		return fmt.Errorf("%s: invalid ignore %q: want some of %q", e.Name(), e.Ignore, beagle.Ignorable)
	case e.Hindsight && !e.HasContract():
		return fmt.Errorf("%s: hindsight without a contract: give requires or ignore", e.Name())
	case e.Note == "":
		return fmt.Errorf("%s: note is empty: say what the commit changes", e.Name())
	}
	return nil
}

// ReadManifest parses a manifest and validates its entries.
func ReadManifest(text []byte) ([]Entry, error) {
	var all []Entry
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("manifest: %w", err)
	}
	seen := map[string]bool{}
	for i := range all {
		e := &all[i]
		if err := e.Validate(); err != nil {
			return nil, err
		}
		key := e.Name() + " " + e.Commit
		if seen[key] {
			return nil, fmt.Errorf("%s: listed twice for commit %s", e.Name(), e.Commit)
		}
		seen[key] = true
	}
	return all, nil
}
