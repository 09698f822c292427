package harness

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A diagnostic is one line of the compiler's output under -json.
type diagnostic struct {
	Range struct {
		Start struct{ Line, Character int }
	}
	Code    string
	Message string
}

// account reads the compiler's account of the files below dir, by base name.
// A file about which it had nothing to say is missing.
func account(dir string) (map[string][]diagnostic, error) {
	out := map[string][]diagnostic{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil || d.IsDir() || !ours(d.Name()) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, ds, err := parseAccount(text)
		out[name] = append(out[name], ds...)
		return err
	})
	return out, err
}

var accountName = regexp.MustCompile(`^beagle_v[0-9]+\.json$`)

// ours skips the accounts of the user's other files unread.
func ours(name string) bool { return accountName.MatchString(name) }

// parseAccount reads the compiler's account of one file: the file's name, then one diagnostic a
// line.
func parseAccount(text []byte) (string, []diagnostic, error) {
	var head struct{ File string }
	var out []diagnostic
	s := bufio.NewScanner(bytes.NewReader(text))
	s.Buffer(nil, len(text)+1)
	for first := true; s.Scan(); first = false {
		if first {
			if err := json.Unmarshal(s.Bytes(), &head); err != nil {
				return "", nil, err
			}
			continue
		}
		var d diagnostic
		if err := json.Unmarshal(s.Bytes(), &d); err != nil {
			return "", nil, err
		}
		out = append(out, d)
	}
	return filepath.Base(head.File), out, s.Err()
}

var costs = regexp.MustCompile(`cost:? ([0-9]+)`)

// staticFacts sums up the compiler's account of one version. line is where
// the target's name stands.
func staticFacts(ds []diagnostic, line int) beagle.StaticFacts {
	inorder.By(ds, func(a, b diagnostic) int {
		return cmp.Or(cmp.Compare(a.Range.Start.Line, b.Range.Start.Line),
			cmp.Compare(a.Range.Start.Character, b.Range.Start.Character),
			cmp.Compare(a.Code, b.Code), -cmp.Compare(len(a.Message), len(b.Message)))
	})
	// The compiler tells an escape twice, once without words.
	ds = slices.CompactFunc(ds, func(a, b diagnostic) bool {
		return a.Range == b.Range && a.Code == b.Code && (a.Message == b.Message || b.Message == "")
	})
	var f beagle.StaticFacts
	for _, d := range ds {
		f.Notes = append(f.Notes, beagle.Note{Line: d.Range.Start.Line, Code: d.Code, Text: d.Message})
		switch d.Code {
		case "isInBounds", "isSliceInBounds":
			f.BoundsChecks++
		case "escape":
			f.Escapes++
		case "canInlineFunction", "cannotInlineFunction":
			if d.Range.Start.Line == line {
				f.Inlinable = d.Code == "canInlineFunction"
				if m := costs.FindStringSubmatch(d.Message); m != nil {
					f.InlineCost, _ = strconv.Atoi(m[1])
				}
			}
		}
	}
	return f
}
