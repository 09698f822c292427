package exports

import (
	"go/types"
	"strings"
	"testing"
)

func TestImport(t *testing.T) {
	x := New(Listed)
	if x.Has("strings") {
		t.Error("strings is known before anybody asked for it")
	}
	p, err := x.Import("strings")
	if err != nil {
		t.Fatal(err)
	}
	cut, ok := p.Scope().Lookup("Cut").(*types.Func)
	if !ok || cut.Signature().Results().Len() != 3 {
		t.Errorf("strings.Cut is %v", cut)
	}
	if cut.Pos() <= importPos {
		t.Errorf("its position, %d, could be one of the package that is checked", cut.Pos())
	}
	if again, err := x.Import("strings"); again != p || err != nil || !x.Has("strings") {
		t.Errorf("strings is read twice: %v, %v", again, err)
	}
}

func TestMissing(t *testing.T) {
	for name, x := range map[string]*Importer{"nobody to ask": New(nil), "the go command": New(Listed)} {
		if _, err := x.Import("no/such/package"); err == nil || !strings.Contains(err.Error(), "no/such/package") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
	x := New(nil)
	x.Add("example.com/p", "exports_test.go")
	_, err := x.Import("example.com/p")
	if err == nil || !strings.Contains(err.Error(), "export data of example.com/p") {
		t.Errorf("a file that is no export data: %v", err)
	}
}
