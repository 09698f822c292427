package beagle_test

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/audit"
	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/ledger"
	"github.com/beagle-go/beagle/internal/rollout"
	"github.com/beagle-go/beagle/internal/rollout/pilot"
	"github.com/beagle-go/beagle/internal/watch"
	"github.com/beagle-go/beagle/internal/watch/windows"
	"github.com/beagle-go/beagle/probe/wire"
	"github.com/beagle-go/beagle/suite"
)

// TestJSONDocumented checks that docs/json.md has a section for every object that
// `beagle evolve`, `verify`, `suite`, `audit`, `hotspots`, `bench`, `campaign`, `capture`,
// `ledger`, `watch` and `rollout` print with --json, and for those that `rollout judge` reads. It
// has a row with the type, a meaning and an example for every field, and none for others.
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
	reach(reflect.TypeFor[windows.Report](), objects)
	reach(reflect.TypeFor[watch.Turn](), objects)
	reach(reflect.TypeFor[pilot.Report](), objects)
	reach(reflect.TypeFor[pilot.Shadow](), objects)
	reach(reflect.TypeFor[pilot.Rehearsal](), objects)
	reach(reflect.TypeFor[rollout.Plan](), objects)
	reach(reflect.TypeFor[rollout.Block](), objects)
	reach(reflect.TypeFor[audit.Report](), objects)
	for name, typ := range objects {
		rows := documented[name]
		if rows == nil {
			t.Errorf("docs/json.md has no section %q", "### "+name)
		}
		for _, f := range reflect.VisibleFields(typ) {
			if f.IsExported() {
				checkRow(t, name, f, rows)
			}
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
		if t == reflect.TypeFor[time.Time]() {
			return
		}
		if into[objectName(t)] == nil {
			into[objectName(t)] = t
			for _, f := range reflect.VisibleFields(t) {
				reach(f.Type, into)
			}
		}
	}
}

// objectName is the heading of a type. Those of production have their package before them, since
// others have the same names.
func objectName(t reflect.Type) string {
	for path, prefix := range map[string]string{"internal/watch": "Watch", "internal/watch/windows": "Watch",
		"internal/audit":    "Audit",
		"internal/forecast": "Forecast", "internal/rollout": "Rollout", "internal/rollout/pilot": "Rollout"} {
		if strings.HasSuffix(t.PkgPath(), "/"+path) {
			return prefix + t.Name()
		}
	}
	return t.Name()
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
		if t == reflect.TypeFor[time.Time]() {
			return "time"
		}
		return "[" + objectName(t) + "](#" + strings.ToLower(objectName(t)) + ")"
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	}
	return "number"
}
