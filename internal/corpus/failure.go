package corpus

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// quoted bounds a program's output in a message.
const quoted = 300

// missingModule matches the go command's message when it may not download.
var missingModule = regexp.MustCompile(`(?m)^go: downloading (\S+ \S+)$|(\S+): module lookup disabled by GOPROXY=off`)

// buildFailure is why tests did not build. The compiler's first complaint
// explains the rest.
func buildFailure(r sandbox.Result) string {
	out := printed(r)
	if m := missingModule.FindStringSubmatch(out); m != nil {
		return fmt.Sprintf("they need %s, which is not downloaded; run `go mod download`", m[1]+m[2])
	}
	if _, rest, ok := strings.Cut(out, "\n"); ok && strings.HasPrefix(out, "# ") {
		out = rest // which package, as the message says already
	}
	return head(out) + describeEnd(r, out)
}

// failed matches where the output of a failing test begins to say why. A panic
// below a failed test says more than the test's name.
var failed = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^panic: |^fatal error: |^runtime: `),
	regexp.MustCompile(`(?m)^\s*--- FAIL: `),
}

var (
	failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	// below "running tests:" of a timeout
	underWay = regexp.MustCompile(`(?m)^\t\t((?:Test|Benchmark|Example|Fuzz)\S*) \(\d`)
	frame    = regexp.MustCompile(`(?m)^\t(/.+\.go):(\d+)(?: \+0x[0-9a-f]+)?$`)
)

// namedTests are at most this many in a message.
const namedTests = 4

// failingTests names the tests that failed; of a test and its subtests, those.
func failingTests(out string) string {
	var names []string
	for _, m := range slices.Concat(failing.FindAllStringSubmatch(out, -1), underWay.FindAllStringSubmatch(out, -1)) {
		if !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	all := slices.Clone(names)
	names = slices.DeleteFunc(names, func(n string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, n+"/") })
	})
	more := ""
	if n := len(names) - namedTests; n > 0 {
		names, more = names[:namedTests], fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, ", ") + more
}

// ownFrame returns the first place in the module of a stack that was printed: above it are the
// runtime and the testing package.
func ownFrame(out, dir string) string {
	for _, m := range frame.FindAllStringSubmatch(out, -1) {
		local, err := filepath.Rel(dir, m[1])
		if err == nil && filepath.IsLocal(local) && !strings.Contains(local, "beaglert") {
			return filepath.ToSlash(local) + ":" + m[2]
		}
	}
	return ""
}

// testFailure describes how tests or benchmarks of the module in dir failed.
func testFailure(r sandbox.Result, dir string) string {
	const kept = "; the calls recorded until then are kept"
	if r.Ended == sandbox.Wall {
		return fmt.Sprintf("took longer than %v and was stopped%s", r.Wall.Round(time.Second), kept)
	}
	out := printed(r)
	where := ""
	if names := failingTests(out); names != "" {
		where = " (" + names + ")"
	}
	for _, re := range failed {
		if at := re.FindStringIndex(out); at != nil {
			said := strings.TrimSpace(out[at[0]:])
			said, stack, _ := strings.Cut(said, "\n\n")
			if place := ownFrame(stack, dir); place != "" {
				said = strings.TrimSpace(head(said)) + "\nat " + place
			} else {
				said = head(said)
			}
			return fmt.Sprintf("failed%s%s: %s", where, kept, said)
		}
	}
	return fmt.Sprintf("failed%s%s: %s%s", where, kept, lastLines(out), describeEnd(r, out))
}

func printed(r sandbox.Result) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(r.Stdout)+string(r.Stderr)), "?")
}

// describeEnd describes how a program ended when its output does not.
func describeEnd(r sandbox.Result, out string) string {
	if r.Ended == sandbox.Exited && out != "" {
		return ""
	}
	return fmt.Sprintf(" (ended by: %s, status %d)", r.Ended, r.Code)
}

// head returns the beginning of a text, in whole lines where they are short.
func head(s string) string {
	if len(s) <= quoted {
		return s
	}
	s = s[:quoted]
	if i := strings.LastIndexByte(s, '\n'); i > 0 {
		s = s[:i]
	}
	return strings.ToValidUTF8(s, "") + " ..."
}

// lastLines returns the end of a text, in whole lines where they are short.
func lastLines(s string) string {
	if len(s) <= quoted {
		return s
	}
	s = s[len(s)-quoted:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i+1 < len(s) {
		s = s[i+1:]
	}
	return "... " + strings.ToValidUTF8(s, "")
}
