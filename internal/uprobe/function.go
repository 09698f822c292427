//go:build linux

package uprobe

import (
	"debug/dwarf"
	"fmt"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Function is a function of a process that can be captured.
type Function struct {
	Name      string // as sites are named
	Low, High uint64 // addresses of its code in the file
	Params    []Value
	Results   []Value
	Inlined   []string // functions that hold a copy, whose calls are not seen
	Point     Point
	Returns   []uint64 // addresses of its RET instructions
	stack     int      // bytes of arguments on the stack
	results   int      // bytes of arguments and results on the stack
}

// declared is DWARF's description of one function name.
type declared struct {
	name     string       // plain
	symbol   string       // in the linker's spelling
	abstract dwarf.Offset // of the entry that inlined copies refer to; 0 when there is none
	concrete dwarf.Offset // of the entry with code; 0 when there is none
	low      uint64
	high     uint64
	inlined  map[string]bool // plain names of callers
}

// Find returns the functions that a name means. For a function that can't be captured it returns a
// *beagle.UsageError with the reason, and with another way that can.
func (b *Binary) Find(want string) ([]*Function, error) {
	if b.dbg == nil {
		return nil, b.untyped(want)
	}
	all, err := b.declarations(want)
	if err != nil {
		return nil, err
	}
	all = withoutWrappers(all)
	if len(all) == 0 {
		return nil, b.explainAbsence(want)
	}
	star := strings.HasSuffix(want, "*")
	var found []*Function
	for _, d := range all {
		f, err := b.function(d)
		switch {
		case err == nil:
			found = append(found, f)
		case !star:
			return nil, err
		}
	}
	if len(found) == 0 {
		return nil, &beagle.UsageError{What: fmt.Sprintf("none of the %d functions that %q means can be captured",
			len(all), want), Remedy: "name one of them to see why not"}
	}
	return found, nil
}

// otherWay tells what to do where uprobes are blind.
const otherWay = "build the service with beagle build --probe, which sees every call"

// untyped explains why a program without DWARF shows nothing.
func (b *Binary) untyped(want string) error {
	found := b.listed(want)
	if len(found) == 0 {
		return b.explainAbsence(want)
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("process %d has %s, but no DWARF (built with -ldflags=-s or -w), so its arguments are "+
			"unknown", b.PID, found[0]),
		Remedy: "give --symbols with a build of the same commit, toolchain and flags, but without -s and -w; or " +
			otherWay,
	}
}

// explainAbsence explains why no function of a name has code.
func (b *Binary) explainAbsence(want string) error {
	for _, name := range b.listed(want) {
		if strings.Contains(name, "[") {
			return b.generic(want, name)
		}
	}
	return &beagle.UsageError{
		What: fmt.Sprintf("process %d has no function %s: it is unused there, or inlined into all its callers",
			b.PID, want),
		Remedy: "check the name (import/path.Func or import/path.Type.Method), or " + otherWay,
	}
}

func (b *Binary) generic(want, name string) error {
	return &beagle.UsageError{
		What: fmt.Sprintf("%s is generic: process %d has it as %s, whose first register is a dictionary and whose "+
			"parameters have no types of their own", want, b.PID, name),
		Remedy: "capture a function that calls it and is not generic",
	}
}

// declarations reads DWARF's description of functions with a name, with the functions that inlined
// them.
func (b *Binary) declarations(want string) ([]*declared, error) {
	byName := map[string]*declared{}
	byAbstract := map[dwarf.Offset]*declared{}
	type copied struct {
		of dwarf.Offset
		by string
	}
	var copies []copied
	// Walk the tree of entries. Subprograms are declarations or out-of-line copies; inlined
	// subroutines tell their caller.
	r := b.dbg.Reader()
	caller, depth := "", 0
	for {
		e, err := r.Next()
		if err != nil {
			return nil, fmt.Errorf("the DWARF of process %d: %w", b.PID, err)
		}
		if e == nil {
			break
		}
		if e.Tag == 0 {
			depth--
			continue
		}
		switch e.Tag {
		case dwarf.TagSubprogram:
			caller = nameOf(e)
			origin, isCopy := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
			if isCopy {
				caller = b.nameAt(origin)
			}
			b.note(e, caller, origin, want, byName, byAbstract)
		case dwarf.TagInlinedSubroutine:
			if origin, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset); ok {
				copies = append(copies, copied{origin, caller})
			}
		case dwarf.TagCompileUnit, dwarf.TagLexDwarfBlock:
		default:
			if e.Children {
				r.SkipChildren()
			}
			continue
		}
		if e.Children {
			depth++
		}
	}
	// Join the inlined copies with their declarations.
	for _, c := range copies {
		if d := byAbstract[c.of]; d != nil {
			d.inlined[b.plainName(c.by)] = true
		}
	}
	var all []*declared
	for _, d := range byName {
		all = append(all, d)
	}
	slices.SortFunc(all, func(x, y *declared) int { return strings.Compare(x.symbol, y.symbol) })
	return all, nil
}

// note remembers a subprogram that the name means.
func (b *Binary) note(
	e *dwarf.Entry, symbol string, origin dwarf.Offset, want string, byName map[string]*declared,
	byAbstract map[dwarf.Offset]*declared,
) {
	name := b.plainName(symbol)
	if !wire.Matches(want, name) {
		return
	}
	// Take the known declaration of the symbol, or a new one.
	d := byName[symbol]
	if d == nil {
		d = &declared{name: name, symbol: symbol, inlined: map[string]bool{}}
		byName[symbol] = d
	}
	// Without code it is the abstract form, which inlined copies refer to.
	low, hasCode := e.Val(dwarf.AttrLowpc).(uint64)
	if !hasCode {
		d.abstract = e.Offset
		byAbstract[e.Offset] = d
		return
	}
	// Note where the code is.
	d.concrete, d.low = e.Offset, low
	if origin != 0 {
		d.abstract = origin
		byAbstract[origin] = d
	}
	switch high := e.Val(dwarf.AttrHighpc).(type) {
	case int64:
		d.high = low + uint64(high)
	case uint64:
		d.high = high
	}
}

func (b *Binary) nameAt(off dwarf.Offset) string {
	r := b.dbg.Reader()
	r.Seek(off)
	if e, err := r.Next(); err == nil && e != nil {
		return nameOf(e)
	}
	return ""
}

// withoutWrappers leaves out the wrapper that calls a value's method through a pointer.
func withoutWrappers(all []*declared) []*declared {
	return slices.DeleteFunc(all, func(d *declared) bool {
		return strings.Contains(d.symbol, "(*") && slices.ContainsFunc(all, func(o *declared) bool {
			return o.name == d.name && o.symbol != d.symbol && !strings.Contains(o.symbol, "(*")
		})
	})
}

// maxStack bounds the arguments on the stack.
const maxStack = 1024

// maxCode bounds the code of a function that is disassembled.
const maxCode = 4 << 20

// function returns a function's entry and the places of its values, or a *beagle.UsageError if it
// has no usable entry.
func (b *Binary) function(d *declared) (*Function, error) {
	f := &Function{Name: d.name, Low: d.low, High: d.high}
	for caller := range d.inlined {
		f.Inlined = append(f.Inlined, caller)
	}
	slices.Sort(f.Inlined)
	refuse := func(what, remedy string) (*Function, error) {
		return nil, &beagle.UsageError{What: fmt.Sprintf("process %d: %s %s", b.PID, d.name, what), Remedy: remedy}
	}
	// Refuse a function without an entry of its own.
	switch {
	case d.concrete == 0 && len(f.Inlined) == 0:
		return refuse("has no code: no call of it is left", "check the name")
	case d.concrete == 0:
		return refuse("is inlined into all its callers, as "+f.Inlined[0]+", so no instruction is its entry",
			"capture a caller, or "+otherWay)
	case strings.Contains(d.symbol, "["):
		return nil, b.generic(d.name, d.symbol)
	case d.high <= d.low || d.high-d.low > maxCode:
		return refuse(fmt.Sprintf("has code from %#x to %#x, which makes no sense", d.low, d.high), otherWay)
	}
	// Find the places of its parameters and results.
	if err := b.values(d, f); err != nil {
		return nil, err
	}
	if len(f.Params) == 0 {
		return refuse("has no parameters in the DWARF: it takes none, or is written in assembly", otherWay)
	}
	f.stack = assign(f.Params)
	f.results = assignResults(f.Results, f.stack)
	if f.stack > maxStack {
		return refuse(fmt.Sprintf("takes %d bytes of arguments on the stack, more than the %d that are copied",
			f.stack, maxStack), otherWay)
	}
	// Choose the instructions to stop at.
	code, err := b.code(d.low, d.high)
	if err != nil {
		return nil, err
	}
	if f.Point, f.Returns, err = choose(code, d.low, f.registers()); err != nil {
		return refuse(err.Error(), otherWay)
	}
	return f, nil
}

// registers counts the integer registers that hold arguments.
func (f *Function) registers() (n int) {
	for _, v := range f.Params {
		for _, p := range v.pieces {
			if p.at >= 0 && p.at < imageRegisters {
				n = max(n, p.at/word+1)
			}
		}
	}
	return n
}

// values reads parameters and results. An out-of-line copy of an inlinable function refers to the
// abstract entry, which has them in the order of the source.
func (b *Binary) values(d *declared, f *Function) error {
	// The abstract entry names all parameters, also those that the compiler dropped.
	at := d.concrete
	if d.abstract != 0 {
		at = d.abstract
	}
	if b.types == nil {
		b.types = &types{data: b.dbg, seen: map[dwarf.Offset]*Type{}}
	}
	r := b.dbg.Reader()
	r.Seek(at)
	if _, err := r.Next(); err != nil {
		return err
	}
	// Read the parameters among its children. Results are parameters with a mark.
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag == 0 {
			return err
		}
		if e.Children {
			r.SkipChildren()
		}
		if e.Tag != dwarf.TagFormalParameter {
			continue
		}
		off, ok := e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return fmt.Errorf("a parameter of %s has no type in the DWARF", d.name)
		}
		v := Value{Name: nameOf(e)}
		if v.Type, err = b.types.typeAt(off); err != nil {
			return err
		}
		if result, _ := e.Val(dwarf.AttrVarParam).(bool); result {
			v.Name = strings.Replace(v.Name, "~r", "result", 1)
			f.Results = append(f.Results, v)
			continue
		}
		// Give a parameter without a name one.
		if strings.HasPrefix(v.Name, "~") || v.Name == "_" || v.Name == "" {
			v.Name = fmt.Sprintf("arg%d", len(f.Params))
		}
		f.Params = append(f.Params, v)
	}
}

// CheckVisible returns a *beagle.UsageError for a function with a parameter that can't be seen: no
// call of it can be recorded.
func (f *Function) CheckVisible() error {
	for _, v := range f.Params {
		if v.blind() {
			return &beagle.UsageError{What: fmt.Sprintf("%s takes %s %s in floating-point registers, which a uprobe "+
				"cannot read, so none of its calls can be recorded", f.Name, v.Name, v.Type.Name), Remedy: otherWay}
		}
	}
	return nil
}
