package rt

import (
	"slices"
	"testing"
)

// TestSharedMemoryIsShown: a call whose arguments are slices of one memory is
// shown so that it can be repeated.
func TestSharedMemoryIsShown(t *testing.T) {
	type texts []string
	type args struct {
		A0, A1 []byte
		A2     int
		A3     []string
		A4     texts
		A5     []byte
	}
	b, s := []byte("0123456789"), []string{"a", "b", "c"}
	a := args{b[1:3:6], b[2:9:10], 7, s[:2], texts(s[1:]), b[:0:0]}
	exprs, _ := spellCall(&a)
	setup, _ := sharedMemory(&a, exprs)
	want := []string{`shared0 := []byte("123456789")`, `shared1 := []string{"a", "b", "c"}`}
	if !slices.Equal(setup, want) {
		t.Errorf("setup %q, want %q", setup, want)
	}
	want = []string{"shared0[0:2:5]", "shared0[1:8:9]", "7", "shared1[0:2:3]", "texts(shared1[1:3:3])"}
	if !slices.Equal(exprs[:5], want) {
		t.Errorf("arguments %q, want %q", exprs, want)
	}
	apart := args{A0: []byte("x"), A1: []byte("x")}
	exprs, _ = spellCall(&apart)
	if setup, _ := sharedMemory(&apart, exprs); setup != nil || exprs[0] != `[]byte("x")` {
		t.Errorf("setup %q, arguments %q of memory that is not shared", setup, exprs)
	}
}
