//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestFlagsInDocuments parses the flags of each beagle command that a document shows, with the flag
// set of its verb, and runs none. It says nothing of build, which hands flags to the go command,
// nor of the programs below bench and suite.
func TestFlagsInDocuments(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, pattern := range []string{"README.md", "docs/*.md", "*/README.md", "*/*/README.md", "metricsd/docs/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			for _, b := range shownBlocks(t, name) {
				for _, args := range beagleCommands(t, b.script) {
					if len(args) == 0 {
						continue
					}
					seen[args[0]]++
					if complaint := flagsOf(args); complaint != "" {
						short, _ := filepath.Rel(root, name)
						t.Errorf("%s:%d: beagle %s\n%s", short, b.line, strings.Join(args, " "), complaint)
					}
				}
			}
		}
	}
	// The verbs of the READMEs and of the guides are among them, or the shell below finds none.
	for _, verb := range []string{"evolve", "hotspots", "capture", "rollout", "watch", "audit"} {
		if seen[verb] == 0 {
			t.Errorf("no document shows beagle %s: %v", verb, seen)
		}
	}
}

// flagsOf returns what a command says of its flags, or "". Help comes after the flags and before
// anything runs.
func flagsOf(args []string) string {
	var complaint bytes.Buffer
	if run(append(slices.Clone(args), "--help"), stdio{io.Discard, &complaint}) == exitOK {
		return ""
	}
	return complaint.String()
}

// TestDocumentedCommands checks that commands are found in what shells understand, and that a flag
// or a value that a verb does not take is.
func TestDocumentedCommands(t *testing.T) {
	got := beagleCommands(t, `
mkdir x && cd x                      # missing programs are no fault
TOKEN=$(openssl rand) beagle verify --json './p.{A,B}' \
  a.go >out.json | jq . &
go run ./cmd/beagle watch --every 5m http://localhost; beagle
./service && beagle show "$RUN"
`)
	slices.SortFunc(got, slices.Compare) // one runs in the background
	want := [][]string{{}, {"show", ""}, {"verify", "--json", "./p.{A,B}", "a.go"},
		{"watch", "--every", "5m", "http://localhost"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("commands %q, want %q", got, want)
	}
	for want, args := range map[string][]string{
		"":                        {"verify", "--json", "./p.F", "a.go"},
		"no flag --frobnicate":    {"verify", "./p.F", "--frobnicate", "a.go"},
		"5 is not a duration":     {"capture", "start", "--for", "5", "p.F"},
		"no command \"optimise\"": {"optimise", "./p.F"},
	} {
		if complaint := flagsOf(args); want == "" && complaint != "" || !strings.Contains(complaint, want) {
			t.Errorf("%q: %q, want %q", args, complaint, want)
		}
	}
}

// recorder stands for beagle in a shell that has no other program: it writes the number of its
// arguments and the arguments to descriptor 9.
const recorder = `beagle() { printf '%s\0' "$#" "$@" >&9; }
go() { if [ "$1 $2" = 'run ./cmd/beagle' ]; then shift 2; beagle "$@"; fi; }
command_not_found_handle() { :; }
cd() { :; }
`

// beagleCommands returns the arguments of the calls of beagle in a script. A shell without programs
// reads it, in an empty directory: it knows quotes, comments and redirections.
func beagleCommands(t *testing.T, script string) (calls [][]string) {
	t.Helper()
	dir := t.TempDir()
	out, err := os.Create(filepath.Join(dir, "calls"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is missing, which reads the commands of documents")
	}
	script = strings.ReplaceAll(script, "&&", ";") // go on where a program is missing
	c := exec.Command(bash, "-c", fmt.Sprintf("exec 9>%q\n%s%s\nwait", out.Name(), recorder, script))
	c.Dir, c.Env = dir, []string{"PATH=" + dir}
	c.Run() // a program that is missing is no fault
	text, err := os.ReadFile(out.Name())
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(string(text), "\x00")
	for len(words) > 1 {
		n, err := strconv.Atoi(words[0])
		if err != nil {
			t.Fatal(err)
		}
		calls, words = append(calls, words[1:1+n]), words[1+n:]
	}
	return calls
}
