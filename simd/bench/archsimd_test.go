//go:build goexperiment.simd && amd64 && go1.26 && !go1.27

package main

import (
	"strings"
	"testing"
)

// TestTagForms: each form must agree with the table for every length and every byte in every place
// of it.
func TestTagForms(t *testing.T) {
	for _, f := range tagForms {
		t.Run(f.name, func(t *testing.T) {
			if !f.needs() {
				t.Skip("this processor lacks the instructions")
			}
			for n := range 150 {
				b := letters(n)
				for i := 0; i < n; i += 1 + n/40 {
					for _, c := range []byte{'a', 'z' + 1, 'A', 0, 0x7f, 0x80, 0xe1, 0xff} {
						old := b[i]
						b[i] = c
						checkForm(t, f, string(b))
						b[i] = old
					}
				}
				checkForm(t, f, string(b))
			}
		})
	}
}

func checkForm(t *testing.T, f tagForm, tag string) {
	t.Helper()
	good := naiveTag([]byte(tag)) == len(tag)
	want := -1
	if !good {
		want = 1
	}
	if got := f.many([]string{"ok", tag, strings.Repeat("x", 70)}); got != want {
		t.Fatalf("many: %q of length %d: got %d, want %d", tag, len(tag), got, want)
	}
	if f.one != nil && f.one(tag) != good {
		t.Fatalf("one: %q of length %d: want %v", tag, len(tag), good)
	}
}
