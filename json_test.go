package beagle_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/probe/wire"
	"github.com/beagle-go/beagle/suite"
)

// TestJSONDocumented checks that docs/json.md has a section for every object that
// `beagle evolve`, `verify`, `suite`, `hotspots`, `bench`, `campaign`, `capture` and `ledger` print with
// --json. It has a row with the type, a meaning and an example for every field, and
// none for others.
func TestJSONDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/json.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := sections(string(text))
	objects := map[string]reflect.Type{}
	reach(reflect.TypeFor[beagle.Result](), objects)
	reach(reflect.TypeFor[beagle.Judgement](), objects)
	reach(reflect.TypeFor[wire.Status](), objects)
	reach(reflect.TypeFor[capture.Asked](), objects)
	reach(reflect.TypeFor[beagle.Corpus](), objects)
	reach(reflect.TypeFor[suite.Report](), objects)
	reach(reflect.TypeFor[suite.Task](), objects)
	reach(reflect.TypeFor[beagle.Hotspots](), objects)
	reach(reflect.TypeFor[beagle.HotspotWhy](), objects)
	reach(reflect.TypeFor[beagle.ProductionBenchmark](), objects)
	reach(reflect.TypeFor[beagle.Campaign](), objects)
	reach(reflect.TypeFor[beagle.CampaignAttempt](), objects)
	reach(reflect.TypeFor[ledger.Ledger](), objects)
	for name, typ := range objects {
		rows := documented[name]
		if rows == nil {
			t.Errorf("docs/json.md has no section %q", "### "+name)
		}
		for _, f := range reflect.VisibleFields(typ) {
			checkRow(t, name, f, rows)
		}
		for field := range rows {
			t.Errorf("docs/json.md: %s has no field %q", name, field)
		}
		delete(documented, name)
	}
	for name := range documented {
		t.Errorf("docs/json.md: there is no object %q", name)
	}
}

// checkRow compares a field with its row, and takes the row away.
func checkRow(t *testing.T, object string, f reflect.StructField, rows map[string][]string) {
	t.Helper()
	name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
	row, ok := rows[name]
	delete(rows, name)
	want := shown(f.Type)
	if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
		want += ", optional"
	}
	switch {
	case name == "" || name == "-":
		t.Errorf("%s.%s has no JSON name", object, f.Name)
	case !ok:
		t.Errorf("docs/json.md: %s lacks the row\n| `%s` | %s | meaning | example |", object, name, want)
	case len(row) != 4 || row[2] == "" || row[3] == "":
		t.Errorf("docs/json.md: %s, %s: want a name, a type, a meaning and an example, got %q", object, name, row)
	case row[1] != want:
		t.Errorf("docs/json.md: %s, %s is %q, documented as %q", object, name, want, row[1])
	}
}

// sections are the rows of the tables by heading and first cell.
func sections(text string) map[string]map[string][]string {
	out := map[string]map[string][]string{}
	var rows map[string][]string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "### "); ok {
			rows = map[string][]string{}
			out[name] = rows
		}
		if cell, ok := strings.CutPrefix(line, "| `"); ok && rows != nil {
			name, _, _ := strings.Cut(cell, "`")
			cells := strings.Split(strings.Trim(line, "|"), " | ")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows[name] = cells
		}
	}
	return out
}

// reach collects the structs that a type leads to.
func reach(t reflect.Type, into map[string]reflect.Type) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array, reflect.Map:
		reach(t.Elem(), into)
	case reflect.Struct:
		if into[t.Name()] == nil {
			into[t.Name()] = t
			for _, f := range reflect.VisibleFields(t) {
				reach(f.Type, into)
			}
		}
	}
}

// shown is a type as readers of JSON call it.
func shown(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return shown(t.Elem())
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64"
		}
		return "list of " + shown(t.Elem())
	case reflect.Array:
		return "list of " + shown(t.Elem())
	case reflect.Map:
		return "object of " + shown(t.Elem())
	case reflect.Struct:
		return "[" + t.Name() + "](#" + strings.ToLower(t.Name()) + ")"
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	}
	return "number"
}
