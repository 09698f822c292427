package rules_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

var update = flag.Bool("update", false, "rewrite the after files of the golden archives")

// A golden archive <subject>/testdata/<rule>.txtar holds cases, one a folder:
//
//	simple/before.go     a whole package that imports only the standard library
//	simple/facets.json   the corpus's facets, if the rule needs them
//	simple/mined         what Facets.Mined would say: lines "start abc" and "rest abc0"
//	simple/bytes         a text whose bytes are those of the corpus's only parameter
//	simple/options       one a line, all optional:
//	                     target F          the target (default: the first function)
//	                     params 4 8        only these parameters (default: all)
//	                     checks 2 -> 0     bounds checks before and after
//	                     checks-go1.27 0 -> 0 the same with one release of Go, if it differs
//	                     ints 0 25         range of generated integer arguments
//	                     maxlen 40         longest generated string or slice
//	                     types int         type arguments for a generic target
//	                     go 1.18           the module's language (default: the newest)
//	                     inputs 500        how many inputs are compared (default 2000)
//	                     nodiff reason     not compared, because ...
//	                     measure 200       the case that mutate/rules/measure times, with inputs
//	                                       of up to that length (default: the first that can run,
//	                                       200)
//	simple/after.go      the rule's result at site 0 with parameter 0; other sites
//	                     and parameters are after.<site>.<label>.go
//	doubt/none           instead of an after: why the rule finds no site
//	doubt/refused        instead of an after: the error of Rewrite
//
// -update rewrites the after files of cases that have neither none nor refused. The test compiles
// every after, and compares it with its before on generated inputs.
type golden struct {
	rule   *mutate.Mutator
	name   string // rule/case
	before string
	facets *beagle.Facets
	mined  string
	bytes  string
	opts   map[string]string
	none   bool
	refuse string
	want   map[string]string
	got    map[string]string // filled by apply
	order  []string
	pass   *mutate.Pass
}

func TestGolden(t *testing.T) {
	seen := map[string]bool{}
	var all []*golden
	for _, m := range rules.All {
		if seen[m.Name] {
			t.Errorf("two rules are called %s", m.Name)
		}
		seen[m.Name] = true
		checkFields(t, m)
		all = append(all, archive(t, m)...)
	}
	// An archive that lies elsewhere, or a second one of a rule, would not run.
	files, _ := filepath.Glob("*/testdata/*.txtar")
	stray, _ := filepath.Glob("testdata/*.txtar")
	for _, f := range append(files, stray...) {
		if name := strings.TrimSuffix(filepath.Base(f), ".txtar"); !seen[name] || archiveOf(name) != f {
			t.Errorf("%s belongs to no rule of All, or is not its archive", f)
		}
	}
	if !t.Failed() {
		differential(t, all)
	}
}

func checkFields(t *testing.T, m *mutate.Mutator) {
	before, after := m.Example()
	if m.Name == "" || m.Doc == "" || before == "" || after == "" || m.Class == "" || m.Gain <= 1 ||
		m.Find == nil || m.Rewrite == nil {
		t.Errorf("%s: a field is missing", m.Name)
	}
}

// archiveOf returns the file of a rule's archive, or a name that no file has.
func archiveOf(rule string) string {
	files, _ := filepath.Glob("*/testdata/" + rule + ".txtar")
	return append(files, rule+".txtar")[0]
}

// archive runs all cases of one rule.
func archive(t *testing.T, m *mutate.Mutator) []*golden {
	file := archiveOf(m.Name)
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Errorf("%s: every rule has a golden archive: %v", m.Name, err)
		return nil
	}
	cases := casesOf(t, m, ar)
	hit, ran := false, false
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t) })
		hit, ran = hit || len(c.got) > 0, ran || c.pass != nil
	}
	if !ran {
		return cases // -run names others
	}
	if !hit && !bytes.HasPrefix(ar.Comment, []byte("Never: ")) { // a reason must follow
		t.Errorf("%s: no case in which the rule rewrites anything", file)
	}
	if *update {
		write(t, file, ar, cases)
	}
	return cases
}

func casesOf(t *testing.T, m *mutate.Mutator, ar *txtar.Archive) []*golden {
	var cases []*golden
	for _, f := range ar.Files {
		dir, base, ok := strings.Cut(f.Name, "/")
		if !ok {
			t.Fatalf("%s: file %s is in no folder", m.Name, f.Name)
		}
		if len(cases) == 0 || cases[len(cases)-1].name != m.Name+"/"+dir {
			cases = append(cases, &golden{
				rule: m,
				name: m.Name + "/" + dir,
				opts: map[string]string{},
				want: map[string]string{},
			})
		}
		c, text := cases[len(cases)-1], string(f.Data)
		switch {
		case base == "before.go":
			c.before = text
		case base == "facets.json":
			c.facets = new(beagle.Facets)
			d := json.NewDecoder(strings.NewReader(text))
			d.DisallowUnknownFields()
			if err := d.Decode(c.facets); err != nil {
				t.Fatalf("%s: facets.json: %v", c.name, err)
			}
		case base == "mined":
			c.mined = text
		case base == "bytes":
			c.bytes = strings.TrimSuffix(text, "\n")
		case base == "options":
			for line := range strings.Lines(text) {
				key, val, _ := strings.Cut(strings.TrimSpace(line), " ")
				c.opts[key] = strings.TrimSpace(val)
			}
		case base == "none":
			c.none = true
		case base == "refused":
			c.refuse = strings.TrimSpace(text)
		case strings.HasPrefix(base, "after"):
			c.want[base] = text
		default:
			t.Fatalf("%s: what is %s?", c.name, base)
		}
	}
	return cases
}

// check applies the rule at all sites and compares the results with the archive.
func (c *golden) check(t *testing.T) {
	if c.mined != "" {
		c.facets.Mined = minedOf(c.mined)
	}
	if c.bytes != "" {
		shares := make([]float64, 256)
		for i := range len(c.bytes) {
			shares[c.bytes[i]] += 1 / float64(len(c.bytes))
		}
		c.facets.Params = []beagle.ParamFacet{{Bytes: shares}}
	}
	p, err := mutate.Check(c.before, c.opts["target"], c.facets)
	if err != nil {
		t.Fatalf("before.go: %v", err)
	}
	c.pass = p
	if v := c.opts["go"]; v != "" {
		p.Target = &beagle.Target{Go: v}
	}
	sites := c.rule.Find(p)
	if c.none {
		if len(sites) > 0 {
			t.Errorf("found %q, want no site", sites[0].Label)
		}
		return
	}
	if len(sites) == 0 {
		t.Fatal("found no site")
	}
	c.got = map[string]string{}
	for i, s := range sites {
		c.site(t, i, s)
	}
	if *update || c.refuse != "" {
		return
	}
	for name, want := range c.want {
		if got := c.got[name]; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	for _, name := range c.order {
		if _, ok := c.want[name]; !ok {
			t.Errorf("the archive has no %s (run with -update):\n%s", name, c.got[name])
		}
	}
}

// minedOf returns the fixed points of a function that keeps the start bytes in front and the rest
// bytes after them.
func minedOf(text string) *beagle.Mined {
	var start, rest string
	for line := range strings.Lines(text) {
		if key, val, _ := strings.Cut(strings.TrimSpace(line), " "); key == "start" {
			start = val
		} else {
			rest = val
		}
	}
	m := &beagle.Mined{Fixed1: []byte(start), Fixed2: make([][]byte, 256)}
	for a := range m.Fixed2 {
		m.Fixed2[a] = make([]byte, 32)
		for _, b := range []byte(rest) {
			if strings.IndexByte(start, byte(a)) >= 0 {
				m.Fixed2[a][b/8] |= 1 << (b % 8)
			}
		}
	}
	return m
}

// taken returns a step's result as users see it.
func taken(p *mutate.Pass, m *mutate.Mutator, site, param int) (string, beagle.Step, error) {
	text, step, err := mutate.Take(p, m, site, param)
	if err != nil {
		return "", step, err
	}
	formatted, err := format.Source([]byte(text.Src))
	return string(formatted), step, err
}

func (c *golden) site(t *testing.T, i int, s mutate.Site) {
	params := []mutate.Param{{}}
	if c.rule.Params != nil {
		params = c.rule.Params(c.pass, s)
	}
	for j, param := range params {
		if only := c.opts["params"]; only != "" &&
			!slices.Contains(strings.Fields(only), strings.ReplaceAll(param.Label, " ", "-")) {
			continue
		}
		src, _, err := taken(c.pass, c.rule, i, j)
		if c.refuse != "" {
			if err == nil || !strings.Contains(err.Error(), c.refuse) {
				t.Errorf("site %d %s: got error %v, want %q", i, param.Label, err, c.refuse)
			}
			continue
		}
		if err != nil {
			t.Errorf("site %d (%s) param %s: %v", i, s.Label, param.Label, err)
			continue
		}
		name := "after.go"
		if len(c.order) > 0 {
			name = "after." + strconv.Itoa(i) + "." + strings.ReplaceAll(param.Label, " ", "-") + ".go"
		}
		if _, err := mutate.Check(src, c.opts["target"], c.facets); err != nil {
			t.Errorf("%s does not type-check: %v\n%s", name, err, src)
			continue
		}
		c.got[name] = src
		c.order = append(c.order, name)
	}
}

// write puts the rule's results into the archive, after the other files of their case.
func write(t *testing.T, file string, ar *txtar.Archive, cases []*golden) {
	out := &txtar.Archive{Comment: ar.Comment}
	for i, f := range ar.Files {
		dir, base, _ := strings.Cut(f.Name, "/")
		if !strings.HasPrefix(base, "after") {
			out.Files = append(out.Files, f)
		}
		if i+1 < len(ar.Files) && strings.HasPrefix(ar.Files[i+1].Name, dir+"/") {
			continue
		}
		for _, c := range cases {
			if !strings.HasSuffix(c.name, "/"+dir) {
				continue
			}
			for _, name := range c.order {
				out.Files = append(out.Files, txtar.File{Name: dir + "/" + name, Data: []byte(c.got[name])})
			}
		}
	}
	if data := txtar.Format(out); !bytes.Equal(data, txtar.Format(ar)) {
		if err := os.WriteFile(file, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// constants collects the literals of a source; inputs near them are the most telling.
func constants(p *mutate.Pass) (strs []string, ints []int64) {
	seen := map[string]bool{}
	for _, lit := range mutate.Nodes[*ast.BasicLit](p, nil) {
		if seen[lit.Value] || len(seen) > 40 {
			continue
		}
		seen[lit.Value] = true
		switch lit.Kind {
		case token.STRING:
			if s, err := strconv.Unquote(lit.Value); err == nil && s != "" && len(s) < 20 {
				strs = append(strs, s)
			}
		case token.CHAR:
			if r, _, _, err := strconv.UnquoteChar(lit.Value[1:], '\''); err == nil {
				strs = append(strs, string(r))
			}
		case token.INT:
			if n, err := strconv.ParseInt(lit.Value, 0, 64); err == nil {
				ints = append(ints, n)
			}
		}
	}
	return strs, ints
}

func ExampleNamed() {
	fmt.Println(rules.Named("no-such-rule"))
	// Output: <nil>
}
