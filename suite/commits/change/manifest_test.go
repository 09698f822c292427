package change

import (
	"strings"
	"testing"
)

// TestManifest checks the manifest's form, without a network.
func TestManifest(t *testing.T) {
	all, err := ReadManifest(manifestJSON)
	if err != nil {
		t.Fatal(err)
	}
	halves := map[string]int{}
	for _, e := range all {
		halves[e.Half()]++
	}
	if len(all) < 40 || halves["development"] < 12 || halves["sealed"] < 12 {
		t.Errorf("%d entries in halves %v: want at least 40, and 12 in each half", len(all), halves)
	}
}

// TestValidate checks that each fault of an entry is named.
func TestValidate(t *testing.T) {
	good := Entry{Module: "example.com/m", Before: "v1.0.0", After: "v1.1.0", Function: "./dir.T.F",
		Commit: "0123456789", Licence: "MIT", Kind: "table", Note: "a table"}
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(e *Entry){
		"invalid module":         func(e *Entry) { e.Module = "m" },
		"invalid before":         func(e *Entry) { e.Before = "1.0" },
		"before and after":       func(e *Entry) { e.After = e.Before },
		"invalid function":       func(e *Entry) { e.Function = "dir/F" },
		"invalid commit":         func(e *Entry) { e.Commit = "main" },
		"invalid licence":        func(e *Entry) { e.Licence = "" },
		"unknown kind \"magic\"": func(e *Entry) { e.Kind = "magic" },
		"invalid ignore":         func(e *Entry) { e.Ignore = []string{"everything"} },
		"hindsight without":      func(e *Entry) { e.Hindsight = true },
		"note is empty":          func(e *Entry) { e.Note = "" },
	} {
		e := good
		spoil(&e)
		if err := e.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for in, want := range map[string][2]string{
		"F":              {".", "F"},
		"T.F":            {".", "T.F"},
		"./a.F":          {"./a", "F"},
		"./a/b-c.T.Func": {"./a/b-c", "T.Func"},
	} {
		if pkg, name := split(in); pkg != want[0] || name != want[1] {
			t.Errorf("split(%q) = %q, %q, want %q", in, pkg, name, want)
		}
	}
}
