package kit_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate/kit"
)

func TestAffixText(t *testing.T) {
	words := []string{"", "a", "b", "ab", "ba", "aba", "abab"}
	for _, w := range words {
		for _, s := range words {
			b := []byte(w)
			if kit.HasPrefixText(b, s) != bytes.HasPrefix(b, []byte(s)) ||
				kit.HasSuffixText(b, s) != bytes.HasSuffix(b, []byte(s)) {
				t.Errorf("of %q and %q", w, s)
			}
			if !bytes.Equal(kit.TrimPrefixText(b, s), bytes.TrimPrefix(b, []byte(s))) ||
				!bytes.Equal(kit.TrimSuffixText(b, s), bytes.TrimSuffix(b, []byte(s))) {
				t.Errorf("trim %q by %q", w, s)
			}
			got, ok := kit.CutPrefixText(b, s)
			want, wantOK := bytes.CutPrefix(b, []byte(s))
			if !bytes.Equal(got, want) || ok != wantOK {
				t.Errorf("CutPrefixText(%q, %q) = %q, %v", w, s, got, ok)
			}
			got, ok = kit.CutSuffixText(b, s)
			want, wantOK = bytes.CutSuffix(b, []byte(s))
			if !bytes.Equal(got, want) || ok != wantOK {
				t.Errorf("CutSuffixText(%q, %q) = %q, %v", w, s, got, ok)
			}
		}
	}
}

func TestHex(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 80 {
		src := make([]byte, n)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		if got, want := kit.HexText(src), hex.EncodeToString(src); got != want {
			t.Errorf("HexText(%x) = %s", src, got)
		}
	}
}

func TestPieces(t *testing.T) {
	texts := []string{"", " ", "a", "a,b", ",", ",,a,", "a b", " a  b\t", "é b", "a,é,b", "\x0bx\x85y"}
	for _, s := range texts {
		for _, sep := range []string{",", ", ", "b", "é"} {
			var room [3]string
			if got, want := kit.AppendParts(room[:0], s, sep), strings.Split(s, sep); !sameList(got, want) {
				t.Errorf("AppendParts(%q, %q) = %q", s, sep, got)
			}
			for most := 2; most < 5; most++ {
				room := make([]string, most)
				got, want := kit.AppendFirstParts(room[:0], s, sep, most), strings.SplitN(s, sep, most)
				if !sameList(got, want) {
					t.Errorf("AppendFirstParts(%q, %q, %d) = %q", s, sep, most, got)
				}
			}
		}
		var room [2]string
		if got, want := kit.AppendFields(room[:0], s), strings.Fields(s); !sameList(got, want) {
			t.Errorf("AppendFields(%q) = %q", s, got)
		}
		head, tail, found := kit.CutByte(s, ',')
		if h, l, f := strings.Cut(s, ","); head != h || tail != l || found != f {
			t.Errorf("CutByte(%q) = %q, %q, %v", s, head, tail, found)
		}
		front, rest, found := kit.CutBytes([]byte(s), ',')
		if h, l, f := bytes.Cut([]byte(s), []byte(",")); !bytes.Equal(front, h) || !bytes.Equal(rest, l) ||
			(rest == nil) != (l == nil) || found != f {
			t.Errorf("CutBytes(%q) = %q, %q, %v", s, front, rest, found)
		}
	}
}

// sameList reports whether two lists have the same pieces, and room for as many more.
func sameList(a, b []string) bool { return slices.Equal(a, b) && cap(a) == cap(b) }
