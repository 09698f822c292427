package harness

import (
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"testing/fstest"

	"github.com/beagle-go/beagle/internal/rt"
)

// RTSource is the source of a part of package rt as it is compiled into
// generated programs.
func RTSource(part rt.Part) fs.FS { return rtFiles(part) }

func rtFiles(part rt.Part) fstest.MapFS {
	out := fstest.MapFS{}
	entries, err := rt.Source.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory cannot be missing
	}
	for _, e := range entries {
		if !part.Has(e.Name()) {
			continue
		}
		text, err := rt.Source.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		out[e.Name()] = &fstest.MapFile{Data: text, Mode: 0o444}
	}
	return out
}

// rtFor returns the names of the part's files that a platform compiles, and
// what they import.
func rtFor(part rt.Part, goos, goarch string) (files, imports []string, err error) {
	source := rtFiles(part)
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = goos, goarch, false
	c.OpenFile = func(path string) (io.ReadCloser, error) { return source.Open(path) }
	c.JoinPath = func(parts ...string) string { return parts[len(parts)-1] }
	for name, file := range source {
		ok, err := c.MatchFile("", name)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		files = append(files, name)
		f, err := parser.ParseFile(token.NewFileSet(), name, file.Data, parser.ImportsOnly)
		if err != nil {
			return nil, nil, err
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			imports = append(imports, path)
		}
	}
	slices.Sort(files)
	slices.Sort(imports)
	return files, slices.Compact(imports), nil
}
