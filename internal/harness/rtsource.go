package harness

import (
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
)

// rtFor returns the names of the part's files that a platform compiles, and their imports.
func rtFor(part rt.ProgramKind, goos, goarch string) (files, imports []string, err error) {
	// Ask go/build, with the files in memory, which of them the platform compiles.
	source := part.Files()
	c := build.Default
	c.GOOS, c.GOARCH, c.CgoEnabled = goos, goarch, false
	c.OpenFile = func(path string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader(source[path])), nil
	}
	c.JoinPath = func(parts ...string) string { return parts[len(parts)-1] }
	for name, text := range source {
		ok, err := c.MatchFile("", name)
		if err != nil {
			return nil, nil, err
		}
		if !ok {
			continue
		}
		files = append(files, name)
		f, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ImportsOnly)
		if err != nil {
			return nil, nil, err
		}
		for _, i := range f.Imports {
			path, _ := strconv.Unquote(i.Path.Value)
			imports = append(imports, path)
		}
	}
	inorder.Sort(files)
	inorder.Sort(imports)
	return files, slices.Compact(imports), nil
}
