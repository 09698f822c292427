package hotspots

import (
	"fmt"
	"path"
	"strings"

	linker "github.com/beagle-go/beagle/internal/symbol"
	"github.com/google/pprof/profile"
)

// A class is the kind of a frame's code, as far as it decides which function pays.
type class uint8

const (
	foreign class = iota // of another module, or of the standard library
	goRuntime
	own
)

// A function is one declaration of the user's code. Several linker names, file names and
// instances of a generic function may belong to it.
type function struct {
	key     string // target for own code, else the linker name
	class   class
	target  string // "" when it cannot be one
	reason  string // why it cannot be one
	file    string
	symbols []string
	missing bool // own, and the checkout has no such declaration
	absent  bool // own, and the checkout has no such file
	said    int64
	decl    *SourceFunc

	marks marks
	id    uint64 // 0 until a stack needs it
}

// marks classify the work of a runtime or library function, for the advice and the collector's
// bill.
type marks uint8

const (
	allocates marks = 1 << iota
	collects        // roots of the collector's own goroutines
	hands           // channel operations
	locks
	logs
	calls // system calls
)

// A frame is a function at a line.
type frame struct {
	fn      *function
	line    int64
	inlined bool // into the next frame
}

// A namer makes functions of a profile's functions, and keeps them.
type namer struct {
	checkout *Checkout
	byKey    map[string]*function
	known    map[[2]string]*function // linker name and file
	last     uint64
}

func newNamer(c *Checkout) *namer {
	return &namer{checkout: c, byKey: map[string]*function{}, known: map[[2]string]*function{}}
}

func (n *namer) function(f *profile.Function) *function {
	id := [2]string{f.Name, f.Filename}
	if fn := n.known[id]; fn != nil {
		return fn
	}
	made := n.name(f)
	fn := n.byKey[made.key]
	if fn == nil {
		fn = made
		n.byKey[made.key] = fn
	}
	if fn.decl == nil {
		fn.decl = made.decl
	}
	if fn.said == 0 {
		fn.said = made.said
	}
	fn.symbols = append(fn.symbols, f.Name)
	n.known[id] = fn
	return fn
}

// name classifies a function. It tries own code first, since a module's path may look like one of
// the standard library's.
func (n *namer) name(f *profile.Function) *function {
	s := parseName(f.Name)
	c := n.checkout
	fn := &function{key: f.Name, class: foreign, file: f.Filename, marks: marksOf(s)}
	file, pkg := c.file(s, f.Filename, f.StartLine)
	mine := c.Owns(pkg) && !inModuleCache(f.Filename) || file != nil && len(c.Own) == 0
	if mine && s.closure && file == nil && c.Files != nil && isOutside(pkg, f.Filename) {
		mine = false // a library's literal that was inlined into own code
	}
	switch {
	case mine:
		fn.class = own
		n.nameOwn(fn, f, s, file, pkg)
		return fn
	case isRuntime(s.pkg):
		fn.class = goRuntime
		fn.reason = "it is part of Go's runtime: its callers cause the work (allocation, copying, hashing, scheduling)"
	case s.pkg == "main":
		fn.reason = "it is in a main package whose file " + f.Filename + " is not in the checkout: " +
			"give the checkout that it was built from with -C"
	case inModuleCache(f.Filename) || !linker.Standard(s.pkg):
		fn.reason = "it is in another module: copy it into your own to change it, or change how it is called"
		if strings.Contains(f.Filename, "/vendor/") {
			fn.reason = "it is vendored from another module: change how it is called, or fork the module"
		}
	default:
		fn.reason = "it is part of the standard library: look at who calls it, and how often"
	}
	return fn
}

// isOutside reports whether a file lies outside of the directory that a
// package's files have by their import path.
func isOutside(pkg, file string) bool {
	return path.Base(path.Dir(file)) != path.Base(pkg)
}

// nameOwn names a function of own code as a target, or notes the reason why it cannot be one.
func (n *namer) nameOwn(fn *function, f *profile.Function, s symbol, file *SourceFile, pkg string) {
	name := s.name
	if file != nil && s.closure && f.StartLine > 0 {
		if d := file.funcAt(f.StartLine); d != nil {
			name = d.Name // also for a literal that was inlined elsewhere with its function
		}
	}
	fn.target = pkg + "." + name
	if file != nil {
		fn.file = file.Path
		fn.decl = file.declaration(name)
		fn.missing = fn.decl == nil
		if s.pkg == "main" && pkg == "main" {
			fn.target = "./" + path.Dir(file.Path) + "." + name
			if path.Dir(file.Path) == "." {
				fn.target = "." + "/." + name
			}
		}
		if !s.closure {
			fn.said = f.StartLine
		}
	}
	fn.key = fn.target
	fn.reason = n.refusal(fn, s, file, f.Filename)
	if fn.reason != "" {
		fn.target = ""
	}
}

// refusal is why a function of the user's own code is no target.
func (n *namer) refusal(fn *function, s symbol, file *SourceFile, name string) string {
	switch {
	case isTestFile(name):
		return "it is in a test file"
	case isAssembly(name):
		return "it is assembly: no Go source text to rewrite"
	case strings.Contains(name, "/vendor/"):
		return "it is vendored from another module: change how it is called, or fork the module"
	case s.name == "init" || strings.HasPrefix(s.name, "init.") || strings.HasPrefix(s.name, "glob."):
		return "it runs once, before main"
	case file != nil && file.Generated:
		return "its file is generated: change the generator"
	case fn.decl != nil && !fn.decl.Body:
		return "it has no Go body"
	case name == "<autogenerated>":
		return "" // a wrapper: it counts for the method of its name
	case n.checkout.Files != nil && file == nil:
		fn.absent = true
		return fmt.Sprintf("its file %s is not in the checkout: the profile is of another build or another module",
			name)
	case fn.missing:
		return fmt.Sprintf("%s does not declare it any more: the profile is of another build than the checkout",
			file.Path)
	}
	return ""
}

// marksOf returns the marks of a function of the runtime or of a library.
func marksOf(s symbol) marks {
	var m marks
	switch {
	case s.pkg == "runtime":
		m = runtimeMarks(s.name)
	case s.pkg == "sync" || s.pkg == "internal/sync":
		if strings.Contains(s.name, "ock") && (strings.HasPrefix(s.name, "Mutex.") ||
			strings.HasPrefix(s.name, "RWMutex.")) {
			m = locks
		}
	case s.pkg == "syscall" || s.pkg == "internal/runtime/syscall" || s.pkg == "internal/runtime/syscall/linux" ||
		strings.HasSuffix(s.pkg, "/sys/unix"):
		m = calls
	case isLogger(s.pkg):
		m = logs
	}
	return m
}

func runtimeMarks(name string) marks {
	switch {
	case strings.HasPrefix(name, "mallocgc"):
		return allocates
	case name == "gcBgMarkWorker" || name == "bgsweep" || name == "bgscavenge":
		return collects
	case strings.HasPrefix(name, "chansend") || strings.HasPrefix(name, "chanrecv") || name == "selectgo" ||
		strings.HasPrefix(name, "selectnb"):
		return hands
	case name == "semacquire1" || name == "semrelease1":
		return locks
	}
	return 0
}

var loggers = []string{
	"log", "log/slog", "go.uber.org/zap", "github.com/sirupsen/logrus", "github.com/rs/zerolog",
	"github.com/golang/glog",
	"k8s.io/klog", "github.com/go-kit/log", "github.com/cihub/seelog", "github.com/hashicorp/go-hclog",
}

func isLogger(pkg string) bool {
	for _, l := range loggers {
		if ofPackage(pkg, l) {
			return true
		}
	}
	return false
}
