package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
)

// io refuses a target that reads or writes files, the environment, the network or a log, unless its
// contract ignores that. The judge compares results and memory, so it would accept a version that
// writes another file. In place, io allows targets that only read or print: both versions read the
// same under the tests, and the judge compares the printed lines. io follows direct calls within
// the package. It does not see the code behind interfaces or in other modules.
func (u *Unit) io() error {
	if slices.Contains(u.Target.Contract.Ignore, beagle.IgnoreIO) {
		return nil
	}
	// Find the first use of a function that does input or output.
	at, name := u.Scope.targetReaches(doesIO)
	if name == "" {
		return nil
	}
	// In place, reading and printing may stay, since the tests see both. Anything else is worse.
	if u.opts.InPlace {
		worse := func(fn *types.Func) bool {
			return doesIO(fn) && (fn.Signature().Recv() != nil || !listed(readsOrPrints, fn))
		}
		changes, what := u.Scope.targetReaches(worse)
		if what == "" {
			u.Outside = name
			if u.Unrecordable == nil {
				u.Unrecordable = u.ioRefusal(at, name)
			}
			return nil
		}
		at, name = changes, what
	}
	return u.ioRefusal(at, name)
}

func (u *Unit) ioRefusal(at token.Pos, name string) error {
	p := u.Package.fset.Position(at)
	return &beagle.UsageError{
		What: fmt.Sprintf("%s reaches %s (%s:%d), and no check compares its effects outside of the program's memory",
			u.Target.Spec(), name, filepath.Base(p.Filename), p.Line),
		Remedy: "choose the function that computes, or accept the risk with --ignore io: then only results and " +
			"memory are compared",
	}
}

// targetReaches is reachesIO from the target, or from any function of a group.
func (sc *Scope) targetReaches(does func(*types.Func) bool) (at token.Pos, name string) {
	if sc.group == nil {
		return sc.pkg.reachesIO(sc.target.decl, does, map[*types.Func]bool{})
	}
	for _, p := range sc.group.roots {
		if at, name = sc.pkg.reachesIO(p.decl, does, map[*types.Func]bool{}); name != "" {
			break
		}
	}
	return at, name
}

// reachesIO finds a use of a function that does a kind of input or output, in a
// declaration and what it calls in its package.
func (pkg *Package) reachesIO(
	decl ast.Node, does func(*types.Func) bool, seen map[*types.Func]bool,
) (at token.Pos, name string) {
	ast.Inspect(decl, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || name != "" {
			return name == ""
		}
		fn, ok := pkg.info.Uses[id].(*types.Func)
		// Each function is looked into once.
		if !ok || fn.Pkg() == nil || seen[fn.Origin()] {
			return true
		}
		fn = fn.Origin()
		seen[fn] = true
		// A function of the package is followed; one of another package does what its name says.
		switch {
		case does(fn):
			at, name = id.Pos(), shortName(fn)
		case fn.Pkg().Path() == pkg.Path:
			if d := pkg.declaration(fn); d != nil {
				at, name = pkg.reachesIO(d, does, seen)
			}
		}
		return name == ""
	})
	return at, name
}

// ioFunctions lists the functions and methods of the standard library that read or write outside of
// the program's memory. "*" stands for all of a package except those after a minus. Clocks and
// random numbers are not listed: with them a function differs from itself, and the judge notices
// that. Nor are functions that end the process, as assertions do.
var ioFunctions = map[string]string{
	`os`: `* -IsExist -IsNotExist -IsPermission -IsTimeout -IsPathSeparator -NewSyscallError -Expand -Getpagesize
		-Error -Unwrap -Timeout -String -IsDir -IsRegular -Perm -Type -Exit`,
	`os/exec`: `*`, `os/signal`: `*`, `os/user`: `*`, `plugin`: `*`, `log/syslog`: `*`, `net/smtp`: `*`, `net/rpc`: `*`,
	`syscall`: `* -Error -Is -Temporary -Timeout`,
	`log`:     `* -Fatal -Fatalf -Fatalln -Panic -Panicf -Panicln`, `io/ioutil`: `* -NopCloser -ReadAll`,
	`log/slog`: `Debug DebugContext Info InfoContext Warn WarnContext Error ErrorContext Log LogAttrs`,
	`fmt`:      `Print Printf Println Scan Scanf Scanln`,
	`net`: `Dial DialContext DialIP DialTCP DialTimeout DialUDP DialUnix Listen ListenIP ListenPacket ListenTCP ListenUDP
		ListenUnix LookupAddr LookupCNAME LookupHost LookupIP LookupIPAddr LookupMX LookupNS LookupPort LookupSRV LookupTXT
		ResolveIPAddr ResolveTCPAddr ResolveUDPAddr Interfaces InterfaceAddrs InterfaceByName InterfaceByIndex`,
	`net/http`:      `Get Head Post PostForm Do RoundTrip ListenAndServe ListenAndServeTLS Serve ServeTLS ServeFile`,
	`path/filepath`: `Abs EvalSymlinks Glob Walk WalkDir`,
}

func doesIO(fn *types.Func) bool {
	if r := fn.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
		return false
	}
	return listed(ioFunctions, fn)
}

// readsOrPrints lists the ioFunctions that change nothing outside, or print lines to the standard
// output or error. A test binary shows their effects.
var readsOrPrints = map[string]string{
	`os`: `Getenv LookupEnv Environ ExpandEnv Hostname Getpid Getppid Getuid Geteuid Getgid Getegid Getwd Executable
		UserHomeDir UserCacheDir UserConfigDir TempDir ReadFile ReadDir Stat Lstat Readlink`,
	`path/filepath`: `Abs EvalSymlinks Glob`, `io/ioutil`: `ReadFile ReadDir`,
	`fmt`: `Print Printf Println`,
	`log`: `Print Printf Println Output Flags Prefix Default`,
}

// listed reports whether a table lists a function of its package.
func listed(table map[string]string, fn *types.Func) bool {
	names := strings.Fields(table[fn.Pkg().Path()])
	if slices.Contains(names, "*") {
		return !slices.Contains(names, "-"+fn.Name())
	}
	return slices.Contains(names, fn.Name())
}

// shortName is "os.Setenv" or "os.File.Write".
func shortName(fn *types.Func) string {
	name := fn.Name()
	if r := fn.Signature().Recv(); r != nil {
		t := types.TypeString(r.Type(), func(*types.Package) string { return "" })
		name = strings.TrimPrefix(t, "*") + "." + name
	}
	return fn.Pkg().Name() + "." + name
}
