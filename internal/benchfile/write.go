package benchfile

import (
	"cmp"
	"fmt"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
)

const (
	schedule  = 8192     // calls until the benchmark repeats itself, at least
	coldBytes = 64 << 20 // of copies of the inputs: more than a core's share of any cache
	callBytes = 128      // of a copy beside its texts and lists
)

// A Form lists the parts of a file beside the benchmark.
type Form struct {
	// Fast has the program take profiles at a high rate, and some numbers from its environment.
	// It is for Beagle, not for people.
	Fast bool
	// Apart adds a benchmark of each group alone. It makes the file twice as long.
	Apart bool
}

// Benchmarks are the names of the functions that the file declares for people.
func (p *Plan) Benchmarks() []string {
	names := []string{"Benchmark" + p.name() + "Replay"}
	if len(p.Extremes) > 0 {
		names = append(names, "Benchmark"+p.name()+"Extremes")
	}
	return names
}

// Path returns the default place of the file: beside the target.
func (p *Plan) Path() string {
	return filepath.Join(p.Unit.Target.PkgDir, source.Snake(p.name())+"_replay_test.go")
}

// NameTaken reports whether another test file of the package declares one of the benchmark's names.
func (p *Plan) NameTaken(file string) (string, bool) {
	files, _ := filepath.Glob(filepath.Join(p.Unit.Target.PkgDir, "*_test.go"))
	used := regexp.MustCompile(`(?m)^(?:func|type) (` + strings.Join(append(p.Benchmarks(), p.lower()+"Call",
		p.lower()+"Calls"), "|") + `)\b`)
	for _, f := range files {
		if same, _ := filepath.Abs(file); same == f || f == file {
			continue
		}
		if text, err := os.ReadFile(f); err == nil {
			if m := used.FindSubmatch(text); m != nil {
				return fmt.Sprintf("%s declares %s", f, m[1]), true
			}
		}
	}
	return "", false
}

// File writes the benchmark. It is the same text for the same plan.
func (p *Plan) File(form Form) (string, error) { return p.finish(p.body(form)) }

// body writes the declarations of the file. Forms that differ in numbers alone have the same
// program for Beagle.
func (p *Plan) body(form Form) string {
	if form.Fast {
		p = p.general()
	}
	var b strings.Builder
	p.writeCallType(&b)
	p.writeCalls(&b)
	if p.Handed {
		p.writeHanded(&b)
	}
	if p.Pause > 0 {
		p.writePause(&b)
	}
	p.writeGiven(&b)
	p.writeBenchmark(&b)
	p.writeExtremes(&b)
	if form.Fast {
		b.WriteString("func init() { runtime.SetCPUProfileRate(1000) }\n\n")
		p.writeVariables(&b)
	}
	if form.Apart {
		p.writeApart(&b)
	}
	return b.String()
}

// finish adds the package clause and imports, and checks the types.
func (p *Plan) finish(body string) (string, error) {
	imports, err := p.Unit.Reader.TestImports(body)
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Unit.Target.Spec(), err)
	}
	text, err := format.Source([]byte(fmt.Sprintf("package %s\n\n%s\n%s", p.Unit.Target.PkgName, imports, body)))
	if err != nil {
		return "", fmt.Errorf("%s: %w", p.Unit.Target.Spec(), err)
	}
	if err := p.Unit.Package.CheckTest(p.Path(), string(text)); err != nil {
		remedy := "benchmark a function that takes plain values; beagle evolve works on this one all the same"
		if len(p.Given) > 0 {
			remedy = "mend the expressions of --give: they stand in a test file of package " + p.Unit.Target.PkgPath
		}
		return "", &beagle.UsageError{
			What:   fmt.Sprintf("%s: its inputs cannot be written in Go: %v", p.Unit.Target.Spec(), err),
			Remedy: remedy,
		}
	}
	return string(text), nil
}

// valueType returns the type of a parameter's value: a variadic parameter is a slice. Function
// types may be variadic within.
func valueType(param string) string {
	if elem, ok := strings.CutPrefix(param, "..."); ok {
		return "[]" + elem
	}
	return param
}

// writeCallType declares a call with its arguments.
func (p *Plan) writeCallType(b *strings.Builder) {
	fmt.Fprintf(b, "// %sCall is a recorded call of %s.\ntype %sCall struct {\n", p.lower(),
		p.Unit.Target.Name, p.lower())
	b.WriteString("\ttimes int // how often the benchmark makes it before it repeats itself\n")
	for _, i := range p.recorded() {
		fmt.Fprintf(b, "\targ%d %s\n", i, valueType(p.Unit.Target.Params[i].Type))
	}
	b.WriteString("}\n\n")
}

// writeCalls declares the function that makes the calls in a fixed, shuffled order.
func (p *Plan) writeCalls(b *strings.Builder) {
	parts := p.inputs(p.times())
	all := ""
	if len(parts) == 1 {
		all = parts[0].setup + fmt.Sprintf("\tall := []%sCall{\n%s\t}\n", p.lower(), parts[0].body)
	} else {
		all = p.writeParts(b, parts)
	}
	comment(b, fmt.Sprintf("%sCalls returns recorded calls of %s, as often as they were made, in a fixed order. "+
		"They are %s. A recording keeps no order, so it is a shuffle.", p.lower(), p.Unit.Target.Name, p.Rule))
	fmt.Fprintf(b, "func %sCalls() []*%sCall {\n", p.lower(), p.lower())
	fmt.Fprintf(b, "%s\tvar calls []*%sCall\n", all, p.lower())
	if p.Places > 1 && len(p.Far) == 0 {
		p.writePlaces(b)
	} else {
		b.WriteString("\tfor i := range all {\n\t\tfor n := 0; n < all[i].times; n++ {\n" +
			"\t\t\tcalls = append(calls, &all[i])\n\t\t}\n\t}\n")
	}
	if len(p.Far) > 0 {
		p.writeCopies(b)
	}
	b.WriteString("\tseed := uint64(1)\n\tfor i := len(calls) - 1; i > 0; i-- {\n" +
		"\t\tseed = seed*6364136223846793005 + 1442695040888963407\n\t\tj := int(seed>>33) % (i + 1)\n" +
		"\t\tcalls[i], calls[j] = calls[j], calls[i]\n\t}\n\treturn calls\n}\n\n")
}

// An inputPart is the text of some inputs.
type inputPart struct{ setup, body string }

// mostInputs bounds the inputs that one function of the file makes: the compiler takes minutes for
// a function with thousands of them.
const mostInputs = 256

// writeParts declares a function for each part of the inputs, and returns the statements that call
// them.
func (p *Plan) writeParts(b *strings.Builder, parts []inputPart) (all string) {
	all = fmt.Sprintf("\tvar all []%sCall\n", p.lower())
	for k, part := range parts {
		fmt.Fprintf(b, "func %[1]sInputs%[2]d() []%[1]sCall {\n%[3]s\treturn []%[1]sCall{\n%[4]s\t}\n}\n\n",
			p.lower(), k, part.setup, part.body)
		all += fmt.Sprintf("\tall = append(all, %sInputs%d()...)\n", p.lower(), k)
	}
	return all
}

// writePlaces gives each input several places in memory, which its calls take in turn.
func (p *Plan) writePlaces(b *strings.Builder) {
	fmt.Fprintf(b, "\t// More inputs follow until they repeat: each has up to %[1]d places in memory, in turn.\n"+
		"\tfor i := range all {\n\t\tplaces := []*%[2]sCall{&all[i]}\n"+
		"\t\tfor n := 0; n < all[i].times; n++ {\n\t\t\tif c := &all[i]; n > 0 && n < %[1]d {\n"+
		"\t\t\t\tplaces = append(places, &%[2]sCall{%[3]s})\n\t\t\t}\n"+
		"\t\t\tcalls = append(calls, places[n%%len(places)])\n\t\t}\n\t}\n", p.Places, p.lower(), p.copies(p.movable()))
}

// writeCopies gives far parameters memory of their own in each call, until it is as much as their
// distance. In the order of the calls, that memory lies in no pattern.
func (p *Plan) writeCopies(b *strings.Builder) {
	fmt.Fprintf(b, "\t// Production finds %s %s away: each call has a copy of its own.\n", p.farNames(), p.away())
	fmt.Fprintf(b, "\tonce := len(calls)\n\tfor room := 0; room < %s; {\n\t\tfor _, c := range calls[:once] {\n"+
		"\t\t\tc := &%sCall{%s}\n\t\t\tcalls = append(calls, c)\n\t\t\troom += %d", p.number(roomName, p.Distance),
		p.lower(), p.copies(p.Far), callBytes)
	for _, i := range p.Far {
		fmt.Fprintf(b, " + len(c.arg%d)", i)
	}
	b.WriteString("\n\t\t}\n\t}\n\tcalls = calls[once:]\n")
}

// copies lists the fields of a copy of c. These parameters have memory of their own in it.
func (p *Plan) copies(which []int) string {
	list := []string{"times: 1"}
	for _, i := range p.recorded() {
		if slices.Contains(which, i) {
			list = append(list, fmt.Sprintf("arg%d: "+copied(p.Unit.Target.Params[i].Type), i, i))
			continue
		}
		list = append(list, fmt.Sprintf("arg%d: c.arg%d", i, i))
	}
	return strings.Join(list, ", ")
}

// copied returns how to copy a value of a type to memory of its own; "" if it is not copied.
func copied(typ string) string {
	switch typ = valueType(typ); {
	case typ == "string":
		return "strings.Clone(c.arg%d)"
	case flat(typ):
		return "append(" + typ + "{}, c.arg%d...)"
	}
	return ""
}

// varies reports whether a parameter has other values from call to call. One that hardly has, such
// as a host's name, lies at one place in production, too: copies of an input share it.
func (p *Plan) varies(i int) bool {
	const least = 1.0 / 16
	f := p.Corpus.Facets
	return i >= len(f.Params) || float64(f.Params[i].Distinct) >= least*float64(f.Records)
}

// movable lists the parameters whose values can be copied to memory of their own.
func (p *Plan) movable() (list []int) {
	for _, i := range p.recorded() {
		if copied(p.Unit.Target.Params[i].Type) != "" && p.varies(i) {
			list = append(list, i)
		}
	}
	return list
}

// times returns how often each input of each group is called.
func (p *Plan) times() [][]int {
	var shares []float64
	for _, g := range p.Groups {
		for _, in := range g.Inputs {
			shares = append(shares, g.Weight*in.Share)
		}
	}
	counts := apportion(shares, max(schedule, 2*len(shares)*max(p.Places, 1)), 1)
	out := make([][]int, len(p.Groups))
	for i, g := range p.Groups {
		out[i], counts = counts[:len(g.Inputs)], counts[len(g.Inputs):]
		if g.Weight == 0 { // Fit found no place for the group
			out[i] = make([]int, len(g.Inputs))
		}
	}
	return out
}

// inputs lists the calls, under a comment for each group. Statements that they need come first.
func (p *Plan) inputs(times [][]int) (parts []inputPart) {
	var s, b strings.Builder
	n := 0
	for i, g := range p.Groups {
		comment(&b, fmt.Sprintf("%s: %s of the calls, %d of %d inputs%s", g.Name, percent(g.Share), len(g.Inputs),
			g.Distinct, changed(g)))
		for k, in := range g.Inputs {
			if n++; n > mostInputs {
				parts = append(parts, inputPart{s.String(), b.String()})
				s.Reset()
				b.Reset()
				n = 1
			}
			lines, exprs := ownMemory(in, fmt.Sprintf("g%dn%d", i, k))
			s.WriteString(lines)
			fmt.Fprintf(&b, "\t\t{%d, %s},\n", times[i][k], exprs)
		}
	}
	return append(parts, inputPart{s.String(), b.String()})
}

var sharedName = regexp.MustCompile(`\bm([0-9]+)\b`)

// ownMemory gives the shared memory of an input names that no other input uses.
func ownMemory(in Input, prefix string) (setup, exprs string) {
	exprs = strings.Join(in.lit.Exprs, ", ")
	if len(in.lit.Setup) == 0 {
		return "", exprs
	}
	rename := func(text string) string { return sharedName.ReplaceAllString(text, prefix+"m$1") }
	for _, line := range in.lit.Setup {
		setup += "\t" + rename(line) + "\n"
	}
	return setup, rename(exprs)
}

func changed(g Group) string {
	if g.Weight == g.Share {
		return ""
	}
	return fmt.Sprintf("; called for %s, which makes the profile like production's", percent(g.Weight))
}

func (p *Plan) writeBenchmark(b *strings.Builder) {
	t := &p.Unit.Target
	comment(b, fmt.Sprintf("Benchmark%sReplay calls %s as it was recorded: %s distinct inputs of %s recorded calls%s. "+
		"beagle bench wrote it. It needs the standard library alone: keep it, change it.%s", p.name(), t.Name,
		beagle.Thousands(p.Inputs()), beagle.Thousands(int(p.Corpus.Calls)), p.origins(), p.noted()))
	fmt.Fprintf(b, "func Benchmark%sReplay(b *testing.B) {\n\tcalls := %sCalls()\n%s\ti := 0\n\tfor b.Loop() {\n"+
		"\t\tc := calls[i]\n%s%s\t\tif i++; i == len(calls) {\n\t\t\ti = 0\n\t\t}\n\t}\n}\n\n", p.name(), p.lower(),
		p.buffers(), p.setupText(), p.call())
}

// noted lists the notes that a reader of the file needs.
func (p *Plan) noted() string {
	text := ""
	for _, n := range p.Notes {
		text += " Note: " + n + "."
	}
	return text
}

func (p *Plan) origins() string {
	if len(p.Corpus.Sources) == 0 {
		return ""
	}
	return " (" + strings.Join(p.Corpus.Sources, "; ") + ")"
}

// mutated lists the parameters that the call changes, by index. No run showed which ones these are
// where parameters are given: then all may be.
func (p *Plan) mutated() (list []int) {
	for _, i := range p.recorded() {
		q := p.Unit.Target.Params[i]
		if flat(q.Type) && (len(p.Given) > 0 || slices.Contains(p.Corpus.Facets.Mutates, q.Name)) {
			list = append(list, i)
		}
	}
	return list
}

// buffers declares the values that all calls share, and where arguments are copied that the call
// changes.
func (p *Plan) buffers() string {
	var b strings.Builder
	b.WriteString(p.givenText())
	for _, i := range p.mutated() {
		fmt.Fprintf(&b, "\tvar buf%d %s\n", i, valueType(p.Unit.Target.Params[i].Type))
	}
	return b.String()
}

// call returns the statement that calls the target with the fields of c.
func (p *Plan) call() string {
	t := &p.Unit.Target
	var b strings.Builder
	args := make([]string, len(t.Params))
	for i := range args {
		args[i] = fmt.Sprintf("c.arg%d", i)
		if p.given(i) != "" {
			args[i] = fmt.Sprintf("given%d", i)
		}
	}
	changes := "changes"
	if len(p.Given) > 0 {
		changes = "may change"
	}
	for _, i := range p.mutated() {
		fmt.Fprintf(&b, "\t\tbuf%d = append(buf%d[:0], c.arg%d...) // %s %s it: the copy is timed too\n",
			i, i, i, t.Name, changes)
		args[i] = fmt.Sprintf("buf%d", i)
	}
	name := t.Name
	if t.Recv != "" {
		name, args = args[0]+"."+name[strings.LastIndexByte(name, '.')+1:], args[1:]
	} else if len(t.TypeArgs) > 0 {
		name += "[" + strings.Join(t.TypeArgs, ", ") + "]"
	}
	text := strings.Join(args, ", ")
	if t.Variadic {
		text += "..."
	}
	fmt.Fprintf(&b, "\t\t%s(%s)\n", name, text)
	return b.String()
}

func (p *Plan) writeExtremes(b *strings.Builder) {
	if len(p.Extremes) == 0 {
		return
	}
	var s, list strings.Builder
	for k, x := range p.Extremes {
		lines, exprs := ownMemory(x.Input, fmt.Sprintf("x%d", k))
		s.WriteString(lines)
		fmt.Fprintf(&list, "\t\t{%q, %sCall{1, %s}},\n", x.Name, p.lower(), exprs)
	}
	comment(b, fmt.Sprintf("Benchmark%sExtremes times single inputs that the mean hides.", p.name()))
	fmt.Fprintf(b, "func Benchmark%sExtremes(b *testing.B) {\n%s\tlist := []struct {\n\t\tname string\n"+
		"\t\tcall %sCall\n"+
		"\t}{\n%s\t}\n\tfor i := range list {\n\t\tb.Run(list[i].name, func(b *testing.B) {\n"+
		"\t\t\tc := &list[i].call\n%s"+
		"\t\t\tfor b.Loop() {\n%s\t\t\t}\n\t\t})\n\t}\n}\n\n",
		p.name(), s.String(), p.lower(), list.String(), p.buffers(), p.call())
}

// writeApart adds a benchmark of each group alone, in the state of the caches that the plan has.
func (p *Plan) writeApart(b *strings.Builder) {
	fmt.Fprintf(b, "func Benchmark%sApart(b *testing.B) {\n", p.name())
	for i, g := range p.Groups {
		one := *p
		one.Groups = []Group{g}
		one.Groups[0].Weight = 1
		setup, body := "", ""
		for _, part := range one.inputs(one.times()) {
			setup, body = setup+part.setup, body+part.body
		}
		fmt.Fprintf(b, "\tb.Run(\"g%d\", func(b *testing.B) {\n%s\t\tall := []%sCall{\n%s\t\t}\n%s\t\ti := 0\n"+
			"\t\tfor b.Loop() {\n\t\t\tc := &all[i]\n%s%s"+
			"\t\t\tif i++; i == len(all) {\n\t\t\t\ti = 0\n\t\t\t}\n\t\t}\n\t})\n",
			i, setup, p.lower(), body, p.buffers(), p.setupText(), p.call())
	}
	b.WriteString("}\n")
}

// name returns the function's name as part of a benchmark's: "NormalizeTag", "TypeMethod"; through
// a caller "NormalizeInTypeMethod".
func (p *Plan) name() string {
	name := source.Exported(p.For.Target.Name)
	if p.through() {
		name += "In" + source.Exported(p.Unit.Target.Name)
	}
	return name
}

// lower returns the same as part of the file's own names.
func (p *Plan) lower() string {
	name := p.name()
	r, n := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(r)) + name[n:] + "Replay"
}

// comment writes text as a comment of at most 100 columns.
func comment(b *strings.Builder, text string) {
	const columns = 96
	line := "//"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > columns && line != "//" {
			b.WriteString(line + "\n")
			line = "//"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// percent writes a share with as many digits as a rare one needs.
func percent(share float64) string {
	switch {
	case share >= 0.1:
		return fmt.Sprintf("%.0f %%", 100*share)
	case share >= 0.001:
		return fmt.Sprintf("%.1f %%", 100*share)
	}
	return fmt.Sprintf("%.3f %%", 100*share)
}

// DisplayPath returns the file as a person finds it again.
func DisplayPath(of *beagle.Target, file string) string {
	if rel, err := filepath.Rel(of.Dir, file); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return cmp.Or(file, ".")
}
