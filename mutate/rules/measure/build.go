package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/mutate"
	"github.com/beagle-go/beagle/mutate/rules"
)

//go:embed testdata/pace.go
var pace []byte

// A build is the program of all pairs.
type build struct {
	rules   string // folder of the rules
	dir     string // of the program
	imports strings.Builder
	table   strings.Builder
	cases   map[string]string // rule -> case
	n       int
}

func newBuild(rulesDir string) (*build, error) {
	dir, err := os.MkdirTemp("", "measure")
	if err != nil {
		return nil, err
	}
	b := &build{rules: rulesDir, dir: dir, cases: map[string]string{}}
	differ, err := os.ReadFile(filepath.Join(rulesDir, "testdata/differ/differ.go"))
	if err != nil {
		return nil, fmt.Errorf("%w: run it in the root of the module", err)
	}
	return b, cmp.Or(
		b.put("go.mod", "module golden\n\ngo 1.26\n"),
		b.put("differ/differ.go", string(differ)),
		b.put("differ/pace.go", string(pace)))
}

func (b *build) close() { os.RemoveAll(b.dir) }

func (b *build) put(file, text string) error {
	path := filepath.Join(b.dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o666)
}

// An example is a case of a golden archive.
type example struct {
	name, before, after string
	opts                map[string]string
}

// examples lists the cases of a rule that have an after. Those with the option measure come first.
func (b *build) examples(rule string) ([]example, error) {
	files, err := filepath.Glob(filepath.Join(b.rules, "*", "testdata", rule+".txtar"))
	if err != nil || len(files) != 1 {
		return nil, fmt.Errorf("%s has %d golden archives: run it in the root of the module", rule, len(files))
	}
	ar, err := txtar.ParseFile(files[0])
	if err != nil {
		return nil, err
	}
	// Collect the files of each case, in the order of the archive.
	byName := map[string]*example{}
	var order []string
	for _, f := range ar.Files {
		name, base, _ := strings.Cut(f.Name, "/")
		e := byName[name]
		if e == nil {
			e = &example{name: name, opts: map[string]string{}}
			byName[name] = e
			order = append(order, name)
		}
		switch base {
		case "before.go":
			e.before = string(f.Data)
		case "after.go":
			e.after = string(f.Data)
		case "options":
			for line := range strings.Lines(string(f.Data)) {
				key, val, _ := strings.Cut(strings.TrimSpace(line), " ")
				e.opts[key] = strings.TrimSpace(val)
			}
		}
	}
	// Without an after there is nothing to compare. Put first what the archive marks as an example.
	var out []example
	for _, name := range order {
		if e := byName[name]; e.after != "" {
			out = append(out, *e)
		}
	}
	slices.SortStableFunc(out, func(x, y example) int {
		_, ax := x.opts["measure"]
		_, ay := y.opts["measure"]
		if ax == ay {
			return 0
		} else if ax {
			return -1
		}
		return 1
	})
	return out, nil
}

// add puts the rule's first example that can run into the program, or returns why there is none.
func (b *build) add(rule string) (why string, err error) {
	list, err := b.examples(rule)
	if err != nil {
		return "", err
	}
	why = "its archive has no example that runs"
	for _, e := range list {
		if reason := e.opts["nodiff"]; reason != "" && e.opts["measure"] == "" {
			why = reason
			continue
		}
		old, err1 := newSide(e.before, e.opts)
		now, err2 := newSide(e.after, e.opts)
		if err := cmp.Or(err1, err2); err != nil {
			why = err.Error()
			continue
		}
		oldName, err1 := b.side(old)
		newName, err2 := b.side(now)
		if err := cmp.Or(err1, err2); err != nil {
			return "", err
		}
		b.cases[rule] = e.name
		b.pair(rule, old, now, oldName, newName, e.opts)
		return "", nil
	}
	return why, nil
}

func (b *build) pair(rule string, old, now *side, oldName, newName string, opts map[string]string) {
	var lo, hi int64
	fmt.Sscan(opts["ints"], &lo, &hi)
	longest := 200
	fmt.Sscan(opts["maxlen"], &longest)
	fmt.Sscan(opts["measure"], &longest)
	strs, ints := old.constants()
	more, moreInts := now.constants()
	fmt.Fprintf(&b.table,
		"\t\t{Case: differ.Case{Name: %q, Strings: %#v, Ints: %#v, Lo: %d, Hi: %d, MaxLen: %d},\n"+
			"\t\t\tOld: differ.Side{%s.PaceTarget, %s.PaceAdd, %s.PaceRun}, New: differ.Side{%s.PaceTarget, "+
			"%s.PaceAdd, %s.PaceRun}},\n",
		rule, append(strs, more...), append(ints, moreInts...), lo, hi, longest, oldName, oldName, oldName, newName,
		newName, newName)
}

// side writes one version as a package of its own.
func (b *build) side(s *side) (string, error) {
	name := fmt.Sprintf("p%d", b.n)
	b.n++
	fmt.Fprintf(&b.imports, "\t%q\n", "golden/"+name)
	src := regexp.MustCompile(`(?m)^package \w+`).ReplaceAllString(s.src, "package "+name)
	return name, cmp.Or(b.put(name+"/candidate.go", src), b.put(name+"/pace.go", s.door(name)))
}

// measure links the program several times, runs each result, and combines the layouts.
func (b *build) measure(links, rounds int) (map[string]rules.Measurement, error) {
	main := fmt.Sprintf("package main\n\nimport (\n\t\"golden/differ\"\n%s)\n\nfunc main() {\n"+
		"\tdiffer.Measure([]differ.Pair{\n%s\t}, %d)\n}\n", &b.imports, &b.table, rounds)
	if err := b.put("main.go", main); err != nil {
		return nil, err
	}
	// Run each link, and compare the sides of its cases.
	layouts, whys := map[string][]bench.Estimate{}, map[string]string{}
	for seed := range links {
		paces, err := b.link(seed + 1)
		if err != nil {
			return nil, err
		}
		for _, p := range paces {
			if p.Why != "" {
				whys[p.Name] = p.Why
				continue
			}
			layouts[p.Name] = append(layouts[p.Name], p.estimate())
		}
	}
	// A rule has a measurement if every link gave one, and otherwise the reason.
	out := map[string]rules.Measurement{}
	for name, why := range whys {
		out[name] = rules.Measurement{Why: why, Case: b.cases[name]}
	}
	for name, estimates := range layouts {
		if len(estimates) == links {
			out[name] = rules.Measurement{Ratio: rounded(bench.Combine(estimates).Ratio), Case: b.cases[name]}
		}
	}
	return out, nil
}

// An outcome holds the slices of a case in one link, or why there are none.
type outcome struct {
	Name string
	Wall [2][]int64
	Why  string
}

// estimate compares the old side of a case with the new one. Each round is a slice of both.
func (o outcome) estimate() bench.Estimate {
	return bench.Compare(&rt.Timing{
		Passes:  []int{1, 1},
		Windows: 1,
		Window:  make([]int, len(o.Wall[0])),
		Wall:    o.Wall[:],
		CPU:     make([][]int64, len(o.Wall)),
	}, 0, 1)
}

// link links the examples in a random order and runs them.
func (b *build) link(seed int) ([]outcome, error) {
	cmd := exec.Command("go", "build", "-trimpath", fmt.Sprintf("-ldflags=-randlayout=%d", seed), "-o", "program", ".")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	if text, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the examples do not build: %w\n%s", err, text)
	}
	var stdout, stderr bytes.Buffer
	cmd = exec.Command(filepath.Join(b.dir, "program"))
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the program of the examples: %w\n%s", err, &stderr)
	}
	var out []outcome
	for d := json.NewDecoder(&stdout); d.More(); {
		var p outcome
		if err := d.Decode(&p); err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// A side is one version of an example, type-checked.
type side struct {
	src  string
	opts map[string]string
	pass *mutate.Pass
	sig  *types.Signature
}

func newSide(src string, opts map[string]string) (*side, error) {
	p, err := mutate.Check(src, opts["target"], nil)
	if err != nil {
		return nil, err
	}
	s := &side{src: src, opts: opts, pass: p, sig: p.Info.Defs[p.Func.Name].Type().(*types.Signature)}
	if s.sig.TypeParams() != nil || s.sig.RecvTypeParams() != nil {
		return nil, fmt.Errorf("its example is generic")
	}
	for _, t := range s.params() {
		if mentionsFunc(t) {
			return nil, fmt.Errorf("its example takes a function")
		}
	}
	return s, nil
}

func mentionsFunc(t types.Type) bool {
	switch t := t.Underlying().(type) {
	case *types.Signature, *types.Chan:
		return true
	case *types.Slice:
		return mentionsFunc(t.Elem())
	}
	return false
}

// params lists the types of the arguments, the receiver first.
func (s *side) params() []types.Type {
	var out []types.Type
	if r := s.sig.Recv(); r != nil {
		out = append(out, r.Type())
	}
	for v := range s.sig.Params().Variables() {
		out = append(out, v.Type())
	}
	return out
}

// target returns the function as an expression; a method becomes a method expression.
func (s *side) target() string {
	f := s.pass.Func
	if f.Recv == nil {
		return f.Name.Name
	}
	t := f.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		return "(*" + s.pass.Text(star.X) + ")." + f.Name.Name
	}
	return s.pass.Text(t) + "." + f.Name.Name
}

// door returns the file through which the program reaches an unexported function, and arguments of
// unexported types. PaceAdd takes the arguments of one call. PaceRun makes n calls in plain Go,
// without reflection.
func (s *side) door(pkg string) string {
	// The file stands in the package, so its own types need no import.
	imports := map[string]bool{"reflect": true}
	name := func(t types.Type) string {
		return types.TypeString(t, func(p *types.Package) string {
			if p == s.pass.Pkg {
				return ""
			}
			imports[p.Path()] = true
			return p.Name()
		})
	}
	// Keep each parameter in a field of paceCall.
	var fields, values, args, results, sinks []string
	for i, t := range s.params() {
		fields = append(fields, fmt.Sprintf("\ta%d %s\n", i, name(t)))
		values = append(values, fmt.Sprintf("\tc.a%d, _ = v[%d].Interface().(%s)\n", i, i, name(t)))
		args = append(args, fmt.Sprintf("c.a%d", i))
	}
	// Keep each result in a variable of the package, so that the compiler does not drop the call.
	for v := range s.sig.Results().Variables() {
		sink := fmt.Sprintf("paceSink%d", len(sinks))
		sinks = append(sinks, fmt.Sprintf("var %s %s\n", sink, name(v.Type())))
		results = append(results, sink)
	}
	// Write the call.
	list := strings.Join(args, ", ")
	if s.sig.Variadic() {
		list += "..."
	}
	assign := ""
	if len(results) > 0 {
		assign = strings.Join(results, ", ") + " = "
	}
	// Write the file, with the imports that the types need.
	var paths strings.Builder
	for _, path := range slices.Sorted(maps.Keys(imports)) {
		fmt.Fprintf(&paths, "\t%q\n", path)
	}
	return fmt.Sprintf(`package %s

import (
%s)

var PaceTarget = %s

type paceCall struct {
%s}

var paceCalls []paceCall

%s
func PaceAdd(v []reflect.Value) {
	var c paceCall
%s	paceCalls = append(paceCalls, c)
}

func PaceRun(n int) {
	for at := 0; n > 0; n-- {
		c := &paceCalls[at]
		%s%s(%s)
		if at++; at == len(paceCalls) {
			at = 0
		}
	}
}
`, pkg, &paths, s.target(), strings.Join(fields, ""), strings.Join(sinks, ""), strings.Join(values, ""), assign,
		s.target(), list)
}
