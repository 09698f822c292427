package flow

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/evolve"
	"github.com/beagle-go/beagle/internal/harness"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/internal/verify"
	"github.com/beagle-go/beagle/mutate/llm"
)

const original = `package p

// Sum adds the bytes of s.
func Sum(s string) int {
	n := 0
	for i := 0; i < len(s); i++ {
		n += int(s[i])
	}
	return n
}
`

const better = "It ranges over the text, which needs no bounds checks.\n\n" + `
<<<<<<< SEARCH
	for i := 0; i < len(s); i++ {
		n += int(s[i])
	}
=======
	for _, b := range []byte(s) {
		n += int(b)
	}
>>>>>>> REPLACE
`

// asked returns a session that can ask models and read what they write; it builds and runs nothing.
func asked(t *testing.T, s *store.Store, text string, server *llmtest.Server, caps llm.Caps) *session {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"go.mod": "module example.com/p\n\ngo 1.26\n", "p.go": text} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	u, err := source.Load(t.Context(), source.Options{Dir: dir, Spec: ".Sum"})
	if err != nil {
		t.Fatal(err)
	}
	model, err := llm.ParseModel("test@" + server.URL() + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	model.Price = llm.Price{In: 3, Out: 15, AsOf: "given"}
	spec := Defaults()
	spec.Models = Models{Ask: []llm.Model{model}, Caps: caps, Offline: true}
	spec.Models.settle()
	x := newSession("run", spec, s, nil, u, &lab{}, nil)
	x.inputs.hold(&beagle.Corpus{}, 0)
	x.rewriter.weigh(x.preparer.ready)
	if err := s.Cache(x.works.key("assembly", x.works.root.ID, ""), keptResult[[]harness.Instruction]{}); err != nil {
		t.Fatal(err)
	}
	return x
}

func openStore(t *testing.T) *store.Store {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (x *session) askFor(t *testing.T, id, turn int) *Asked {
	t.Helper()
	if err := x.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	a, err := x.authors.write(t.Context(),
		evolve.Proposal{ID: id, Kind: evolve.Model, Parent: x.works.root.ID, Author: "test", Model: "test",
			Sample: turn})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestAsk(t *testing.T) {
	server := llmtest.New(t, llmtest.Say(better))
	x := asked(t, openStore(t), original, server, llm.Caps{})
	a := x.askFor(t, 1, 0)
	c, err := x.works.candidate(a.Candidate)
	if err != nil || !strings.Contains(c.Source, "range []byte(s)") || c.Parents[0] != x.works.root.ID {
		t.Fatalf("%+v: %v\n%s", a, err, c.Source)
	}
	if st := a.Steps[0]; len(a.Steps) != 1 || st.Mutator != evolve.ByAuthor || st.Site != "test" || st.Param != c.ID {
		t.Errorf("steps %+v", a.Steps)
	}
	if a.Calls != 1 || a.In == 0 || a.Out == 0 || a.Cost == 0 || a.Repaired ||
		!strings.Contains(c.Note, "bounds checks") {
		t.Errorf("%+v, note %q", a, c.Note)
	}
	prompt := server.Calls()[0].Prompt()
	for _, part := range []string{"func Sum(s string) int", "n += int(s[i])"} {
		if !strings.Contains(prompt, part) {
			t.Errorf("the prompt lacks %q", part)
		}
	}
}

// TestRepair checks that a reply that does not fit is shown to the model with what is wrong, once.
func TestRepair(t *testing.T) {
	unmatched := "<<<<<<< SEARCH\n\tnothing like this\n=======\n\tx\n>>>>>>> REPLACE\n"
	broken := "```go\nfunc Sum(s string) int { return undefinedThing(s) }\n```"
	for _, c := range []struct{ name, first, complaint string }{
		{"unmatched", unmatched, "nothing like this"},
		{"compiler", broken, "undefined: undefinedThing"},
		{"prose", "I think it is fast already.", "no code"},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := llmtest.New(t, llmtest.InTurn(llmtest.Reply{Text: c.first}, llmtest.Reply{Text: better}))
			x := asked(t, openStore(t), original, server, llm.Caps{})
			a := x.askFor(t, 1, 0)
			if a.Candidate == "" || !a.Repaired || a.Calls != 2 {
				t.Errorf("%+v", a)
			}
			if calls := server.Calls(); len(calls) != 2 || !strings.Contains(calls[1].Prompt(), c.complaint) {
				t.Errorf("%d calls, and the second does not say %q", len(calls), c.complaint)
			}
			server.Script = llmtest.Say(c.first)
			if a := x.askFor(t, 2, 1); a.Candidate != "" || a.Refused == "" || a.Unheard != "" {
				t.Errorf("a repair that is as bad: %+v", a)
			}
		})
	}
}

// TestNothingIsPaidTwice checks that what was asked is not asked again, in this process or in
// another, and what was under way when a process ended counts against the budget.
func TestNothingIsPaidTwice(t *testing.T) {
	s := openStore(t)
	server := llmtest.New(t, llmtest.Say(better))
	first := asked(t, s, original, server, llm.Caps{Calls: 3})
	want := first.askFor(t, 1, 0)
	again := asked(t, s, original, server, llm.Caps{Calls: 3})
	if got := again.askFor(t, 1, 0); got.Candidate != want.Candidate || got.Cost != want.Cost ||
		server.Stats().Calls != 1 {
		t.Errorf("asked %d times: %+v, want %+v", server.Stats().Calls, got, want)
	}
	lost := llm.Request{Model: "test", User: "lost", MaxTokens: 100}
	if err := again.authors.calls.journal.Append(call{ID: lost.ID(), Request: &lost}); err != nil {
		t.Fatal(err)
	}
	third := asked(t, s, original, server, llm.Caps{Calls: 3})
	if err := third.authors.openOnce(); err != nil {
		t.Fatal(err)
	}
	spent := third.authors.budget.Spent()
	price := llm.Price{In: 3, Out: 15, AsOf: "given"}
	if spent.Calls != 2 || spent.Money != want.Cost+price.Cost(lost.Bound()) {
		t.Errorf("spent %+v, want 2 calls and %v", spent, want.Cost+price.Cost(lost.Bound()))
	}
	if a := third.askFor(t, 2, 1); a.Unheard != "" {
		t.Errorf("the third call: %+v", a)
	}
	if a := third.askFor(t, 3, 2); !a.Spent || server.Stats().Calls != 2 {
		t.Errorf("a fourth of three calls: %+v, %d at the server", a, server.Stats().Calls)
	}
}

// TestNovelty checks that a question that brings the same reply twice is not asked a third time.
func TestNovelty(t *testing.T) {
	server := llmtest.New(t, llmtest.Say(better))
	x := asked(t, openStore(t), original, server, llm.Caps{})
	shapes := map[string]int{}
	for i := range 60 {
		a := x.askFor(t, i, i%2)
		shapes[a.Shape]++
	}
	if n := server.Stats().Calls; n > 4 {
		t.Errorf("asked %d times", n)
	}
	if len(shapes) > 2 {
		t.Errorf("%d different answers: %v", len(shapes), shapes)
	}
}

// TestShape checks that two texts that differ in comments and names of local variables are the same
// candidate, and that a text which says the same as its parent is not one.
func TestShape(t *testing.T) {
	other := strings.NewReplacer("_, b", "_, char", "int(b)", "int(char)", "=======\n",
		"=======\n\t// This is much faster.\n").Replace(better)
	comment := "```go\n// Sum is fast now.\nfunc Sum(s string) int {\n\ttotal := 0\n\tfor i := 0; i < len(s); i++ {\n" +
		"\t\ttotal += int(s[i]) // hot\n\t}\n\treturn total\n}\n```"
	server := llmtest.New(t, llmtest.InTurn(llmtest.Reply{Text: better}, llmtest.Reply{Text: other}, llmtest.Reply{
		Text: comment,
	}))
	x := asked(t, openStore(t), original, server, llm.Caps{})
	one, two, three := x.askFor(t, 1, 0), x.askFor(t, 2, 1), x.askFor(t, 3, 2)
	if one.Shape == "" || one.Shape != two.Shape || one.Candidate == two.Candidate {
		t.Errorf("%+v and %+v", one, two)
	}
	if three.Candidate != "" || !strings.Contains(three.Refused, "comments and names") {
		t.Errorf("%+v", three)
	}
}

// TestUnheard checks that a model that cannot be asked ends the run with the remedy; one that does
// not answer does not.
func TestUnheard(t *testing.T) {
	for _, c := range []struct {
		fault   string
		fatal   bool
		message string
	}{{"bad-key", true, "key"}, {"unknown-model", true, "model"}, {"context-too-long", false, ""}} {
		t.Run(c.fault, func(t *testing.T) {
			server := llmtest.New(t, llmtest.Always(llmtest.Reply{Fault: c.fault}))
			x := asked(t, openStore(t), original, server, llm.Caps{})
			if err := x.authors.openOnce(); err != nil {
				t.Fatal(err)
			}
			a, err := x.authors.write(t.Context(),
				evolve.Proposal{ID: 1, Kind: evolve.Model, Parent: x.works.root.ID, Author: "test", Model: "test"})
			var bad *beagle.UsageError
			if c.fatal != errors.As(err, &bad) ||
				c.fatal && (bad.Remedy == "" || !strings.Contains(bad.What, c.message)) {
				t.Errorf("error %v (%+v)", err, a)
			}
			if !c.fatal && (err != nil || a.Unheard == "") {
				t.Errorf("%+v, %v", a, err)
			}
		})
	}
}

// TestHostileReplies checks that whatever a reply holds, it ends as no candidate or as one that is
// rejected without being run.
func TestHostileReplies(t *testing.T) {
	if testing.Short() {
		t.Skip("under the race detector it takes minutes")
	}
	code := func(text string) string { return "```go\n" + text + "\n```" }
	body := func(imports, before, inside string) string {
		return code("package p\n\n" + imports + "\n\n" + before + "\n\nfunc Sum(s string) int {\n" + inside +
			"\n\tn := 0\n\tfor i := range len(s) {\n\t\tn += int(s[i])\n\t}\n\treturn n\n}")
	}
	for name, text := range map[string]string{
		"os/exec":      body(`import "os/exec"`, "", "\texec.Command(\"true\").Run()"),
		"linkname":     body(`import _ "unsafe"`, "//go:linkname now runtime.nanotime\nfunc now() int64", "\t_ = now()"),
		"embed":        body(`import _ "embed"`, "//go:embed go.mod\nvar secret string", "\tif secret != \"\" {\n\t\treturn len(secret)\n\t}"),
		"init":         body("", "func init() { panic(1) }", ""),
		"cgo":          body("// #include <stdlib.h>\nimport \"C\"", "", "\tC.abort()"),
		"environment":  body(`import "os"`, "", "\t_ = os.Getenv(\"OPENAI_API_KEY\")"),
		"network":      body(`import "net"`, "", "\tnet.Dial(\"tcp\", \"127.0.0.1:80\")"),
		"goroutine":    body("", "", "\tgo func() {}()"),
		"state":        body("", "var calls int", "\tcalls++"),
		"huge literal": code("func Sum(s string) int { _ = \"" + strings.Repeat("a", 400<<10) + "\"; return 0 }"),
		"deep nesting": code("func Sum(s string) int { return " + strings.Repeat("(", 20_000) + "1" + strings.Repeat(")", 20_000) + " }"),
		"deep types":   code("var x " + strings.Repeat("[]", 5000) + "int\n\nfunc Sum(s string) int { _ = x; return 0 }"),
		"deep blocks":  code("func Sum(s string) int { " + strings.Repeat("{", 3000) + strings.Repeat("}", 3000) + " return 0 }"),
		"many fences":  strings.Repeat("```go\n", 50_000),
		"not text":     "```go\nfunc Sum(s string) int { return \xff\xfe }\n```",
	} {
		t.Run(name, func(t *testing.T) {
			x := asked(t, openStore(t), original, llmtest.New(t, llmtest.Say(text)), llm.Caps{})
			rejected(t, x, x.askFor(t, 1, 0))
		})
	}
	t.Run("50 MB", func(t *testing.T) {
		endless := llmtest.Always(llmtest.Reply{
			Text:   "package p // and on and on\n",
			Repeat: 50 << 20 / 27,
			Piece:  1 << 20,
		})
		x := asked(t, openStore(t), original, llmtest.New(t, endless), llm.Caps{})
		rejected(t, x, x.askFor(t, 1, 0))
	})
}

// rejected checks that nothing came of a reply, or a candidate that the static
// checks refuse.
func rejected(t *testing.T, x *session, a *Asked) {
	t.Helper()
	if a.Candidate == "" {
		if a.Refused == "" && a.Unheard == "" {
			t.Errorf("no candidate, and no reason: %+v", a)
		}
		return
	}
	c, err := x.works.candidate(a.Candidate)
	if err != nil {
		t.Fatal(err)
	}
	v, err := verify.Static(context.Background(), &verify.Env{Unit: x.unit, Dir: t.TempDir()}, c, x.inputs.corpus())
	if err != nil || v.OK() {
		t.Errorf("%v: %+v lets it through:\n%s", err, v, c.Source)
	}
}

// TestNoKeyOnDisk checks that keys are in no file of the store.
func TestNoKeyOnDisk(t *testing.T) {
	const key = "sk-this-is-the-secret-0123456789"
	t.Setenv("BEAGLE_KEY_TEST", key)
	s := openStore(t)
	server := &llmtest.Server{
		Script: llmtest.InTurn(llmtest.Reply{Fault: "refused", Text: "your key " + key + " is fine"}, llmtest.Reply{
			Text: better,
		}),
		Key: key,
	}
	server.StartFor(t)
	x := asked(t, s, original, server, llm.Caps{})
	x.askFor(t, 1, 0)
	if a := x.askFor(t, 2, 1); a.Candidate == "" {
		t.Errorf("%+v", a)
	}
	filepath.WalkDir(s.Dir(), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), key) {
			t.Errorf("%s: %v, or the key is in it", path, err)
		}
		return nil
	})
}

// FuzzCallJournal: a journal of calls that others wrote or that is damaged is
// read, or refused.
func FuzzCallJournal(f *testing.F) {
	q := llm.Request{Model: "test", User: "question"}
	for _, c := range []call{{ID: q.ID(), Request: &q}, {ID: q.ID(), Reply: &llm.Reply{Model: "test", Text: "x"}},
		{ID: "y", Error: &llm.Error{Kind: llm.Timeout}}} {
		line, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(append(line, '\n'))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := openStore(t)
		if err := os.MkdirAll(s.RunDir("run"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.RunDir("run"), journalName+".jsonl"), data, 0o644); err != nil {
			t.Fatal(err)
		}
		b, err := openCalls(s, "run", func(string) llm.Price { return llm.Price{} }, 0)
		if err != nil {
			return
		}
		for id, a := range b.answers {
			if a.err != nil && a.err.Fatal() {
				t.Errorf("%s: an answer for good is %v", id, a.err)
			}
		}
		b.journal.Close()
	})
}

// TestConversation checks that a proposal that follows another goes on with its
// conversation: question and reply stand before it, the verdict with its counterexample
// in it, and what the conversation has is not said again. A repair is a turn as well.
func TestConversation(t *testing.T) {
	broken := "Call a helper.\n\n```go\nfunc Sum(s string) int { return undefinedThing(s) }\n```"
	server := llmtest.New(t, llmtest.InTurn(llmtest.Reply{Text: broken}, llmtest.Reply{Text: better},
		llmtest.Reply{Text: strings.Replace(better, "int(b)", "1 * int(b)", 1)}))
	x := asked(t, openStore(t), original, server, llm.Caps{})
	first := x.askFor(t, 1, 0)
	fell := beagle.Verdict{
		Candidate: first.Candidate, Status: beagle.Wrong, Stage: "quick",
		Counterexample: &beagle.Counterexample{Go: `Sum("zebra")`, Want: "547", Got: "1", Kind: "result"},
	}
	e := Evaluation{Candidate: first.Candidate, StoredVerdict: StoredVerdict{Verdict: fell}}
	if err := x.works.putVerdict(e); err != nil {
		t.Fatal(err)
	}
	if _, err := x.authors.write(t.Context(), evolve.Proposal{
		ID: 2, Kind: evolve.Model, Parent: x.works.root.ID, Author: "test", Model: "test", Talk: []int{1},
		Fell: first.Candidate, Ideas: []string{first.Candidate},
	}); err != nil {
		t.Fatal(err)
	}
	calls := server.Calls()
	if len(calls) != 3 {
		t.Fatalf("%d calls", len(calls))
	}
	for i, want := range []int{1, 3, 5} {
		if n := len(calls[i].Turns); n != want {
			t.Errorf("call %d has %d messages, want %d", i+1, n, want)
		}
	}
	repair, follow := calls[1].Question(), calls[2].Question()
	for _, text := range []string{"undefined: undefinedThing"} {
		if !strings.Contains(repair, text) {
			t.Errorf("the repair lacks %q:\n%s", text, repair)
		}
	}
	for _, text := range []string{`Sum("zebra")`, "547", "Your last version is not right"} {
		if !strings.Contains(follow, text) {
			t.Errorf("the next turn lacks %q:\n%s", text, follow)
		}
	}
	whole := len(calls[0].Question())
	if strings.Contains(repair, "# The version to change") || 4*len(repair) > whole || 3*len(follow) > whole {
		t.Errorf("the first prompt has %d bytes, the repair %d, the next turn %d:\n%s", whole, len(repair), len(follow),
			repair)
	}
	if !strings.Contains(calls[2].Turns[3].Text, "range []byte(s)") {
		t.Error("the reply that fell is not in the conversation")
	}
	t.Logf("bytes of the prompts: first %d, repair %d, next turn %d", whole, len(repair), len(follow))
}
