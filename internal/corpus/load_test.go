package corpus

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

const shapesModule = `
-- go.mod --
module example.com/shapes

go 1.21
-- shapes.go --
package shapes

import (
	"io"
	"net/netip"
	"net/url"
	"sync"
	"time"
)

type Kind uint8

type Point struct{ X, y int }

type Tree struct {
	mu   sync.Mutex
	kids []*Tree
	Name string
}

func All(k Kind, p *Point, t *Tree, m map[string][]float64, a any, r io.Reader, when time.Time, ip netip.Addr, u url.URL, b []byte, err error) int { return 0 }

func Text(s string, n int) string { return s }
`

func shapesUnit(t testing.TB, name string) *source.Unit {
	return load(t, module(t, shapesModule), "."+"/."+name)
}

func TestLoadRoundTrip(t *testing.T) {
	u := shapesUnit(t, "All")
	in := `{"args":{"k":3,"p":{"X":1,"y":2},"t":{"kids":[{"Name":"kid"},null]},"m":{"a":[1,{"$float":"NaN"}],"b":null},"a":{"$type":"example.com/shapes.Point","value":{"X":5}},` +
		`"r":{"$type":"*strings.Reader","value":{"s":"text"}},"when":"2024-05-06T07:08:09Z","ip":"::1","u":{"Host":"example.com"},"b":{"$base64":"/w=="},"err":"bad"},"weight":2.5}` +
		"\n" +
		`{"args":[0,null,null,null,"plain",null,"2024-05-06T07:08:09Z","",{},null,null]}` + "\n\n"
	first := fromJSON(t, u, in)
	if len(first) != 2 {
		t.Fatalf("%d records", len(first))
	}
	var out bytes.Buffer
	if err := Write(&out, u, first); err != nil {
		t.Fatal(err)
	}
	second := fromJSON(t, u, out.String())
	for i := range first {
		if !bytes.Equal(first[i].Args, second[i].Args) || first[i].Weight != second[i].Weight {
			t.Errorf("%s\nreads back differently", out.String())
		}
	}
}

func TestLoadErrors(t *testing.T) {
	u := shapesUnit(t, "Text")
	for _, c := range []struct{ in, want string }{
		{"", "calls.jsonl: it holds no record"},
		{"\n \n", "calls.jsonl: it holds no record"},
		{`{"args":["x",1]}` + "\n" + `{"args":["x"]}`, `calls.jsonl:2: field "args": 1 values are given for the 2 fields s, n`},
		{`{"args":{"s":"x","n":"y"}}`, `calls.jsonl:1: field "args.n": int is wanted, and this is the string "y"`},
		{`{"args":{"s":"x","m":1}}`, `calls.jsonl:1: field "args": Text has no field "m"; its fields are s, n`},
		{`{"arg":{}}`, `calls.jsonl:1: field "arg" is not known`},
		{`{"weight":1}`, `calls.jsonl:1: field "args" is missing`},
		{`{"args":["x",1],"weight":-1}`, `calls.jsonl:1: field "weight": a number above 0 is wanted, and this is -1`},
		{`{"args":["x",1],"weight":"1"}`, `field "weight"`},
		{`{"args":["x",1]`, "calls.jsonl:1: not a JSON object"},
		{`[1]`, "calls.jsonl:1: not a JSON object"},
		{"{\"args\":[\"\xff\",1]}", "is not valid UTF-8"},
		{`{"args":["x",99999999999999999999]}`, `field "args.n": 99999999999999999999 is not a value of type int`},
	} {
		_, err := Read(u, strings.NewReader(c.in), "calls.jsonl")
		var ue *beagle.UsageError
		if !errors.As(err, &ue) || !strings.Contains(ue.What, c.want) || ue.Remedy == "" {
			t.Errorf("%s: got %v, wanted %s", c.in, err, c.want)
		}
	}
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "none")} {
		if _, err := Load(u, path); !errors.As(err, new(*beagle.UsageError)) || !strings.Contains(err.Error(), path) {
			t.Errorf("a directory, or a missing file: %v", err)
		}
	}
}

func TestLoadMerges(t *testing.T) {
	u := shapesUnit(t, "Text")
	a := fromJSON(t, u, "{\"args\":[\"x\",1]}\n{\"args\":[\"y\",1]}\n{\"args\":{\"n\":1,\"s\":\"x\"},\"weight\":3}\n")
	b := fromJSON(t, u, "{\"args\":[\"y\",1]}\n{\"args\":[\"x\",1],\"weight\":4}\n")
	if len(a) != 2 || len(b) != 2 || a[0].ID() != b[0].ID() || a[0].Weight != b[0].Weight ||
		a[1].Weight != b[1].Weight {
		t.Errorf("got %v and %v", a, b)
	}
}

func FuzzRead(f *testing.F) {
	u := shapesUnit(f, "All")
	f.Add(
		`{"args":{"k":3,"p":{"X":1},"m":{"a":[1,{"$float":"NaN"}]},"a":{"$type":"int","value":1},"b":{"$cap":9,"value":"x"}},"weight":2.5}`)
	f.Add(
		`{"args":[0,null,null,{"$map":["k",null]},{"$ptr":1},null,"2024-05-06T07:08:09Z","",{},{"$shared":1,"len":2,"value":[1],"as":{"$slice":1,"at":[0],"len":1,"cap":2}},null]}`)
	f.Fuzz(func(t *testing.T, line string) {
		records, err := Read(u, strings.NewReader(line), "fuzz")
		if err != nil {
			if !errors.As(err, new(*beagle.UsageError)) {
				t.Fatalf("%q: %v", line, err)
			}
			return
		}
		var out bytes.Buffer
		if err := Write(&out, u, records); err != nil {
			t.Fatal(err)
		}
		again, err := Read(u, &out, "again")
		if err != nil || len(again) != len(records) {
			t.Fatalf("%q is written as %q: %v", line, out.String(), err)
		}
	})
}

// TestDocumentedRecords checks that the example of the documentation is read by the loader.
func TestDocumentedRecords(t *testing.T) {
	doc, err := os.ReadFile("../../docs/corpus.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(doc), "```jsonl\n")
	block, _, end := strings.Cut(block, "```")
	if !ok || !end {
		t.Fatal("docs/corpus.md has no example")
	}
	u := load(t,
		module(t,
			"-- go.mod --\nmodule example.com/doc\n\ngo 1.21\n-- doc.go --\npackage doc\n\n"+
				"func Find(names []string, key string, limit int) int { return 0 }\n"), "./.Find")
	if got := fromJSON(t, u, block); len(got) != strings.Count(block, "\n") {
		t.Errorf("%d records of %d lines", len(got), strings.Count(block, "\n"))
	}
}
