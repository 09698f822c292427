package kit_test

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
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
