//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/beagle-go/beagle/internal/porttest"
	"github.com/beagle-go/beagle/internal/sampletest"
	"github.com/beagle-go/beagle/mutate/rules"
)

// A shownBlock is a block of shell commands in a README, with what they print.
type shownBlock struct {
	line   int
	script string
	prints []string // lines of the block of output that follows; "..." stands for any lines
	notRun string   // the reason that its marker gives
	with   string   // flags for beagle evolve that make it short
	brief  bool     // see briefVariable
}

// readmes are the documents whose commands are tried.
var readmes = []string{
	"README.md", "docs/models.md", "suite/README.md", "suite/commits/README.md", "bench/strangers/README.md",
	"simd/README.md",
}

// TestReadme runs the commands that the READMEs and docs/models.md show, in the root of the
// repository and with a home of their own, and looks for the lines that they should print. Two
// markers are known, above a block:
//
//	<!-- not run: REASON -->
//	<!-- run with FLAGS for beagle evolve -->
//
// A line may differ in what varies: numbers, hashes, the rewrites that were found. Searches judge
// versions briefly, except the first one in one of three runs: that compiles the standard library
// anew, with a profile.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("whole searches")
	}
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	env, brief := readmeEnv(t), !sampletest.OneIn(t, 3)
	for _, name := range readmes {
		for _, b := range shownBlocks(t, filepath.Join(root, name)) {
			if b.notRun != "" {
				continue
			}
			if strings.Contains(b.script, " evolve ") {
				b.brief, brief = brief, true
			}
			t.Run(fmt.Sprintf("%s:%d", name, b.line), func(t *testing.T) {
				out := b.run(t, root, env)
				if missing := b.missing(out); missing != "" {
					t.Errorf("the line %q was not printed, or not in this order, by\n%s\nIt printed\n%s", missing,
						b.script, out)
				}
			})
		}
	}
}

var (
	markNotRun = regexp.MustCompile(`^<!-- not run: (.+) -->$`)
	markWith   = regexp.MustCompile(`^<!-- run with (.+) for beagle evolve -->$`)
)

// aCommand is the beginning of a line of a script: a program, after variables perhaps.
var aCommand = regexp.MustCompile(`^([A-Z_]+=('[^']*'|\S*) )*(beagle|go|\./test)( |$)`)

// TestShownCommands: each line of a shown block is one command, also in blocks that do not run.
func TestShownCommands(t *testing.T) {
	for _, name := range readmes {
		for _, b := range shownBlocks(t, filepath.Join("../..", name)) {
			goesOn := false
			for i, line := range strings.Split(b.script, "\n") {
				if !goesOn && line != "" && !aCommand.MatchString(line) {
					t.Errorf("%s:%d: %q does not begin with a command", name, b.line+i+1, line)
				}
				goesOn = strings.HasSuffix(line, `\`)
			}
		}
	}
}

// shownBlocks reads the blocks of a README.
func shownBlocks(t *testing.T, path string) (all []shownBlock) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var marked shownBlock // what the markers above the next block say
	lines := strings.Split(string(text), "\n")
	for i := 0; i < len(lines); i++ {
		if m := markNotRun.FindStringSubmatch(lines[i]); m != nil {
			marked.notRun = m[1]
		} else if m := markWith.FindStringSubmatch(lines[i]); m != nil {
			marked.with = m[1]
		}
		if !strings.HasPrefix(lines[i], "```") {
			continue
		}
		kind, from := lines[i], i+1
		for i++; lines[i] != "```"; i++ {
		}
		switch {
		case kind == "```sh":
			marked.line, marked.script = from, strings.Join(lines[from:i], "\n")
			all = append(all, marked)
			marked = shownBlock{}
		case kind == "```" && len(all) > 0 && all[len(all)-1].prints == nil:
			all[len(all)-1].prints = lines[from:i]
		}
	}
	return all
}

// readmeEnv returns the environment of the commands: an empty home, the caches of Go, and this test
// as beagle.
func readmeEnv(t *testing.T) []string {
	t.Helper()
	dir := t.TempDir()
	known, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE", "GOPATH").Output()
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.Split(string(known), "\n")
	beagle, err := exec.LookPath("beagle")
	if err != nil {
		t.Fatal(err)
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	// "go run ./cmd/beagle" would link what this test is already.
	for name, text := range map[string]string{
		"go": fmt.Sprintf("if [ \"$1 $2\" = 'run ./cmd/beagle' ]; then shift 2; exec beagle \"$@\"; fi\n"+
			"exec %q \"$@\"\n", goCommand),
		"beagle": fmt.Sprintf("if [ \"$1\" = evolve ]; then shift; set -- evolve $README_FLAGS \"$@\"; fi\n"+
			"exec %q \"$@\"\n", beagle),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir,
		"BEAGLE_HOME="+filepath.Join(dir, "home"),
		"GOCACHE="+paths[0], "GOMODCACHE="+paths[1], "GOPATH="+paths[2])
}

// run runs the block's commands, and ends what they leave in the background.
func (b *shownBlock) run(t *testing.T, dir string, env []string) string {
	t.Helper()
	const shown = "127.0.0.1:8080"
	c := exec.Command("bash", "-ec", strings.ReplaceAll(b.script, shown, porttest.Address(t)))
	c.Dir, c.Env = dir, append(slices.Clone(env), "README_FLAGS="+b.with)
	if b.brief {
		c.Env = append(c.Env, briefVariable+"=1")
	}
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	path := filepath.Join(t.TempDir(), "out") // not a pipe, which what is in the background would hold open
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	c.Stdout, c.Stderr = out, out
	err = c.Run()
	syscall.Kill(-c.Process.Pid, syscall.SIGTERM)
	text, _ := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%s\n%v\n%s", b.script, err, text)
	}
	used := c.ProcessState
	t.Logf("%.1f s of processor time", (used.UserTime() + used.SystemTime()).Seconds())
	return string(text)
}

// withProfile begins the line on what a brief judgement leaves out.
const withProfile = "on top of PGO "

// missing returns the first line that should be printed after those before it, and was not.
func (b *shownBlock) missing(out string) string {
	printed := strings.Split(out, "\n")
	for _, line := range b.prints {
		want := withoutFigures(line)
		if want == "" || want == "..." || b.brief && strings.HasPrefix(want, withProfile) {
			continue
		}
		at := slices.IndexFunc(printed, func(got string) bool { return withoutFigures(got) == want })
		if at < 0 {
			return line
		}
		printed = printed[at+1:]
	}
	return ""
}

// withoutFigures replaces what differs from run to run: numbers, hashes, the tally of verdicts, and
// the rewrites that were found. A line of progress may be cut off within the rewrites.
func withoutFigures(line string) string {
	for _, f := range figuresInText {
		line = f.form.ReplaceAllString(line, f.by)
	}
	return strings.Join(strings.Fields(line), " ")
}

var figuresInText = []struct {
	form *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`\b[0-9a-f]{12}\b`), "HASH"},
	{rewrites(), "REWRITES"},
	{regexp.MustCompile(`(best\b.*x: )REWRITES.*`), "${1}REWRITES"},
	{regexp.MustCompile(`(\d candidates )\((\d+ \w+(, )?)+\)`), "${1}(TALLY)"},
	{regexp.MustCompile(`[0-9][0-9.]*`), "N"},
	{regexp.MustCompile(`\bN (ns|µs|ms|s)\b`), "N time"},
}

// rewrites matches names of rules that are joined by plus signs.
func rewrites() *regexp.Regexp {
	var names []string
	for _, m := range rules.All {
		names = append(names, regexp.QuoteMeta(m.Name))
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	one := `(?:` + strings.Join(names, "|") + `)`
	return regexp.MustCompile(`\b` + one + `(?: \+ ` + one + `)*`)
}

// TestReadmeLines checks what may differ in a line that a README shows, and what may not.
func TestReadmeLines(t *testing.T) {
	b := shownBlock{prints: []string{"  0.7s record   calls of F", "  ...",
		" 14.6s search   60 of 60 candidates (49 equal), " +
			"best at least 15.3x: unroll + only-if"}}
	const good = "warning: x\n 12s record calls of F\n 15.0s search   9 of 60 candidates (4 equal, 5 wrong), " +
		"best at least 2x: inline-call\n"
	if missing := b.missing(good); missing != "" {
		t.Errorf("%q is missing", missing)
	}
	for _, change := range [][2]string{{"calls of F", "calls of G"}, {"record", "recorded"}, {"best at least", "best"},
		{"15.0s search", "15.0s seek"}, {" 12s record calls of F\n", ""}} {
		if b.missing(strings.Replace(good, change[0], change[1], 1)) == "" {
			t.Errorf("nothing is missing with %q in place of %q", change[1], change[0])
		}
	}
}
