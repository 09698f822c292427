package verify

import (
	"fmt"
	"go/types"

	bounded "github.com/beagle-go/beagle/internal/proof"
	"github.com/beagle-go/beagle/internal/proof/exec"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/syntax"
)

// recordOf converts an input of terms into a record of the harness.
func recordOf(w *bounded.Witness) []byte {
	top := rt.Value{Kind: rt.KindStruct}
	for i := range w.Params {
		top.Names = append(top.Names, fmt.Sprintf("A%d", i))
		top.Elems = append(top.Elems, valueOf(&w.Params[i], w))
	}
	return top.Append(nil)
}

// valueOf turns a parameter of a solver's witness into a value.
func valueOf(p *exec.Param, w *bounded.Witness) rt.Value {
	var elems []rt.Value
	for i := range p.Elems {
		elems = append(elems, valueOf(&p.Elems[i], w))
	}
	switch u := p.Type.Underlying().(type) {
	case *types.Slice:
		if syntax.IsByte(u.Elem()) {
			return rt.Value{Kind: rt.KindBytes, Str: bytesOf(elems)}
		}
		return rt.Value{Kind: rt.KindList, Elems: elems}
	case *types.Array:
		return rt.Value{Kind: rt.KindArray, Elems: elems}
	case *types.Struct:
		v := rt.Value{Kind: rt.KindStruct, Elems: elems}
		for i := range u.NumFields() {
			v.Names = append(v.Names, u.Field(i).Name())
		}
		return v
	case *types.Pointer:
		if p.Nil {
			return rt.Value{Kind: rt.KindNil}
		}
		return rt.Value{Kind: rt.KindPointer, Elems: elems}
	case *types.Basic:
		return basicOf(p, u, w)
	}
	return rt.Value{Kind: rt.KindNil}
}

func basicOf(p *exec.Param, u *types.Basic, w *bounded.Witness) rt.Value {
	if u.Info()&types.IsString != 0 {
		b := make([]byte, len(p.Bytes))
		for i, t := range p.Bytes {
			b[i] = byte(w.Values[t])
		}
		return rt.Value{Kind: rt.KindString, Str: string(b)}
	}
	n := w.Values[p.Term] & (^uint64(0) >> (64 - p.Term.W))
	switch {
	case u.Info()&types.IsBoolean != 0:
		return rt.Value{Kind: rt.KindBool, Bits: n}
	case u.Info()&types.IsUnsigned != 0:
		return rt.Value{Kind: rt.KindUint, Bits: n}
	}
	shift := 64 - p.Term.W
	return rt.Value{Kind: rt.KindInt, Bits: uint64(int64(n<<shift) >> shift)}
}

func bytesOf(elems []rt.Value) string {
	b := make([]byte, len(elems))
	for i := range elems {
		b[i] = byte(elems[i].Bits)
	}
	return string(b)
}
