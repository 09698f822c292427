package harness

import (
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"testing/fstest"

	"github.com/beagle-go/beagle/internal/rt"
)

// RTSource is the source of package rt as it is compiled into generated
// programs: without tests and without the file that embeds it.
func RTSource() fs.FS { return rtFiles }

var rtFiles = func() fstest.MapFS {
	out := fstest.MapFS{}
	entries, err := rt.Source.ReadDir(".")
	if err != nil {
		panic(err) // an embedded directory cannot be missing
	}
	for _, e := range entries {
		if name := e.Name(); name != "embed.go" && !strings.HasSuffix(name, "_test.go") {
			text, err := rt.Source.ReadFile(name)
			if err != nil {
				panic(err)
			}
			out[name] = &fstest.MapFile{Data: text, Mode: 0o444}
		}
	}
	return out
}()

// rtFor returns the names of rt's files that a platform compiles, and what
// they import.
func rtFor(goos, goarch string) (files, imports []string, err error) {
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = goos, goarch, false
	c.OpenFile = func(path string) (io.ReadCloser, error) { return rtFiles.Open(path) }
	c.JoinPath = func(parts ...string) string { return parts[len(parts)-1] }
	for name, file := range rtFiles {
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
