package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// Load reads recorded calls from a file of JSON lines (docs/corpus.md). For a fault of the file it
// returns a *beagle.UsageError that names the file, the line and the field.
func Load(u *source.Unit, path string) ([]beagle.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer f.Close()
	return Read(u, f, path)
}

// unreadable returns the error of a file that is missing, or is a directory.
func unreadable(err error) error {
	return &beagle.UsageError{
		What:   "corpus: " + tail.FileError(err),
		Remedy: "name a file of JSON lines; docs/corpus.md has the format",
	}
}

// Read is Load for an open file; name is for messages.
func Read(u *source.Unit, r io.Reader, name string) ([]beagle.Record, error) {
	l := newLoader(u)
	var records []beagle.Record
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, unreadable(err)
		}
		if len(bytes.TrimSpace(line)) > 0 && provenance(line) == nil {
			rec, bad := l.line(line)
			if bad != nil {
				bad.What = fmt.Sprintf("%s:%d: %s", name, n, bad.What)
				return nil, bad
			}
			records = append(records, rec)
		}
		if err != nil {
			break
		}
	}
	if len(records) == 0 {
		return nil, &beagle.UsageError{
			What:   name + ": it holds no record",
			Remedy: "write one call a line: " + l.example(),
		}
	}
	return Merge(records), nil
}

type loader struct {
	shape *rt.Shape
	types func(string) *rt.Shape
	names []string

	results *Results
}

func newLoader(u *source.Unit) *loader {
	l := &loader{}
	l.shape, l.types = ArgsShape(u)
	l.names = recordNames("A", len(l.shape.Fields))
	l.results = ResultsOf(u)
	return l
}

// example returns a record of this target with zero values.
func (l *loader) example() string {
	zero := l.shape.Zero()
	return fmt.Sprintf(`{"args": %s, "weight": 1}`, zero.JSON())
}

// line reads one record.
func (l *loader) line(line []byte) (beagle.Record, *beagle.UsageError) {
	fail := func(format string, args ...any) (beagle.Record, *beagle.UsageError) {
		return beagle.Record{}, &beagle.UsageError{
			What:   fmt.Sprintf(format, args...),
			Remedy: "a record of " + l.shape.Name + " looks like " + l.example(),
		}
	}
	// Read the object and its fields.
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(line, &raw); err != nil {
		return fail("not a JSON object: %v", err)
	}
	for _, key := range inorder.Keys(raw) {
		if !slices.Contains([]string{"args", "weight", "results", "varies"}, key) {
			return fail("field %q is not known", key)
		}
	}
	weight := 1.0
	if w, ok := raw["weight"]; ok {
		if err := json.Unmarshal(w, &weight); err != nil || !(weight > 0) {
			return fail(`field "weight": a number above 0 is wanted, and this is %s`, w)
		}
	}
	if raw["args"] == nil {
		return fail(`field "args" is missing`)
	}
	// Read the arguments by their types.
	v, err := rt.ParseJSON(raw["args"], l.shape, l.types)
	if err != nil {
		where := ""
		if je := (*rt.JSONError)(nil); errors.As(err, &je) {
			where = je.Path
		}
		return fail("field %q: %v", "args"+where, err)
	}
	v.Names = l.names
	r := beagle.Record{Args: v.Append(nil), Weight: weight, Source: "file"}
	// Read the results, if the line has any.
	if text, ok := raw["results"]; ok {
		if r.Results, err = l.results.parse(text); err != nil {
			return fail(`field "results": %v`, err)
		}
	}
	if text, ok := raw["varies"]; ok {
		if err := json.Unmarshal(text, &r.Varies); err != nil {
			return fail(`field "varies": true or false is wanted, and this is %s`, text)
		}
	}
	return r, nil
}

// Write writes records as JSON lines that Load reads.
func Write(w io.Writer, u *source.Unit, records []beagle.Record) error {
	l := newLoader(u)
	out := bufio.NewWriter(w)
	for _, r := range records {
		v, err := rt.ParseValue(r.Args)
		if err != nil || len(v.Elems) != len(l.shape.Fields) {
			return fmt.Errorf("record %s is not one of %s: %v", r.ID(), l.shape.Name, err)
		}
		v.Names = make([]string, len(l.shape.Fields))
		for i, f := range l.shape.Fields {
			v.Names[i] = f.Name
		}
		fmt.Fprintf(out, "{\"args\":%s,\"weight\":%v", v.JSON(), r.Weight)
		if r.Results != nil {
			text, err := l.results.write(r.Results)
			if err != nil {
				return fmt.Errorf("record %s: its results: %w", r.ID(), err)
			}
			fmt.Fprintf(out, ",\"results\":%s", text)
		}
		if r.Varies {
			fmt.Fprint(out, `,"varies":true`)
		}
		fmt.Fprintln(out, "}")
	}
	return out.Flush()
}

// Merge makes one record of equal ones, sums their weights, and sorts by content, so that the order
// in which calls came does not matter. Calls that both a file and a test made count as the file's.
// If the same arguments have several results, it keeps the first in byte order and notes that there
// are others.
func Merge(records []beagle.Record) []beagle.Record {
	// Merge what has the same arguments.
	at := make(map[string]int, len(records))
	var out []beagle.Record
	for _, r := range records {
		i, ok := at[string(r.Args)]
		if !ok {
			at[string(r.Args)] = len(out)
			out = append(out, r)
			continue
		}
		out[i].Weight += r.Weight
		if r.Source == "file" {
			out[i].Source = r.Source
		}
		out[i].Varies = out[i].Varies || r.Varies
		switch was := out[i].Results; {
		case was == nil:
			out[i].Results = r.Results
		case r.Results != nil && !bytes.Equal(was, r.Results):
			out[i].Varies = true
			out[i].Results = slices.MinFunc([][]byte{was, r.Results}, bytes.Compare)
		}
	}
	// Sort by content: an ID is a digest of the arguments.
	ids := make(map[string]string, len(out))
	for _, r := range out {
		ids[string(r.Args)] = r.ID()
	}
	inorder.By(out, func(a, b beagle.Record) int {
		return strings.Compare(ids[string(a.Args)], ids[string(b.Args)])
	})
	return out
}
