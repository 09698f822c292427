package coder

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/mutate/llm"
)

const program = `package p

import "unicode/utf8"

// Count counts the runes of a text.
func Count(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}

func shared() int { return 7 }

var _ = utf8.RuneError
`

// setUp makes a module and a coder for its Count with one agent of a behaviour.
func setUp(t *testing.T, name string) *Coder {
	t.Helper()
	dir := t.TempDir()
	for path, text := range map[string]string{
		"go.mod": "module example.com/m\n\ngo 1.26\n", "p/p.go": program,
		"p/other.go": "package p\n\nfunc other() int { return 1 + shared() }\n\nvar _ = other()\n",
	} {
		path = filepath.Join(dir, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	o := source.Options{Dir: dir, Spec: "./p.Count"}
	unit, err := source.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Coder{
		Unit: unit, Load: o, Dir: t.TempDir(), Tools: []string{"beagle", "mcp"},
		Models: []llm.Model{
			{Name: "agent", Provider: Provider, URL: "env " + owner + "=" + owned() + " " + behaviour + "='" + name + "' " + self},
		},
	}
}

func question() llm.Request {
	return llm.Request{Model: "agent", System: "rules", User: "the evidence", Limit: 5 * time.Minute}
}

func ask(t *testing.T, c *Coder, q llm.Request) llm.Reply {
	t.Helper()
	r, err := c.Ask(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// candidate applies a reply to a parent.
func candidate(t *testing.T, r llm.Reply, parent string) string {
	t.Helper()
	change, err := llm.Read(r.Text)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	text, err := change.Apply(parent)
	if err != nil {
		t.Fatalf("%v\n%s", err, r.Text)
	}
	return text
}

func TestTheEditIsTheCandidate(t *testing.T) {
	for name, want := range map[string]string{
		"good":   "return utf8.RuneCountInString(s)",
		"helper": "func runes(s string) int",
	} {
		c := setUp(t, name)
		r := ask(t, c, question())
		if text := candidate(t, r, c.Unit.Target.Source); !strings.Contains(text, want) ||
			strings.Contains(text, "for range s") {
			t.Errorf("%s: the candidate is\n%s", name, text)
		}
		if r.Usage.In != 1000 || r.Usage.Out != 50 || r.Attempts != 1 {
			t.Errorf("%s: %+v", name, r)
		}
		if name == "good" && r.Cost != 10_000 {
			t.Errorf("the agent said that it spent a cent; the reply says %v", r.Cost)
		}
		original, _ := os.ReadFile(filepath.Join(c.Unit.Target.PkgDir, "p.go"))
		if string(original) != program {
			t.Errorf("%s: the user's file was changed", name)
		}
		if left, _ := os.ReadDir(c.Dir); len(left) != 0 {
			t.Errorf("%s: the copy was left behind", name)
		}
	}
}

// setUpGroup is setUp for a type whose methods stand in two files.
func setUpGroup(t *testing.T, name string) *Coder {
	t.Helper()
	c := setUp(t, name)
	for path, text := range map[string]string{
		"p/stack.go": "package p\n\n// A Stack holds values.\ntype Stack struct {\n\tvalues []int\n}\n\n" +
			"// Push adds one.\nfunc (s *Stack) Push(v int) {\n\ts.values = append(s.values, v)\n}\n",
		"p/len.go": "package p\n\n// Len counts them.\nfunc (s *Stack) Len() int {\n\tn := 0\n" +
			"\tfor range s.values {\n\t\tn++\n\t}\n\treturn n\n}\n",
	} {
		if err := os.WriteFile(filepath.Join(c.Load.Dir, path), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c.Load = source.Options{Dir: c.Load.Dir, Spec: "./p.Stack", Group: true, InPlace: true}
	var err error
	if c.Unit, err = source.Load(t.Context(), c.Load); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestAGroup checks that an agent may change the fields of a type with its methods, in all their
// files, that it starts from a parent with another layout, and that nothing else may change.
func TestAGroup(t *testing.T) {
	c := setUpGroup(t, "layout")
	text := candidate(t, ask(t, c, question()), c.Unit.Target.Source)
	for _, part := range []string{"n      int", "s.n++", "return s.n\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("the candidate lacks %q:\n%s", part, text)
		}
	}
	if _, problem := c.Unit.Reader.Parse(text); problem != nil {
		t.Error(problem)
	}
	c = setUpGroup(t, "layout again")
	q := question()
	q.Code = text
	if again := candidate(t, ask(t, c, q), q.Code); !strings.Contains(again, "s.n += 1") {
		t.Errorf("the agent did not start from the parent:\n%s", again)
	}
	for name, want := range map[string]string{
		"layout and others": "only p/len.go, p/stack.go may be", "layout that breaks": "cannot be read",
	} {
		c := setUpGroup(t, name)
		if r := ask(t, c, question()); !strings.Contains(r.Text, want) {
			t.Errorf("%s: the reply is %q, want %q in it", name, r.Text, want)
		}
	}
}

// TestACopyWithinTheModule checks that a temporary directory may lie within the module.
func TestACopyWithinTheModule(t *testing.T) {
	c := setUp(t, "good")
	c.Dir = filepath.Join(c.Unit.Target.Dir, "tmp")
	if err := os.Mkdir(c.Dir, 0o755); err != nil {
		t.Fatal(err)
	}
	candidate(t, ask(t, c, question()), c.Unit.Target.Source)
}

// TestOmittedFiles checks that what an agent may not see is not in its copy, under whatever name.
func TestOmittedFiles(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{"go.mod", "calls.jsonl", "code.go"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("module example.com/m\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(root, "calls.jsonl"), filepath.Join(root, "same.jsonl")); err != nil {
		t.Fatal(err)
	}
	if _, err := newWorkspace(root, dir, filepath.Join(root, "calls.jsonl"),
		filepath.Join(root, "moved.jsonl")); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 || files[0].Name() != "code.go" || files[1].Name() != "go.mod" {
		t.Errorf("%v %v", files, err)
	}
}

func TestTheAgentStartsFromTheParent(t *testing.T) {
	c := setUp(t, "continues")
	q := question()
	q.Code = strings.Replace(strings.Replace(c.Unit.Target.Source, "n := 0", "m := 0", 1), "n++", "m++", 1)
	q.Code = strings.Replace(q.Code, "return n", "return m", 1)
	if text := candidate(t, ask(t, c, q), q.Code); !strings.Contains(text, "m := 0 // again") {
		t.Errorf("the candidate is\n%s", text)
	}
}

func TestEditsOutsideTheScopeAreRefused(t *testing.T) {
	for name, want := range map[string]string{
		"other file": "p/other.go", "shared": "shared", "new file": "p/fast.go", "go.mod": "go.mod", "broken": "cannot be read", "link": "p/other.go",
		"idle": "I see nothing to improve", "outside": "all refused", "device": "must stay a regular file", "sparse": "must stay a regular file",
		"sparse data": "p/data", "gone": "must stay a regular file", "pipe": "pipe was changed", "pipe to write": "pipe was changed",
	} {
		c := setUp(t, name)
		r := ask(t, c, question())
		if !strings.Contains(r.Text, want) {
			t.Errorf("%s: the reply is %q, want %q in it", name, r.Text, want)
		}
		if _, err := llm.Read(r.Text); err == nil {
			t.Errorf("%s: a candidate can be read from %q", name, r.Text)
		}
	}
}

func TestAgentsThatFail(t *testing.T) {
	for name, want := range map[string]struct {
		kind llm.ErrorKind
		text string
	}{
		"exits": {llm.Unavailable, "no licence found"},
		"login": {llm.BadKey, "log in with the agent"},
		"hangs": {llm.Timeout, "did not end its turn within"},
		// A program that does not speak the protocol is waited for, and its words are not taken for
		// an answer.
		"garbage": {llm.Timeout, "did not end its turn within"},
		"spends":  {llm.Unavailable, "may cost"},
	} {
		c := setUp(t, name)
		c.Most = 50_000
		q := question()
		if want.kind == llm.Timeout {
			q.Limit = 2 * time.Second
		}
		_, err := c.Ask(t.Context(), q)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != want.kind || !strings.Contains(e.Error(), want.text) {
			t.Errorf("%s: %v, want %s and %q", name, err, want.kind, want.text)
		}
		if n := running(t, name); n != 0 {
			t.Errorf("%s: %d processes are left", name, n)
		}
	}
	c := setUp(t, "good")
	c.Models[0].URL = "/no/such/agent"
	var e *llm.Error
	if _, err := c.Ask(t.Context(), question()); !errors.As(err, &e) || e.Kind != llm.UnknownModel || !e.Fatal() {
		t.Errorf("no such program: %v", err)
	}
}

// owner is the variable that tells the agents of these tests from those of the same
// tests beside them: its value is this process's number.
const owner = "CODER_TEST_OWNER"

func owned() string { return cmp.Or(os.Getenv(owner), fmt.Sprint(os.Getpid())) }

// running counts processes of a test's agent, by its behaviour in their environment.
func running(t *testing.T, name string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc: processes cannot be counted")
	}
	for _, entry := range entries {
		environ, err := os.ReadFile("/proc/" + entry.Name() + "/environ")
		if err == nil && bytes.Contains(environ, []byte(behaviour+"="+name+"\x00")) &&
			bytes.Contains(environ, []byte(owner+"="+owned()+"\x00")) {
			n++
		}
	}
	return n
}

func TestChildrenDieWithTheAgent(t *testing.T) {
	c := setUp(t, "children")
	ask(t, c, question())
	if n := running(t, "children"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// sleeping counts processes by their command line.
func sleeping(t *testing.T, words ...string) (n int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc: processes cannot be counted")
	}
	for _, entry := range entries {
		line, err := os.ReadFile("/proc/" + entry.Name() + "/cmdline")
		if err == nil && string(line) == strings.Join(words, "\x00")+"\x00" {
			n++
		}
	}
	return n
}

// TestForgottenChildrenDieWithTheAgent checks that a process that left the agent's group, session,
// environment and family is found all the same.
func TestForgottenChildrenDieWithTheAgent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descendants without group and environment are found on Linux only")
	}
	c := setUp(t, "forgets")
	ask(t, c, question())
	if n := sleeping(t, "sleep", forgotten()); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// patron is the variable that makes this test binary a Beagle that waits for an
// agent; its value is the module's directory.
const patron = "CODER_TEST_PATRON"

// employ asks an agent that hangs.
func employ(dir string) {
	o := source.Options{Dir: dir, Spec: "./p.Count"}
	unit, err := source.Load(context.Background(), o)
	if err != nil {
		log.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	c := &Coder{
		Unit: unit,
		Load: o,
		Dir:  dir,
		Models: []llm.Model{
			{Name: "agent", Provider: Provider, URL: "env -u " + patron + " " + owner + "=" + owned() + " " + behaviour + "='stays' " + self},
		},
	}
	r, err := c.Ask(context.Background(), question())
	log.Fatal(r.Text, err)
}

// TestAgentsDieWithBeagle checks that after kill -9 of Beagle nothing of an agent that hangs is
// left.
func TestAgentsDieWithBeagle(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the death of Beagle is noticed on Linux only")
	}
	c := setUp(t, "stays")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), patron+"="+c.Unit.Target.Dir, owner+"="+owned()), os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	if !within(most, func() bool { return running(t, "stays") >= 4 }) { // the agent, and what it started
		cmd.Process.Kill()
		t.Fatal("the agent does not come up")
	}
	cmd.Process.Kill()
	if !within(most, func() bool { return running(t, "stays") == 0 }) {
		t.Fatalf("%d processes are left", running(t, "stays"))
	}
}

// most is for machines that do other things.
const most = 5 * time.Minute

// within waits until something is so, and says whether it came to be in time.
func within(most time.Duration, so func() bool) bool {
	for end := time.Now().Add(most); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// TestAModuleInAWorkspace checks that a module that builds only within its workspace is refused
// before a turn is paid.
func TestAModuleInAWorkspace(t *testing.T) {
	root := t.TempDir()
	for path, text := range map[string]string{
		"go.work":  "go 1.26\n\nuse (\n\t./m\n\t./n\n)\n",
		"n/go.mod": "module example.com/n\n\ngo 1.26\n", "n/n.go": "package n\n\nfunc One() int { return 1 }\n",
		"m/go.mod": "module example.com/m\n\ngo 1.26\n\nrequire example.com/n v0.0.0\n",
		"m/p/p.go": "package p\n\nimport \"example.com/n\"\n\nfunc Count(s string) int { return len(s) * n.One() }\n",
	} {
		path = filepath.Join(root, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOWORK", "")
	t.Setenv("GOFLAGS", "")
	c := setUp(t, "good")
	o := source.Options{Dir: filepath.Join(root, "m"), Spec: "./p.Count"}
	unit, err := source.Load(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	c.Unit, c.Load = unit, o
	c.Budget = llm.NewBudget(llm.Caps{Money: 25_000}, llm.Spent{})
	var bad *beagle.UsageError
	if _, err := c.Ask(t.Context(), question()); !errors.As(err, &bad) || !strings.Contains(bad.Remedy, "GOWORK=off") {
		t.Errorf("got %v", err)
	}
	if spent := c.Budget.Spent(); spent.Money != 0 || spent.Calls != 0 {
		t.Errorf("spent %+v", spent)
	}
}

func TestARunThatEndsEndsTheTurn(t *testing.T) {
	c := setUp(t, "hangs")
	if _, err := c.Ask(untilItHangs(t, c), question()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if n := running(t, "hangs"); n != 0 {
		t.Errorf("%d processes are left", n)
	}
}

// untilItHangs returns the context of a run that ends when its agent is in its turn.
func untilItHangs(t *testing.T, c *Coder) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		within(most, func() bool {
			found, _ := filepath.Glob(filepath.Join(c.Dir, "*", hung))
			return len(found) > 0
		})
	}()
	return ctx
}

func TestMoneyIsHeldAndBooked(t *testing.T) {
	c := setUp(t, "good")
	c.Most = 20_000
	c.Budget = llm.NewBudget(llm.Caps{Money: 25_000}, llm.Spent{})
	ask(t, c, question())
	if spent := c.Budget.Spent(); spent.Money != 10_000 || spent.Calls != 1 {
		t.Errorf("spent %+v", spent)
	}
	var e *llm.Error
	if _, err := c.Ask(t.Context(), question()); !errors.As(err, &e) || e.Kind != llm.OverBudget {
		t.Errorf("15,000 are left and a turn may cost 20,000: %v", err)
	}
}

func TestAModuleThatNeedsItsNeighbours(t *testing.T) {
	c := setUp(t, "good")
	mod := filepath.Join(c.Unit.Target.Dir, "go.mod")
	if err := os.WriteFile(mod, []byte("module example.com/m\n\ngo 1.26\n\nreplace example.com/n => ../n\n"),
		0o644); err != nil {
		t.Fatal(err)
	}
	var bad *beagle.UsageError
	if _, err := c.Ask(t.Context(), question()); !errors.As(err, &bad) || !strings.Contains(bad.What, "../n") {
		t.Errorf("got %v", err)
	}
}

// TestTheExampleAgent talks to the example of the protocol's own library, which
// changes nothing of ours.
func TestTheExampleAgent(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "agent")
	build := exec.Command("go", "build", "-o", binary, "github.com/coder/acp-go-sdk/example/agent")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := setUp(t, "")
	c.Models[0].URL = binary
	r := ask(t, c, question())
	if _, err := llm.Read(r.Text); err == nil || !strings.Contains(r.Text, "changed") {
		t.Errorf("the reply is %q", r.Text)
	}
}
