package verify

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/syntax"
)

// A vocabulary holds what the code of the versions reveals about inputs that may tell them apart:
// characters that they compare with, lengths at which tables, masks and narrow numbers end, and the
// library's character classes.
type vocabulary struct {
	marks []rune
	lens  []int
	runes []rune

	info *types.Info // of the version being read
	seen map[string]bool
}

// These constants bound what one request carries.
const (
	maxMarks  = 64
	maxLens   = 120
	maxRunes  = 4000
	maxLength = 1 << 20
)

// vocabularyOf reads the versions, the original first.
func vocabularyOf(versions ...*code) *vocabulary {
	v := &vocabulary{seen: map[string]bool{}}
	for _, c := range versions {
		v.info = c.info
		ast.Inspect(c.file, func(n ast.Node) bool {
			v.node(n)
			return true
		})
	}
	return v
}

// fill enters the vocabulary into a request.
func (v *vocabulary) fill(x *rt.Exhaust) { x.Marks, x.Lens, x.Runes = v.marks, v.lens, v.runes }

func (v *vocabulary) node(n ast.Node) {
	switch n := n.(type) {
	case *ast.BasicLit:
		if n.Kind == token.CHAR {
			v.mark(n)
		}
	case *ast.BinaryExpr:
		v.binary(n)
	case *ast.CaseClause:
		for _, e := range n.List {
			v.mark(e)
		}
	case *ast.CallExpr:
		v.call(n)
	case *ast.Ident:
		v.library(v.info.Uses[n])
	}
	if e, ok := n.(ast.Expr); ok {
		v.size(e)
	}
}

// mark adds a constant that is a character: its type is for bytes or runes, or it stands in quotes.
func (v *vocabulary) mark(e ast.Expr) {
	tv := v.info.Types[e]
	if tv.Value == nil {
		return
	}
	if tv.Value.Kind() == constant.String {
		for _, r := range constant.StringVal(tv.Value) {
			v.addMark(r)
		}
		return
	}
	if !slices.Contains([]types.BasicKind{types.Uint8, types.Int32, types.UntypedRune}, syntax.Kind(tv.Type)) {
		return
	}
	if n, exact := constant.Int64Val(constant.ToInt(tv.Value)); exact && 0 <= n && n <= utf8.MaxRune {
		v.addMark(rune(n))
	}
}

func (v *vocabulary) addMark(r rune) {
	if len(v.marks) < maxMarks && !slices.Contains(v.marks, r) {
		v.marks = append(v.marks, r)
	}
}

// binary reads comparisons, shifts and masks.
func (v *vocabulary) binary(n *ast.BinaryExpr) {
	switch n.Op {
	case token.EQL, token.NEQ, token.LSS, token.LEQ, token.GTR, token.GEQ:
		v.mark(n.X)
		v.mark(n.Y)
	case token.SHL, token.SHR:
		if k, ok := v.number(n.Y); ok && 2 <= k && k <= 20 {
			v.length(1 << k)
		}
	case token.AND, token.AND_NOT:
		for _, e := range []ast.Expr{n.X, n.Y} {
			if k, ok := v.number(e); ok && k > 0 && k&(k+1) == 0 {
				v.length(k + 1)
			}
		}
	}
}

func (v *vocabulary) number(e ast.Expr) (int64, bool) {
	tv := v.info.Types[e]
	if tv.Value == nil || tv.Value.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(tv.Value)
}

func (v *vocabulary) length(n int64) {
	if 2 <= n && n <= maxLength && len(v.lens) < maxLens && !slices.Contains(v.lens, int(n)) {
		v.lens = append(v.lens, int(n))
	}
}

// size adds the numbers of an expression and of its type.
func (v *vocabulary) size(e ast.Expr) {
	if n, ok := v.number(e); ok {
		v.length(n)
	}
	tv := v.info.Types[e]
	if tv.Type == nil {
		return
	}
	t := tv.Type.Underlying()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem().Underlying()
	}
	if a, ok := t.(*types.Array); ok {
		v.length(a.Len())
	}
}

// call reads conversions to narrower numbers.
func (v *vocabulary) call(n *ast.CallExpr) {
	if tv := v.info.Types[n.Fun]; !tv.IsType() || len(n.Args) != 1 {
		return
	}
	from, to := numberBits(v.info.TypeOf(n.Args[0])), numberBits(v.info.TypeOf(n.Fun))
	if 0 < to && to < from && to <= 16 {
		v.length(1 << to)
		v.length(1 << (to - 1))
	}
}

// numberBits returns the width of an integer type, or 0 for other types.
func numberBits(t types.Type) int {
	if t == nil {
		return 0
	}
	b, ok := t.Underlying().(*types.Basic)
	if !ok || b.Info()&types.IsInteger == 0 {
		return 0
	}
	switch b.Kind() {
	case types.Int8, types.Uint8:
		return 8
	case types.Int16, types.Uint16:
		return 16
	case types.Int32, types.Uint32:
		return 32
	}
	return 64
}

// library adds the characters at the ends of a class that the code asks the library about, by a
// function or by a table.
func (v *vocabulary) library(o types.Object) {
	if o == nil || o.Pkg() == nil || v.seen[o.Pkg().Path()+"."+o.Name()] {
		return
	}
	v.seen[o.Pkg().Path()+"."+o.Name()] = true
	path := o.Pkg().Path()
	if path == "unicode" {
		if t := tableNamed(o.Name()); t != nil {
			v.ends(t)
		}
	}
	for _, t := range callees[path] {
		v.ends(t)
	}
	// the standard library, or close to it
	if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
		for _, t := range classesOf(o.Name()) {
			v.ends(t)
		}
	}
}

// callees lists the classes that functions of a package ask about, whatever the functions' own
// names.
var callees = map[string][]*unicode.RangeTable{
	"fmt":           {unicode.White_Space},
	"regexp":        {unicode.White_Space, unicode.Lu, unicode.Ll},
	"regexp/syntax": {unicode.White_Space, unicode.Lu, unicode.Ll},
	"text/scanner":  {unicode.L, unicode.Nd},
	"go/token":      {unicode.L, unicode.Nd},
	"go/scanner":    {unicode.L, unicode.Nd},
	"mime":          {unicode.White_Space, unicode.Lu, unicode.Ll},
	"net/mail":      {unicode.White_Space},
	"net/url":       {unicode.White_Space},
	"encoding/csv":  {unicode.White_Space},
	"encoding/json": {unicode.White_Space, unicode.Lu, unicode.Ll},
	"encoding/xml":  {unicode.White_Space, unicode.L},
}

// tableNamed returns a range table by the name of its variable.
func tableNamed(name string) *unicode.RangeTable {
	long := map[string]string{"Letter": "L", "Mark": "M", "Number": "N", "Digit": "Nd", "Punct": "P", "Symbol": "S",
		"Space": "Z", "Other": "C",
		"Upper": "Lu", "Lower": "Ll", "Title": "Lt"}
	if short, ok := long[name]; ok {
		name = short
	}
	for _, tables := range []map[string]*unicode.RangeTable{unicode.Categories, unicode.Properties, unicode.Scripts} {
		if t := tables[name]; t != nil {
			return t
		}
	}
	return nil
}

// classWords lists the parts of function names that reveal classes: strings.TrimSpace,
// unicode.IsSpace, bytes.ToUpper, strconv.IsPrint.
var classWords = []struct {
	words  []string
	tables []*unicode.RangeTable
}{
	{[]string{"Space", "Fields"}, []*unicode.RangeTable{unicode.White_Space, unicode.Z}},
	{[]string{"Upper", "Lower", "Title", "EqualFold", "SimpleFold"},
		[]*unicode.RangeTable{unicode.Lu, unicode.Ll, unicode.Lt}},
	{[]string{"Letter", "Ident", "Title"}, []*unicode.RangeTable{unicode.L}},
	{[]string{"Digit", "Number", "Ident"}, []*unicode.RangeTable{unicode.Nd, unicode.N}},
	{[]string{"Punct"}, []*unicode.RangeTable{unicode.P}},
	{[]string{"Symbol"}, []*unicode.RangeTable{unicode.S}},
	{[]string{"Mark"}, []*unicode.RangeTable{unicode.M}},
	{[]string{"Control"}, []*unicode.RangeTable{unicode.Cc}},
	{[]string{"Print", "Graphic", "Quote"}, []*unicode.RangeTable{unicode.C, unicode.Z}},
}

func classesOf(name string) (list []*unicode.RangeTable) {
	for _, c := range classWords {
		if slices.ContainsFunc(c.words, func(w string) bool { return strings.Contains(name, w) }) {
			list = append(list, c.tables...)
		}
	}
	return list
}

// ends adds both ends of each range of a table, and their neighbours outside.
func (v *vocabulary) ends(t *unicode.RangeTable) {
	known := make(map[rune]bool, len(v.runes))
	for _, r := range v.runes {
		known[r] = true
	}
	add := func(r rune) {
		if r >= utf8.RuneSelf && utf8.ValidRune(r) && !known[r] && len(v.runes) < maxRunes {
			known[r] = true
			v.runes = append(v.runes, r)
		}
	}
	around := func(lo, hi rune) {
		for _, r := range []rune{lo, hi, lo - 1, hi + 1} {
			add(r)
		}
	}
	for _, r := range t.R16 {
		around(rune(r.Lo), rune(r.Hi))
	}
	for _, r := range t.R32 {
		around(rune(r.Lo), rune(r.Hi))
	}
}
