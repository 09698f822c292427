package harness

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"go/scanner"
	"go/token"
	"hash"
	"regexp"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/source"
)

// A fingerprint walks the code of one version from its one-call function through all of the
// version's own declarations. It numbers them in the order of the walk, so that names do not
// matter.
type fingerprint struct {
	o      *object
	suffix string
	target string // "Normalize__b3"
	h      hash.Hash
	number map[int]int
	queue  []int
	names  map[string]int // of the version's own symbols -> number

	bytes   int
	reached bool // the target is a function of its own, not inlined into its caller
	wrapper int  // size of the one-call function
}

// codeFacts hashes version i. vars describes its package variables, whose
// initialisers may run in a function that all versions share.
func (o *object) codeFacts(i int, target string, f *source.File, src string) (code string, size int, err error) {
	// The object reader panics on a form that it does not know.
	defer func() {
		if r := recover(); r != nil {
			code, size, err = "", 0, fmt.Errorf("%w: %v", errObject, r)
		}
	}()
	w := &fingerprint{
		o:      o,
		suffix: suffix(i),
		target: "." + target + suffix(i),
		h:      sha256.New(),
		number: map[int]int{},
		names:  map[string]int{},
	}
	// Begin at the function that makes one call, and write each symbol that the code reaches.
	root := o.find(".beagleOne" + w.suffix)
	if root < 0 {
		return "", 0, fmt.Errorf("%w: the one-call function is missing", errObject)
	}
	w.wrapper = o.symbol(root).size
	w.meet(root)
	for k := 0; k < len(w.queue); k++ {
		w.write(w.queue[k])
	}
	// The size is that of the version without the wrapper, unless the call was inlined into it.
	w.variables(f, src)
	size = w.bytes - w.wrapper
	if !w.reached {
		size = w.bytes
	}
	return hex.EncodeToString(w.h.Sum(nil)[:16]), size, nil
}

// find returns the symbol whose name ends so.
func (o *object) find(end string) int {
	for i := range o.defs() {
		if strings.HasSuffix(o.symbol(i).name, end) {
			return i
		}
	}
	return -1
}

// meet gives a symbol its number and puts it on the list.
func (w *fingerprint) meet(i int) int {
	n, ok := w.number[i]
	if !ok {
		n = len(w.number)
		w.number[i] = n
		w.queue = append(w.queue, i)
		w.names[w.o.symbol(i).name] = n
	}
	return n
}

// write hashes a symbol: its size, its content, and its references in canonical form.
func (w *fingerprint) write(i int) {
	s := w.o.symbol(i)
	if s.text {
		w.bytes += s.size
		w.reached = w.reached || strings.Contains(s.name, w.target)
	}
	fmt.Fprintf(w.h, "symbol %t %d\n", s.text, s.size)
	w.h.Write(w.o.data(i))
	for _, r := range w.o.relocs(i) {
		head := binary.LittleEndian.AppendUint32(nil, uint32(r.off))
		head = binary.LittleEndian.AppendUint16(append(head, r.size), r.kind)
		w.h.Write(binary.LittleEndian.AppendUint64(head, uint64(r.add)))
		w.h.Write([]byte(w.reference(r.sym) + "\n"))
	}
}

// vargen are the numbers that tell local types of one name apart; the
// compiler counts them over the whole package.
var vargen = regexp.MustCompile(`·[0-9]+`)

// reference spells a reference of the code: by number if the symbol is the version's own or has no
// meaningful name, else by name.
func (w *fingerprint) reference(r symRef) string {
	if r == (symRef{}) {
		return ""
	}
	i := w.o.index(r)
	if i < 0 {
		return w.plain(w.o.refName(r))
	}
	name := w.o.symbol(i).name
	own := owned(name, w.suffix) && !strings.HasPrefix(name, "type:")
	if own || name == "" || strings.Contains(name, "..stmp_") {
		return "#" + strconv.Itoa(w.meet(i))
	}
	return w.plain(name)
}

func (w *fingerprint) plain(name string) string {
	return vargen.ReplaceAllString(strings.ReplaceAll(name, w.suffix, ""), "·")
}

// variables adds the initialisers of the version's package variables as
// tokens: the code that runs them is not reachable from the target.
func (w *fingerprint) variables(f *source.File, src string) {
	for _, v := range scopeVars(f) {
		n, met := -1, false
		for name, k := range w.names {
			if strings.HasSuffix(name, "."+v.Name()+w.suffix) {
				n, met = k, true
			}
		}
		if met {
			fmt.Fprintf(w.h, "var #%d\n", n)
		} else {
			fmt.Fprintf(w.h, "var %s\n", v.Name())
		}
	}
	for _, init := range initialisers(f, src) {
		w.h.Write([]byte(init))
	}
}

// initialisers returns the values of var declarations as tokens without comments.
func initialisers(f *source.File, src string) []string {
	var out []string
	for _, spec := range varSpecs(f.AST) {
		for _, v := range spec.Values {
			from, to := f.Fset.Position(v.Pos()).Offset, f.Fset.Position(v.End()).Offset
			out = append(out, tokens(src[from:to]))
		}
	}
	return out
}

// tokens returns a text's tokens, without comments and line breaks.
func tokens(src string) string {
	var s scanner.Scanner
	fset := token.NewFileSet()
	s.Init(fset.AddFile("", -1, len(src)), []byte(src), nil, 0)
	var b strings.Builder
	for {
		_, tok, lit := s.Scan()
		if tok == token.EOF {
			return b.String() + "\n"
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		b.WriteString(tok.String() + lit + " ")
	}
}
