package hotspots

import (
	"path"
	"regexp"
	"strings"

	linker "github.com/beagle-go/beagle/internal/symbol"
)

// A symbol is a linker name in its parts.
type symbol struct {
	pkg     string // import path, or "main"
	name    string // Func or Type.Method, of the declaration that holds the code
	closure bool   // the code is in a function literal or a wrapper inside of name
}

// closureTail matches the tail that the compiler appends to the name of a function for the literals
// in it: func1, its nested .2, gowrap1 for `go f(x)`, deferwrap1, the bodies of range-over-func
// loops, and -fm for method values.
var closureTail = regexp.MustCompile(`(\.func[0-9]+|\.gowrap[0-9]+|\.deferwrap[0-9]+|-range[0-9]+|\.[0-9]+|-fm)+$`)

// parseName takes a linker name apart. Type parameters are written [...] in
// profiles, or [go.shape.int] in full; both go.
func parseName(full string) symbol {
	bare := linker.WithoutTypeArgs(full)
	slash := strings.LastIndex(bare, "/") + 1
	dot := strings.IndexByte(bare[slash:], '.')
	if dot < 0 {
		return symbol{name: bare}
	}
	s := symbol{pkg: strings.ReplaceAll(bare[:slash+dot], "%2e", "."), name: bare[slash+dot+1:]}
	s.name = strings.TrimSuffix(s.name, ".abi0")
	if body := closureTail.ReplaceAllString(s.name, ""); body != s.name && body != "" {
		s.closure = !strings.HasSuffix(s.name, "-fm") || closureTail.ReplaceAllString(strings.TrimSuffix(s.name,
			"-fm"), "") != body
		s.name = body
	}
	s.name = strings.NewReplacer("(*", "", ")", "").Replace(s.name)
	return s
}

// isRuntime reports whether a package is a part of Go's runtime, which works
// for its callers.
func isRuntime(pkg string) bool {
	return pkg == "" || pkg == "runtime" || strings.HasPrefix(pkg, "runtime/internal/") ||
		strings.HasPrefix(pkg, "internal/runtime/") || pkg == "internal/bytealg" || pkg == "internal/abi"
}

// inModuleCache reports whether a file is of another module, by its path: the
// module cache has a version in it, and -trimpath leaves that version.
var inModuleCache = regexp.MustCompile(`@v[0-9]+\.[0-9]+\.[0-9]+`).MatchString

// ofPackage reports whether a package is one of a prefix of import paths.
func ofPackage(pkg, prefix string) bool {
	return pkg == prefix || strings.HasPrefix(pkg, strings.TrimSuffix(prefix, "/")+"/")
}

func isTestFile(file string) bool { return strings.HasSuffix(file, "_test.go") }

func isAssembly(file string) bool { return path.Ext(file) == ".s" }
