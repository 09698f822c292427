//go:build linux

package uprobe

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestUnseen: what can't be seen is said, with what can be done instead.
func TestUnseen(t *testing.T) {
	program := build(t)
	stripped := build(t, "-ldflags=-s -w")
	p, s := start(t, program), start(t, stripped)
	open := func(pid int, symbols string) *Binary {
		b, err := Open(pid, symbols)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	b := open(p.Process.Pid, "")
	for name, want := range map[string]string{
		"calls.Small":       "inlined into all its callers, as example.com/service.round",
		"calls.First":       "generic",
		"calls.Nothing":     "no function",
		"runtime.memmove":   "assembly",
		"runtime.main":      "no parameters",
		"nobody.Here.First": "no function",
	} {
		if _, err := b.Find(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want %q", name, err, want)
		}
	}
	if _, err := open(s.Process.Pid, "").Find("calls.Text"); err == nil || !strings.Contains(err.Error(), "no DWARF") ||
		!strings.Contains(fmt.Sprintf("%+v", err), "--symbols") {
		t.Errorf("%+v", err)
	}
	other := build(t, "-gcflags=all=-N -l")
	if _, err := Open(s.Process.Pid, other); err == nil || !strings.Contains(err.Error(), "another program") {
		t.Errorf("another program's types are used: %v", err)
	}
	if _, err := Open(s.Process.Pid, stripped); err == nil || !strings.Contains(err.Error(), "no DWARF either") {
		t.Errorf("%v", err)
	}
	if _, err := Open(1<<30, ""); err == nil || !strings.Contains(err.Error(), "no process") {
		t.Errorf("%v", err)
	}
	found, err := b.Find("calls.Mixed")
	if err != nil || !strings.Contains(strings.Join(found[0].unseen(), ";"), "f: floats in registers") ||
		!strings.Contains(fmt.Sprint(found[0].CheckVisible()), "floating-point registers") {
		t.Errorf("%v", err)
	}
	for _, name := range []string{"calls.Text", "calls.Many", "calls.Set.Merge", "calls.Stack"} {
		found, err := b.Find(name)
		if err != nil || !found[0].Point.Emulated || found[0].Point.Text != "PUSHQ BP" {
			t.Errorf("%s: %+v %v", name, found, err)
		}
	}
	if found, err := b.Find("calls.Sum"); err != nil || found[0].Point.Address < found[0].Low {
		t.Errorf("%+v %v", found, err)
	}
	if all, err := b.Find("example.com/service/calls.*"); err != nil || len(all) < 8 ||
		slices.ContainsFunc(all, func(f *Function) bool { return f.Name == "calls.First" }) {
		t.Errorf("%d functions: %v", len(all), err)
	}
}

// TestEveryFunction: each function of a program, with the standard library's that it links, is
// typed and has a point, or is refused for a reason that is known.
func TestEveryFunction(t *testing.T) {
	p := start(t, build(t))
	b, err := Open(p.Process.Pid, "")
	if err != nil {
		t.Fatal(err)
	}
	all, err := b.declarations("*")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"no parameters", "no call of it is left", "inlined into all", "is generic",
		"no instruction that each call", "makes no sense"}
	good, emulated, stepped := 0, 0, 0
	for _, d := range all {
		f, err := b.function(d)
		switch {
		case err == nil && f.Point.Emulated:
			good, emulated = good+1, emulated+1
		case err == nil:
			good, stepped = good+1, stepped+1
		case !slices.ContainsFunc(known, func(k string) bool { return strings.Contains(err.Error(), k) }):
			t.Errorf("%s: %v", d.symbol, err)
		}
	}
	t.Logf("%d of %d functions, %d of them at an instruction that is emulated", good, len(all), emulated)
	if good < 1000 || stepped > emulated/4 {
		t.Errorf("%d functions: %d at an emulated instruction, %d at another", good, emulated, stepped)
	}
}
