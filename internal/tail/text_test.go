package tail

import (
	"errors"
	"io/fs"
	"testing"
)

func TestText(t *testing.T) {
	for _, test := range []struct{ what, got, want string }{
		{"first of none", First(""), ""},
		{"first of one", First("a b "), "a b"},
		{"first of some", First("\n a\nb\n"), "a"},
		{"last of none", Last("", 2), ""},
		{"last of fewer", Last("a\n", 2), "a"},
		{"last of more", Last("a\nb\n\nc\n", 2), "\nc"},
		{"short", Short("abc", 3), "abc"},
		{"long", Short("abcd", 3), "abc..."},
		{"within a character", Short("aä€", 2), "a..."},
		{"behind a character", Short("aä€", 3), "aä..."},
		{"nothing fits", Short("€", 1), "..."},
		{"no text", Short("\x80\x80", 1), "..."},
		{"one", Plural(1, "block"), "1 block"},
		{"none", Plural(0, "block"), "0 blocks"},
	} {
		if test.got != test.want {
			t.Errorf("%s: %q, want %q", test.what, test.got, test.want)
		}
	}
}

func TestFileError(t *testing.T) {
	missing := &fs.PathError{Op: "open", Path: "a.go", Err: fs.ErrNotExist}
	for want, err := range map[string]error{
		"a.go: file does not exist": missing,
		"no disk":                   errors.New("no disk"),
	} {
		if got := FileError(err); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
