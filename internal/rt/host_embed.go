package rt

import (
	"embed"
	"slices"
)

// Source is the source of this package, as `internal/harness` ships it. The patterns leave out the
// tests, and host_*.go, the only names that begin with h: only Beagle itself uses these files, on
// records and recordings.
//
//go:embed rt.go [^h]*[^t].go [^h]*[^s]t.go [^h]*[^e]st.go
var Source embed.FS

// A ProgramKind is a kind of generated program, which needs some files of this package.
// All of them take seconds to compile, and a recording program needs a third.
type ProgramKind int

// The kinds of programs.
const (
	Recording ProgramKind = iota // NewSite and what a Site does
	Judging                      // New and Main
)

// Files that not every program needs. A file that is named nowhere goes into all programs that
// judge, so a new one is at worst compiled without need.
var (
	// Recording makes coders, which know how to read and to clone, and uses
	// them to write.
	recorded = []string{
		"alias.go", "capture.go", "capture_mmap.go", "capture_other.go", "clone.go", "coder.go",
		"cpuclock_other.go", "cpuclock_unix.go", "goroutine.go", "sentinel.go", "special.go", "tags.go",
		"typetable.go",
		"decode.go", "decode_basic.go", "decode_composite.go", "decode_map.go", "decode_shared.go",
		"encode.go", "encode_basic.go", "encode_composite.go", "encode_error.go", "encode_map.go",
	}
	onlyRecorded = []string{"capture.go", "capture_mmap.go", "capture_other.go"}
)

// Has reports whether a file of Source belongs to the part.
func (p ProgramKind) Has(file string) bool {
	if p == Recording {
		return slices.Contains(recorded, file)
	}
	return !slices.Contains(onlyRecorded, file)
}

// Files returns the text of each file of the part by name, as it is compiled into generated
// programs.
func (p ProgramKind) Files() map[string]string { return Texts(Source, p.Has) }

// Texts returns the text of each file of an embedded directory that keep names.
func Texts(dir embed.FS, keep func(file string) bool) map[string]string {
	out := map[string]string{}
	entries, err := dir.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory cannot be missing
	}
	for _, e := range entries {
		if !keep(e.Name()) {
			continue
		}
		text, err := dir.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		out[e.Name()] = string(text)
	}
	return out
}
