package corpus

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/sandbox"
)

// quoted is how much of a program's output a message repeats.
const quoted = 300

// missing matches what the go command says when it may not download.
var missing = regexp.MustCompile(`(?m)^go: downloading (\S+ \S+)$|(\S+): module lookup disabled by GOPROXY=off`)

// buildFailure is why tests did not build. The compiler's first complaint
// explains the rest.
func buildFailure(r sandbox.Result) string {
	out := printed(r)
	if m := missing.FindStringSubmatch(out); m != nil {
		return fmt.Sprintf("they need %s, which is not downloaded; run `go mod download`", m[1]+m[2])
	}
	if _, rest, ok := strings.Cut(out, "\n"); ok && strings.HasPrefix(out, "# ") {
		out = rest // which package, as the message says already
	}
	return head(out) + ended(r, out)
}

// failed matches where the output of a failing test begins to say why. A panic
// below a failed test says more than the test's name.
var failed = []*regexp.Regexp{
	regexp.MustCompile(`(?m)^panic: |^fatal error: |^runtime: `),
	regexp.MustCompile(`(?m)^\s*--- FAIL: `),
}

// testFailure is how tests or benchmarks ended.
func testFailure(r sandbox.Result) string {
	const kept = "; the calls recorded until then are kept"
	if r.Ended == sandbox.Wall {
		return fmt.Sprintf("took longer than %v and was stopped%s", r.Wall.Round(time.Second), kept)
	}
	out := printed(r)
	for _, re := range failed {
		if at := re.FindStringIndex(out); at != nil {
			return fmt.Sprintf("failed%s: %s", kept, head(strings.TrimSpace(out[at[0]:])))
		}
	}
	return fmt.Sprintf("failed%s: %s%s", kept, tail(out), ended(r, out))
}

func printed(r sandbox.Result) string {
	return strings.ToValidUTF8(strings.TrimSpace(string(r.Stdout)+string(r.Stderr)), "?")
}

// ended says how a program ended when its output does not.
func ended(r sandbox.Result, out string) string {
	if r.Ended == sandbox.Exited && out != "" {
		return ""
	}
	return fmt.Sprintf(" (ended by: %s, status %d)", r.Ended, r.Code)
}

// head is the beginning of a text, in whole lines where they are short.
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

// tail is the end of a text, in whole lines where they are short.
func tail(s string) string {
	if len(s) <= quoted {
		return s
	}
	s = s[len(s)-quoted:]
	if i := strings.IndexByte(s, '\n'); i >= 0 && i+1 < len(s) {
		s = s[i+1:]
	}
	return "... " + strings.ToValidUTF8(s, "")
}
