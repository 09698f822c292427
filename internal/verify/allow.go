package verify

import (
	"go/types"
	"strings"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/syntax"
)

// pure lists the pure packages: their functions keep nothing between calls that a caller could see,
// and touch nothing outside the process's memory. A candidate may start to use them. It may use any
// other package only as far as the original does.
var pure = set(strings.Join(effects.Packages, " ") + " simd/archsimd")

// impure lists the exceptions within the pure packages.
var impure = set(`
	fmt.Print fmt.Printf fmt.Println fmt.Scan fmt.Scanf fmt.Scanln
	io.Pipe iter.Pull iter.Pull2
	time.Now time.Since time.Until time.Sleep time.After time.AfterFunc time.Tick
	time.NewTimer time.NewTicker time.LoadLocation time.Local time.Time.Local
	time.Timer time.Ticker
	text/scanner.Scanner.Next text/scanner.Scanner.Scan`) // a Scanner without a handler prints errors

// pureOnly lists single pure functions of packages that are not pure as a whole.
var pureOnly = set(`
	net.JoinHostPort net.SplitHostPort reflect.TypeFor
	path/filepath.Base path/filepath.Clean path/filepath.Dir path/filepath.Ext
	path/filepath.FromSlash path/filepath.IsAbs path/filepath.IsLocal
	path/filepath.Join path/filepath.Match path/filepath.Rel path/filepath.Split
	path/filepath.SplitList path/filepath.ToSlash path/filepath.VolumeName ` + vectorised(`
	.ASCII .ASCIIString .IndexNonASCII .IndexNonASCIIString .TagValid .TagValidString
	.IndexNonTag .IndexNonTagString .IndexInvalidTag .Count .CountString .LowerASCIIInPlace
	.SumInt64 .MinMaxInt64 .MinMaxFloat64
	/crc.Update /crc.UpdateString /crc.UpdateIEEE /crc.UpdateIEEEString`))

// vectorised gives names of functions the path of Beagle's vector kernels, which keep no state. A
// candidate may call them where it may import that module: where go.mod requires it, or --with-simd
// lets go.mod get it.
func vectorised(names string) string {
	var out []string
	for name := range strings.FieldsSeq(names) {
		out = append(out, "github.com/beagle-go/beagle/simd"+name)
	}
	return strings.Join(out, " ")
}

// stateful lists packages whose types keep state or break the rules of types. The policy refuses a
// candidate that names one of these types.
var stateful = set(`sync sync/atomic unsafe unique weak reflect`)

// topics names the outside thing that a package touches; the longest matching prefix counts.
var topics = []struct{ prefix, what string }{
	{"C", "C code"},
	{"unsafe", "memory behind the types' back"},
	{"sync", "state that several calls share"},
	{"unique", "state that several calls share"},
	{"weak", "the garbage collector"},
	{"reflect", "values behind the types' back"},
	{"runtime", "the runtime's state or the callers"},
	{"internal", "the runtime's state"},
	{"testing", "the state of the test"},
	{"flag", "the command line"},
	{"os", "the environment, files or processes"},
	{"syscall", "the operating system"},
	{"plugin", "other code"},
	{"net", "the network"},
	{"io/fs", "files"}, {"io/ioutil", "files"}, {"path/filepath", "files"}, {"embed", "files"}, {"mime", "files"},
	{"log", "the log"}, {"expvar", "published state"},
	{"math/rand", "random numbers"}, {"crypto/rand", "random numbers"}, {"hash/maphash", "random seeds"},
	{"time", "the clock"}, {"context", "timers and goroutines"},
	{"fmt", "standard input or output"}, {"iter", "coroutines"}, {"io", "goroutines"},
}

// topic names the outside thing that a package touches.
func topic(path string) string {
	best, what := 0, "something that Beagle does not know to be free of effects"
	for _, t := range topics {
		if len(t.prefix) > best && (path == t.prefix || strings.HasPrefix(path, t.prefix+"/")) {
			best, what = len(t.prefix), t.what
		}
	}
	return what
}

// objectName returns "path.Name" or "path.Type.Name", the form of the lists above.
func objectName(obj types.Object) string {
	name := obj.Name()
	if f, ok := obj.(*types.Func); ok {
		name = syntax.FuncName(f)
	}
	if obj.Pkg() == nil {
		return name
	}
	return obj.Pkg().Path() + "." + name
}

// set makes a set of words.
func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
