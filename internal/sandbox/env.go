package sandbox

import (
	"os"
	"runtime"
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

// offline keeps the toolchain from what it could not reach anyway, so that it
// says so at once.
var offline = []string{"GOPROXY=off", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOTELEMETRY=off", "GOVCS=*:off", "GIT_TERMINAL_PROMPT=0"}

// environment is what the program sees. home is its work directory.
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

// systemPaths are what dynamically linked programs and C compilers need.
func systemPaths() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	return []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store",
		"/etc/alternatives", "/etc/ld.so.cache", "/etc/localtime", "/etc/mime.types", "/etc/nsswitch.conf",
		"/etc/passwd", "/etc/group", "/etc/hosts", "/etc/protocols", "/etc/services", "/etc/ssl/certs",
	}
}

// wantsSystem reports whether the system's directories are shown.
func (c *Command) wantsSystem() bool { return c.System || c.Profile != Run }
