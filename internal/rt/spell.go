package rt

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
)

// spell shows the fields of a struct as Go expressions as they would be
// written inside the target's package, and what they need to be imported. It
// never fails, unlike GoArgs: memory that values share is written out once for
// each of them (see sharedMemory), and what no expression makes is shown as nil.
func spell[A any](a *A) (exprs, imports []string) {
	return spellAs(a, speller{})
}

// spellCall does what spell does for the arguments of a call: it writes out capacity beyond the
// length too.
func spellCall[A any](a *A) (exprs, imports []string) {
	return spellAs(a, speller{room: true, brief: true})
}

// spellBriefly does what spell does, with Repeat where a long value repeats itself.
func spellBriefly[A any](a *A) (exprs, imports []string) {
	return spellAs(a, speller{brief: true})
}

// tell returns the arguments of a call as spell does, but readable for people.
func tell[A any](a *A) []string {
	exprs, _ := spellAs(a, speller{told: true, brief: true})
	return exprs
}

// spellAs shows the fields of the struct that a points to by a speller that has only its settings.
func spellAs(a any, w speller) (exprs, imports []string) {
	v := reflect.ValueOf(a).Elem()
	w.home, w.imports = v.Type().PkgPath(), map[string]bool{}
	return w.fields(v)
}

// errorTexts returns the texts of the errors among the fields of a struct.
func errorTexts[A any](a *A) []string {
	v := reflect.ValueOf(a).Elem()
	list := make([]string, v.NumField())
	for i := range list {
		if f := reachable(v.Field(i)); f.Type() == errorType && !f.IsNil() {
			list[i], _ = textOfError(f)
		}
	}
	return list
}

// errorTypes returns the types of the errors among the fields of a struct, where the same field of
// another struct has an error of another type.
func errorTypes[A any](a, other *A) []string {
	v, w := reflect.ValueOf(a).Elem(), reflect.ValueOf(other).Elem()
	list := make([]string, v.NumField())
	for i := range list {
		x, y := reachable(v.Field(i)), reachable(w.Field(i))
		if x.Type() == errorType && !x.IsNil() && !y.IsNil() && TypeName(x.Elem().Type()) != TypeName(y.Elem().Type()) {
			list[i] = trimVariant(x.Elem().Type().String())
		}
	}
	return list
}

// errorFields spells the fields that the errors among results or arguments show.
func errorFields[A any](a *A) []map[string]string {
	v := reflect.ValueOf(a).Elem()
	list := make([]map[string]string, v.NumField())
	for i := range list {
		f := reachable(v.Field(i))
		if f.Type() != errorType || f.IsNil() {
			continue
		}
		names, texts := fieldTexts(f.Elem())
		for k, name := range names {
			if list[i] == nil {
				list[i] = map[string]string{}
			}
			list[i][name] = texts[k]
		}
	}
	return list
}

func (w *speller) fields(v reflect.Value) (exprs, imports []string) {
	for i := 0; i < v.NumField(); i++ {
		exprs = append(exprs, w.expr(reachable(v.Field(i)), 0))
	}
	for path := range w.imports {
		imports = append(imports, path)
	}
	sortTexts(imports)
	return exprs, imports
}

type speller struct {
	home    string
	imports map[string]bool
	room    bool // write slices with their capacity
	told    bool // for reading, not for compiling
	brief   bool // write with Repeat what repeats itself
}

// maxSpellDepth keeps cycles from being followed for ever.
const maxSpellDepth = 20

// typ returns the type as written in the target's package.
func (w *speller) typ(t reflect.Type) string {
	if t == reflect.TypeOf(byte(0)) {
		return "byte"
	}
	// A named type needs its package, unless that is the target's own. Names of type arguments may
	// hold the package as well.
	if t.Name() != "" {
		if t.PkgPath() == "" || t.PkgPath() == w.home {
			return strings.ReplaceAll(t.Name(), w.home+".", "")
		}
		w.imports[t.PkgPath()] = true
		return t.String()
	}
	switch t.Kind() {
	case reflect.Pointer:
		return "*" + w.typ(t.Elem())
	case reflect.Slice:
		return "[]" + w.typ(t.Elem())
	case reflect.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), w.typ(t.Elem()))
	case reflect.Map:
		return "map[" + w.typ(t.Key()) + "]" + w.typ(t.Elem())
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return "any"
		}
	}
	return t.String()
}

// expr writes a Go expression for a value. Basic values are converted where an untyped constant
// would have another type.
func (w *speller) expr(v reflect.Value, depth int) string {
	t := v.Type()
	// A value of a recursive type may be endless.
	if depth > maxSpellDepth {
		return "nil /* deeper */"
	}
	switch t.Kind() {
	case reflect.Bool:
		return w.convert(t, reflect.TypeOf(false), strconv.FormatBool(v.Bool()))
	case reflect.String:
		return w.convert(t, reflect.TypeOf(""), w.quote(v.String()))
	case reflect.Float32, reflect.Float64:
		return w.float(t, v.Float())
	case reflect.Complex64, reflect.Complex128:
		c := v.Complex()
		return fmt.Sprintf("%s(complex(%s, %s))", w.typ(t), w.float(reflect.TypeOf(0.0), real(c)),
			w.float(reflect.TypeOf(0.0), imag(c)))
	case reflect.Pointer:
		return w.pointer(v, depth)
	case reflect.Interface:
		if v.IsNil() {
			return "nil"
		}
		return w.dynamic(v.Elem(), depth)
	case reflect.Struct, reflect.Array, reflect.Slice, reflect.Map:
		return w.composite(v, depth)
	// These have no literal.
	case reflect.Func, reflect.Chan, reflect.UnsafePointer:
		return "nil"
	}
	if v.CanInt() {
		return w.convert(t, reflect.TypeOf(0), strconv.FormatInt(v.Int(), 10))
	}
	return w.convert(t, reflect.TypeOf(0), strconv.FormatUint(v.Uint(), 10))
}

// dynamic returns the content of an interface value. Errors are made anew from their text: their
// types are often out of reach.
func (w *speller) dynamic(v reflect.Value, depth int) string {
	if name := w.global(v); name != "" && w.told {
		text, _ := textOfError(v)
		return name + " (" + strconv.Quote(text) + ")"
	} else if name != "" {
		return name
	}
	if text, ok := textOfError(v); ok {
		w.imports["errors"] = true
		made := "errors.New(" + w.quote(text) + ")"
		if w.told {
			made += typeInWords(v.Type()) + fieldsInWords(v)
		}
		return made
	}
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return w.expr(c, depth+1)
}

// typeInWords tells people, in a comment, the type of an error that errors.New
// does not make: two errors may differ in that alone.
func typeInWords(t reflect.Type) string {
	if t.String() == "*errors.errorString" {
		return ""
	}
	star := ""
	if t.Kind() == reflect.Pointer {
		star, t = "*", t.Elem()
	}
	name := TypeName(t)
	return " /* " + star + name[strings.LastIndexByte(name, '/')+1:] + " */"
}

// fieldsInWords tells people the fields that an error shows.
func fieldsInWords(v reflect.Value) string {
	names, texts := fieldTexts(v)
	if len(names) == 0 {
		return ""
	}
	for i := range names {
		names[i] += ": " + texts[i]
	}
	return " with {" + strings.Join(names, ", ") + "}"
}

// global returns the name of the variable that holds a pointer, such as a sentinel error, where the
// target's package can name it.
func (w *speller) global(v reflect.Value) string {
	if v.Kind() != reflect.Pointer || !hasGlobals(v.Type().Elem()) {
		return ""
	}
	name := globalName(v.UnsafePointer())
	switch path, own := strings.CutPrefix(strings.TrimPrefix(name, "&"), w.home+"."); {
	case name == "":
		return ""
	case globals.common[name]:
		w.imports[name[:strings.LastIndex(name, ".")]] = true
		return name
	case own && !strings.ContainsAny(path, "./"):
		return globalLit(name)
	}
	return ""
}

// textOfError returns the text of an error. A method that panics has none.
func textOfError(v reflect.Value) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	if !v.CanInterface() {
		return "", false
	}
	err, ok := v.Interface().(error)
	if !ok {
		return "", false
	}
	return err.Error(), true
}

func (w *speller) convert(t, plain reflect.Type, text string) string {
	if t == plain {
		return text
	}
	return w.typ(t) + "(" + text + ")"
}

func (w *speller) float(t reflect.Type, f float64) string {
	bits := t.Bits()
	if math.IsNaN(f) || math.IsInf(f, 0) || f == 0 && math.Signbit(f) {
		w.imports["math"] = true
		if bits == 32 {
			return w.convert(t, reflect.TypeOf(float32(0)),
				fmt.Sprintf("math.Float32frombits(%#x)", math.Float32bits(float32(f))))
		}
		return w.convert(t, reflect.TypeOf(0.0), fmt.Sprintf("math.Float64frombits(%#x)", math.Float64bits(f)))
	}
	return fmt.Sprintf("%s(%s)", w.typ(t), strconv.FormatFloat(f, 'g', -1, bits))
}

func (w *speller) pointer(v reflect.Value, depth int) string {
	if v.IsNil() {
		return w.null(v.Type())
	}
	e := v.Elem()
	switch e.Kind() {
	case reflect.Struct, reflect.Array, reflect.Slice, reflect.Map:
		if text := w.expr(e, depth+1); strings.HasSuffix(text, "}") {
			return "&" + text
		}
	}
	elem := w.typ(e.Type())
	return fmt.Sprintf("func() *%s { var v %s = %s; return &v }()", elem, elem, w.expr(e, depth+1))
}

func (w *speller) null(t reflect.Type) string {
	if t.Name() == "" {
		return "(" + w.typ(t) + ")(nil)"
	}
	return w.typ(t) + "(nil)"
}

// composite writes a list, a map or a struct. Free capacity is part of an argument, if the speller
// is asked for it.
func (w *speller) composite(v reflect.Value, depth int) string {
	t := v.Type()
	if (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) && v.IsNil() {
		return w.null(t)
	}
	if more := t.Kind() == reflect.Slice && w.room && v.Cap() > v.Len() && v.Cap()-v.Len() <= maxSpare; more &&
		depth == 0 {
		return fmt.Sprintf("append(make(%s, 0, %d), %s...)", w.typ(t), v.Cap(),
			w.composite(v.Slice3(0, v.Len(), v.Len()), depth))
	}
	if t.Kind() == reflect.Slice && t.Elem() == reflect.TypeOf(byte(0)) && v.Len() > 0 {
		return w.typ(t) + "(" + w.quote(string(v.Bytes())) + ")"
	}
	if text, ok := w.list(v, depth); ok {
		return text
	}
	return w.typ(t) + "{" + strings.Join(w.elems(v, depth), ", ") + "}"
}

// elems writes the parts of a struct, a map or a list. Zero fields are left out, and the entries of
// a map are sorted by their text.
func (w *speller) elems(v reflect.Value, depth int) []string {
	var list []string
	switch v.Kind() {
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			if f := v.Field(i); !f.IsZero() && v.Type().Field(i).Name != "_" {
				list = append(list, v.Type().Field(i).Name+": "+w.expr(reachable(f), depth+1))
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			list = append(list, w.copied(it.Key(), depth)+": "+w.copied(it.Value(), depth))
		}
		sortTexts(list)
	default:
		for i := 0; i < v.Len(); i++ {
			list = append(list, w.expr(reachable(v.Index(i)), depth+1))
		}
	}
	return list
}

// copied shows a map's key or value, which cannot be addressed.
func (w *speller) copied(v reflect.Value, depth int) string {
	c := reflect.New(v.Type()).Elem()
	if v.CanInterface() {
		c.Set(v)
	}
	return w.expr(c, depth+1)
}

// maxShown bounds the text of a value that is sent. The parent process shortens it further for
// people, since it alone has both versions' values and sees where they differ.
const maxShown = 1 << 16

// render renders a struct of results or arguments for people.
func render[T any](t *T) string {
	exprs := tell(t)
	for i, e := range exprs {
		exprs[i] = cutTo(e, maxShown)
	}
	if len(exprs) == 0 {
		return "nothing"
	}
	return strings.Join(exprs, ", ")
}

func cutTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return s[:n] + "..."
}

// globalLit returns a variable's name in the target's package, whose variables are registered with
// its import path.
func globalLit(name string) string {
	if globals.common[name] {
		return name
	}
	short := name[strings.LastIndex(name, ".")+1:]
	if strings.HasPrefix(name, "&") {
		return "&" + short
	}
	return short
}
