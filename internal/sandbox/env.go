package sandbox

import (
	"debug/elf"
	"os"
	"slices"
	"strings"
)

// passed are the variables of the user's environment that the toolchain may
// see. All others, and with them every secret, stay outside.
var passed = []string{
	"PATH", "LANG", "LC_ALL", "TZ",
	"GOROOT", "GOPATH", "GOMODCACHE", "GOCACHE", "GOOS", "GOARCH", "GOAMD64", "GOARM64", "GOEXPERIMENT",
	"GOFLAGS", "GOWORK", "GO111MODULE", "GOPRIVATE", "GONOSUMDB", "GODEBUG",
	"CGO_ENABLED", "CGO_CFLAGS", "CGO_CPPFLAGS", "CGO_CXXFLAGS", "CGO_LDFLAGS", "CC", "CXX", "AR", "PKG_CONFIG_PATH",
}

// offline makes the toolchain fail at once where it would wait for a network that it cannot
// reach.
var offline = []string{"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOVCS=*:off",
	"GIT_TERMINAL_PROMPT=0"}

// environment returns the program's environment. home is its work directory.
func (c *Command) environment(home string) []string {
	env := []string{"HOME=" + home, "TMPDIR=" + home, "LANG=C.UTF-8"}
	if c.Profile == Build || c.Profile == Test {
		for _, name := range passed {
			if v, ok := os.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
		env = append(env, offline...)
	}
	return lastWins(append(env, c.Env...))
}

func lastWins(env []string) []string {
	seen := map[string]bool{}
	var out []string
	for _, kv := range slices.Backward(env) {
		name, _, ok := strings.Cut(kv, "=")
		if !ok || seen[name] {
			continue
		}
		seen[name] = true
		out = append(out, kv)
	}
	slices.Reverse(out)
	return out
}

// systemPaths are needed by dynamically linked programs and C compilers.
var systemPaths = append([]string{
	"/usr", "/bin", "/sbin", "/etc/alternatives", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf",
	"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
}, libraryPaths...)

var libraryPaths = []string{"/lib", "/lib32", "/lib64", "/libx32", "/usr/lib", "/usr/lib32", "/usr/lib64",
	"/usr/libx32", "/usr/local/lib", "/nix/store", "/etc/ld.so.cache"}

// needs returns the directories of the system that the command cannot do
// without.
func (c *Command) needs() []string {
	if c.Profile != Run {
		return systemPaths
	}
	if dynamic(c.Path) {
		return libraryPaths
	}
	return nil
}

// dynamic reports whether a program is linked dynamically, as Go programs are
// that use cgo, if only through package net.
func dynamic(path string) bool {
	f, err := elf.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return true
		}
	}
	return false
}
