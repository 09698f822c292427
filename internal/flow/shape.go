package flow

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/llm"
)

// shape identifies a candidate by its text without comments and names of local variables.
func shape(f *source.File) string {
	names, src := localNames(f), []byte(f.Src)
	file := token.NewFileSet().AddFile("", -1, len(src))
	var scan scanner.Scanner
	scan.Init(file, src, nil, 0) // leaves comments out
	var words []string
	for {
		pos, tok, text := scan.Scan()
		switch name := names[file.Offset(pos)]; {
		case tok == token.EOF:
			return beagle.HashOf("shape", strings.Join(words, " "))
		case name != "":
			words = append(words, name)
		case tok == token.IDENT || tok.IsLiteral():
			words = append(words, text)
		default:
			words = append(words, tok.String())
		}
	}
}

// localNames numbers the names of local variables, by where they stand.
func localNames(f *source.File) map[int]string {
	numbers, at := map[types.Object]string{}, map[int]string{}
	ast.Inspect(f.AST, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		obj := f.Info.Defs[id]
		if obj == nil {
			obj = f.Info.Uses[id]
		}
		if !isLocal(obj) || id.Name == "_" {
			return true
		}
		if numbers[obj] == "" {
			numbers[obj] = "v" + strconv.Itoa(len(numbers))
		}
		at[f.Fset.PositionFor(id.Pos(), false).Offset] = numbers[obj]
		return true
	})
	return at
}

// isLocal reports whether an object is declared inside a function.
func isLocal(obj types.Object) bool {
	switch v := obj.(type) {
	case *types.Var:
		if v.IsField() {
			return false
		}
	case *types.Const, *types.Label:
	default:
		return false
	}
	return obj.Pkg() != nil && obj.Parent() != obj.Pkg().Scope()
}

// maxNesting bounds how deep the syntax of a candidate may nest. People stay far below; deeper code
// is meant to exhaust its readers.
const maxNesting = 300

// depth returns how deep the syntax of a text nests; 0 if it does not parse, which other checks
// report. It must run before any code that recurses over types.
func depth(text string) int {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return 0
	}
	at, deepest := 0, 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			at--
			return true
		}
		at++
		deepest = max(deepest, at)
		return true
	})
	return deepest
}

// outsized returns why a text is too long or too deep to be read, or "".
func outsized(text string) string {
	if len(text) > llm.MaxCode {
		return fmt.Sprintf("the file has %d bytes; the most is %d", len(text), llm.MaxCode)
	}
	if deep := depth(text); deep > maxNesting {
		return fmt.Sprintf("the code nests %d deep; the most is %d", deep, maxNesting)
	}
	return ""
}
