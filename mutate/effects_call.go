package mutate

import (
	"go/ast"
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/syntax"
)

// call adds the effects of a call, a conversion or a builtin.
func (a *effectsVisitor) call(n *ast.CallExpr) {
	if tv := a.p.Info.Types[n.Fun]; tv.IsType() {
		a.conversion(n, tv.Type)
		return
	}
	if _, literal := ast.Unparen(n.Fun).(*ast.FuncLit); literal {
		return // the literal's body is analysed in its place
	}
	switch f := a.p.Callee(n).(type) {
	case *types.Builtin:
		a.builtin(n, f.Name())
	case *types.Func:
		if a.p.formatsSafely(n) {
			a.Allocs = true
			return
		}
		a.function(f)
		if f.Pkg() != nil && f.Pkg().Path() == "slices" && len(n.Args) > 0 {
			s, ok := a.p.Info.TypeOf(n.Args[0]).Underlying().(*types.Slice)
			a.Panics = a.Panics || !ok || HoldsInterface(s.Elem()) // the call compares elements
		}
	default:
		a.Writes, a.Reads, a.Panics, a.Allocs = true, true, true, true
	}
}

// formatsSafely reports whether a call of strconv formats a number in a base, or in a form and for
// a size, that it knows: it panics for others.
func (p *Pass) formatsSafely(n *ast.CallExpr) bool {
	if _, ok := p.IsCall(n, "strconv", "FormatInt", "FormatUint"); ok && len(n.Args) == 2 {
		base, known := p.Int(n.Args[1])
		return known && 2 <= base && base <= 36
	}
	if _, ok := p.IsCall(n, "strconv", "FormatFloat"); ok && len(n.Args) == 4 {
		form, known := p.Int(n.Args[1])
		size, sized := p.Int(n.Args[3])
		return known && strings.ContainsRune("beEfgGxX", rune(form)) && sized && (size == 32 || size == 64)
	}
	return false
}

// builtin adds the effects of a predeclared function.
func (a *effectsVisitor) builtin(n *ast.CallExpr, name string) {
	switch name {
	case "len", "cap", "min", "max", "real", "imag", "complex":
		for u := range Underlying(a.p.Info.TypeOf(n.Args[0])) {
			switch u.(type) {
			case *types.Map, *types.Chan:
				a.Reads = true
			}
		}
	case "new":
		a.Allocs = true
	case "make":
		a.Allocs = true
		for _, size := range n.Args[1:] {
			v, ok := a.p.Int(size)
			_, length := a.p.IsBuiltin(size, "len")
			a.Panics = a.Panics || !length && !(ok && v >= 0)
		}
		if len(n.Args) == 3 && !a.p.IsInt(n.Args[1], 0) && !a.p.Same(n.Args[1], n.Args[2]) {
			a.Panics = true // the capacity may be less than the length
		}
	case "append":
		a.Allocs, a.Reads = true, true
		// the call may write behind the length
		a.Writes = a.Writes || !a.p.OwnMemory(nil, n.Args[0]) && !a.isOwn(n.Args[0])
	case "copy":
		a.Reads, a.Writes = true, a.Writes || !a.isOwn(n.Args[0])
	case "panic":
		a.Panics = true
	default: // clear, delete, close, print, recover
		a.Writes, a.Panics = true, true
	}
}

// isOwn reports whether a slice is a variable of the piece that only holds memory made for it.
func (a *effectsVisitor) isOwn(e ast.Expr) bool {
	v := a.p.Var(e)
	return a.isInside(v) && !a.parameter(v) && a.p.keepsToOwn(v, a.root)
}

func (a *effectsVisitor) function(fn *types.Func) {
	if d := a.p.Decl(fn); d != nil && d.Body != nil {
		a.follow(a, d)
		return
	}
	if fn.Pkg() == nil {
		a.Writes, a.Reads, a.Panics, a.Allocs = true, true, true, true
		return
	}
	known, ok := stdEffects(fn.Pkg().Path(), syntax.FuncName(fn))
	if !ok {
		known = Effects{Writes: true, Reads: true, Panics: true, Allocs: true}
	}
	a.merge(known)
}

// merge adds the effects of other code that runs, apart from its jumps, which stay inside it.
func (a *Effects) merge(b Effects) {
	a.Writes, a.Reads = a.Writes || b.Writes, a.Reads || b.Reads
	a.Panics, a.Allocs = a.Panics || b.Panics, a.Allocs || b.Allocs
}

// stdEffects returns the effects of a function of the standard library. It knows functions that
// change nothing and mostly cannot panic. The values are letters: a allocates, r reads memory
// through its argument, p may panic.
func stdEffects(pkg, name string) (Effects, bool) {
	flags, ok := pureStd[pkg+"."+name]
	if !ok {
		flags, ok = pureStd[pkg+".*"]
		ok = ok && !strings.Contains(name, ".")
	}
	return Effects{
		Reads:  strings.Contains(flags, "r"),
		Panics: strings.Contains(flags, "p"),
		Allocs: strings.Contains(flags, "a"),
	}, ok
}

var pureStd = func() map[string]string {
	m := map[string]string{
		"unicode.*": "", "math.*": "", "math/bits.*": "", "cmp.*": "",
		"math/bits.Div": "p", "math/bits.Div32": "p", "math/bits.Div64": "p",
		"math/bits.Rem": "p", "math/bits.Rem32": "p", "math/bits.Rem64": "p",
		"strings.Repeat": "ap",
	}
	add := func(flags, pkg string, names ...string) {
		for _, n := range names {
			m[pkg+"."+n] = flags
		}
	}
	add("", "strings", "Compare", "Contains", "ContainsAny", "ContainsRune", "Count", "Cut", "CutPrefix", "CutSuffix",
		"EqualFold", "HasPrefix", "HasSuffix", "Index", "IndexAny", "IndexByte", "IndexRune", "LastIndex",
		"LastIndexAny", "LastIndexByte", "Trim", "TrimLeft", "TrimPrefix", "TrimRight", "TrimSpace", "TrimSuffix")
	add("ar", "strings", "Join")
	add("a", "strings", "Clone", "Fields", "Replace", "ReplaceAll", "Split", "SplitAfter", "SplitN", "Title",
		"ToLower", "ToTitle", "ToUpper", "ToValidUTF8")
	add("r", "bytes", "Compare", "Contains", "ContainsAny", "ContainsRune", "Count", "Cut", "Equal", "EqualFold",
		"HasPrefix", "HasSuffix", "Index", "IndexAny", "IndexByte", "IndexRune", "LastIndex", "LastIndexByte",
		"Trim", "TrimLeft", "TrimPrefix", "TrimRight", "TrimSpace", "TrimSuffix")
	add("ar", "bytes", "Clone", "Fields", "Join", "Replace", "ReplaceAll", "Split", "ToLower", "ToUpper", "ToTitle")
	add("", "unicode/utf8", "DecodeRuneInString", "DecodeLastRuneInString", "FullRuneInString", "RuneCountInString",
		"RuneLen", "RuneStart", "ValidRune", "ValidString")
	add("r", "unicode/utf8", "DecodeRune", "DecodeLastRune", "FullRune", "RuneCount", "Valid")
	add("a", "strconv", "Itoa", "FormatBool", "Quote", "Atoi", "ParseBool",
		"ParseFloat", "ParseInt", "ParseUint", "Unquote", "QuoteRune", "QuoteToASCII")
	add("ap", "strconv", "FormatInt", "FormatUint", "FormatFloat") // for bad bases and sizes
	add("a", "html", "EscapeString", "UnescapeString")
	add("a", "net/url", "PathEscape", "QueryEscape")
	add("ar", "encoding/hex", "EncodeToString")
	add("r", "hash/crc32", "ChecksumIEEE")
	add("rp", "hash/crc32", "Checksum", "Update") // for a table that is nil
	// They panic for slices that are too short.
	add("rp", "encoding/binary", "littleEndian.Uint16", "littleEndian.Uint32", "littleEndian.Uint64",
		"bigEndian.Uint16", "bigEndian.Uint32", "bigEndian.Uint64")
	add("r", "slices", "Contains", "Equal", "Index", "IsSorted")
	add("a", "path", "Base", "Clean", "Dir", "Ext", "IsAbs")
	add("a", "path/filepath", "Base", "Clean", "Dir", "Ext", "IsAbs")
	// Methods. A time never changes, nor does the zone that it leads to.
	add("", "time", "Time.After", "Time.Before", "Time.Compare", "Time.Day", "Time.Equal", "Time.Hour", "Time.IsZero",
		"Time.Minute", "Time.Month", "Time.Nanosecond", "Time.Second", "Time.Unix", "Time.UnixMicro", "Time.UnixMilli",
		"Time.UnixNano", "Time.Weekday", "Time.Year", "Time.YearDay")
	add("a", "time", "Time.Format", "Time.String", "Duration.String")
	add("", "net/netip", "Addr.Compare", "Addr.Is4", "Addr.Is4In6", "Addr.Is6", "Addr.IsPrivate", "Addr.IsValid",
		"Addr.Less")
	add("a", "net/netip", "Addr.String", "AddrPort.String", "Prefix.String")
	add("rp", "math/big", "Int.BitLen", "Int.Cmp", "Int.CmpAbs", "Int.Sign")
	add("arp", "math/big", "Int.String")
	add("arp", "net/url", "URL.String")
	add("r", "net/url", "Values.Get", "Values.Has")
	// Package reflect implements its Type (see isClosed), and a type never changes. It may be nil,
	// or of a kind that has no such part.
	add("p", "reflect", "Type.AssignableTo", "Type.Bits", "Type.Comparable", "Type.ConvertibleTo", "Type.Implements",
		"Type.Kind", "Type.Len", "Type.Name", "Type.NumField", "Type.NumIn", "Type.NumMethod", "Type.NumOut",
		"Type.PkgPath", "Type.Size")
	add("ap", "reflect", "Type.String")
	return m
}()
