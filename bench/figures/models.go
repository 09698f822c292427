package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/suite"
)

// These bound each search of the ablation.
const (
	modelCandidates = 12
	bothCandidates  = 40
	modelCalls      = 30
)

// models asks scripted models on the tasks of the suite: one good answer, the
// expert's version, among nine bad ones. The model alone must find and confirm
// it; rules alone and both together stand beside it.
func models(ctx context.Context, l *lab) (*section, error) {
	// Load the tasks that rewriting applies to.
	tasks, err := suite.Load(filepath.Join(l.root, "suite", "tasks"))
	if err != nil {
		return nil, err
	}
	tasks = slices.DeleteFunc(tasks, func(t suite.Task) bool { return t.Advice != "" })
	if l.quick {
		tasks = slices.DeleteFunc(tasks, func(t suite.Task) bool {
			return t.Name != "tagascii" && t.Name != "mergetags"
		})
	}
	s := &section{}
	// Search each of them with the model alone, with rules alone, and with both.
	found, missing, err := l.ablations(ctx, tasks)
	if err != nil {
		return nil, err
	}
	// Report.
	var rows [][]string
	for i, t := range tasks {
		rows = append(rows, ablated(&t, found[i], s))
	}
	if missing > 0 {
		s.miss("%d of %d searches were made", 3*len(tasks)-missing, 3*len(tasks))
	}
	s.text = fmt.Sprintf("Scripted replies: the expert's version among nine bad ones. The model alone has %d "+
		"candidates and %d calls, the others %d candidates.\n\n", modelCandidates, modelCalls, bothCandidates)
	s.text += table(
		strings.Split("task|rules alone|model alone|both|of both, by the model|alone: good answer found at "+
			"evaluation|confirmed|calls", "|"), rows)
	return s, s.modelGrowth(ctx, l)
}

// ablations searches every task in the three ways. The model alone comes first, since it has a
// goal. Found counts each task, by the ablation's name.
func (l *lab) ablations(ctx context.Context, tasks []suite.Task) (found []map[string]*scripted, missing int, _ error) {
	found = make([]map[string]*scripted, len(tasks))
	start := time.Now()
	for _, ways := range [][]ablation{{modelAlone}, {rulesAlone, both}} {
		for i := range tasks {
			for _, by := range ways {
				one, err := l.ablate(ctx, &tasks[i], by, l.timeLimit > 0 && time.Since(start) > l.timeLimit)
				if err != nil {
					return nil, 0, fmt.Errorf("%s, %s: %w", tasks[i].Name, by.name, err)
				}
				if one == nil {
					missing++
					continue
				}
				if found[i] == nil {
					found[i] = map[string]*scripted{}
				}
				found[i][by.name] = one
			}
		}
	}
	return found, missing, nil
}

// modelGrowth reads the benchmark of a search whose model answers at once and whose candidates take
// no time to evaluate. So only the orchestration is left, with the scripted server's work.
func (s *section) modelGrowth(ctx context.Context, l *lab) error {
	pattern := "^BenchmarkModels$"
	if l.quick {
		pattern = "^BenchmarkModels$/^(100|1000)$"
	}
	points, err := l.searches(ctx, pattern)
	if err != nil {
		return err
	}
	var rows [][]string
	for _, p := range points {
		rows = append(rows,
			[]string{fmt.Sprintf("%.0f", p["candidates"]), fmt.Sprintf("%.2f", p["ms/candidate"]),
				fmt.Sprintf("%.2f", p["ms/late-candidate"]), fmt.Sprintf("%.2f", p["cpu-ms/candidate"])})
	}
	last := points[len(points)-1]
	s.limit("orchestration of a model's candidate in the longest search, ms", last["ms/candidate"], orchestrationGoal)
	s.text += "\nOrchestration alone, a model that answers at once and candidates that are evaluated in no time:\n\n"
	s.text += table(strings.Split("candidates|ms a candidate|ms a candidate, last tenth|processor time, ms a candidate",
		"|"), rows)
	return nil
}

// ablate searches a task, or returns the result of an earlier run of the same code. It returns nil
// if the time is over.
func (l *lab) ablate(ctx context.Context, t *suite.Task, by ablation, late bool) (*scripted, error) {
	replies, err := tenReplies(t)
	if err != nil {
		return nil, err
	}
	return keep(l, "models", late, func(r *scripted) error {
		start := time.Now()
		out, err := l.search(ctx, t, by, replies)
		if err != nil {
			return err
		}
		*r = *out
		fmt.Fprintf(os.Stderr, "figures: %s, %s: %s after %v\n", t.Name, by.name, outcome(r.Result),
			time.Since(start).Round(time.Second))
		return nil
	}, by.name, textOf(t.Dir), replies, modelCandidates, modelCalls, bothCandidates)
}

// ablated returns one task's row.
func ablated(t *suite.Task, found map[string]*scripted, s *section) []string {
	row := []string{t.Name}
	for _, by := range []ablation{rulesAlone, modelAlone, both} {
		if one := found[by.name]; one != nil {
			row = append(row, outcome(one.Result))
		} else {
			row = append(row, "not run")
		}
	}
	byModel, at, confirmed, calls := "-", "-", "-", "-"
	if all := found[both.name]; all != nil {
		byModel = yes(all.confirmed())
	}
	if alone := found[modelAlone.name]; alone != nil {
		at, confirmed, calls = "never", yes(alone.confirmed()), fmt.Sprint(alone.Calls)
		if n := alone.foundAt(); n > 0 {
			at = fmt.Sprint(n)
		}
		if !alone.confirmed() {
			s.miss("%s: the good answer was not found and confirmed: %s", t.Name, alone.Result.Why)
		}
	}
	return append(row, byModel, at, confirmed, calls)
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// An ablation names the authors of a search, and its number of candidates.
type ablation struct {
	name       string
	candidates int
	flags      []string
	asks       bool
}

var (
	rulesAlone = ablation{"rules alone", bothCandidates, nil, false}
	modelAlone = ablation{"model alone", modelCandidates, []string{"--no-rules"}, true}
	both       = ablation{"both", bothCandidates, nil, true}
)

// A scripted search is the result of asking a server that knows a few replies.
type scripted struct {
	Result *beagle.Result
	Calls  int // that the server answered
}

// search evolves a task with a server that gives the replies in turn, again and
// again.
func (l *lab) search(
	ctx context.Context, t *suite.Task, by ablation, replies []llmtest.Reply, more ...string,
) (*scripted, error) {
	server := &llmtest.Server{
		Script: func(c llmtest.Call) *llmtest.Reply { return &replies[(c.Number-1)%len(replies)] },
	}
	if err := server.Start("127.0.0.1:0"); err != nil {
		return nil, err
	}
	defer server.Close()
	args := []string{"evolve", "--json", "--quiet", "--force", "--candidates", fmt.Sprint(by.candidates), "--measure",
		"6s", "--fuzz", "2s"}
	if by.asks {
		args = append(args, "--offline", "--model", "scripted@"+server.URL()+"/v1", "--budget-calls",
			fmt.Sprint(modelCalls))
	}
	args = append(append(args, by.flags...), more...)
	out := &scripted{Result: new(beagle.Result)}
	target := "./" + filepath.ToSlash(filepath.Join("suite", "tasks", t.Name)) + "." + t.Target
	err := l.call(ctx, l.home("models-"+strings.ReplaceAll(by.name, " ", "-")), out.Result, append(args, target)...)
	out.Calls = server.Stats().Calls
	return out, err
}

// foundAt returns the number of the evaluation, from 1, that first found a version of the model's
// that behaves like the original and is faster, as far as the search measures; 0 when none did.
// None of the bad replies is one.
func (s *scripted) foundAt() int {
	return 1 + slices.IndexFunc(s.Result.Attempts, func(t beagle.Attempt) bool {
		// The quick measurement of a busy machine may be inconclusive.
		good := t.Screen != nil && t.Screen.Low > 1 || s.confirmed() && t.Candidate == s.Result.Best.ID
		return good && len(t.Steps) > 0 && t.Steps[len(t.Steps)-1].Mutator == "model"
	})
}

// confirmed reports whether the winner is a model's version, or descends from one.
func (s *scripted) confirmed() bool {
	return s.Result.Outcome == beagle.Improved &&
		slices.ContainsFunc(s.Result.Best.Steps, func(step beagle.Step) bool { return step.Mutator == "model" })
}

func outcome(r *beagle.Result) string {
	if r.Outcome != beagle.Improved {
		return "no improvement"
	}
	return fmt.Sprintf("%sx (%s to %s)", digits(r.Best.Ratio.Point), digits(r.Best.Ratio.Low),
		digits(r.Best.Ratio.High))
}

// tenReplies returns the expert's version and nine without a gain, in an order that depends on the
// task's name.
func tenReplies(t *suite.Task) ([]llmtest.Reply, error) {
	// Read the expert's version and the original.
	expert, err := os.ReadFile(filepath.Join(t.Dir, t.Expert))
	if err != nil {
		return nil, err
	}
	head, whole, err := declaration(t)
	if err != nil {
		return nil, err
	}
	// Write nine bad replies.
	fence := func(code string) string { return "This is faster.\n\n```go\n" + code + "\n```\n" }
	texts := []string{
		"The function is as fast as it can be.",
		"<<<<<<< SEARCH\n\tno such line\n=======\n\tx++\n>>>>>>> REPLACE\n",
		fence(head + " { return undefinedThing() }"),
		fence("import \"os/exec\"\n\nfunc helper() { exec.Command(\"true\").Run() }\n\n" +
			strings.Replace(whole, "{", "{\n\thelper()\n", 1)),
		fence("//go:linkname nanotime runtime.nanotime\nfunc nanotime() int64\n\n" +
			strings.Replace(whole, "{", "{\n\t_ = nanotime()\n", 1)),
		fence(head + " { panic(\"not today\") }"),
		fence(head + " {\n\tfor {\n\t}\n}"),
		fence("// Much faster now.\n" + whole),
		fence(head + " { _ = " + strings.Repeat("(", 5000) + "1" + strings.Repeat(")", 5000) + "; panic(1) }"),
	}
	// Insert the good one at a place that the task's name decides.
	h := fnv.New32a()
	h.Write([]byte(t.Name))
	texts = slices.Insert(texts, 1+int(h.Sum32()%8), fence(string(expert)))
	out := make([]llmtest.Reply, len(texts))
	for i, text := range texts {
		out[i].Text = text
	}
	return out, nil
}

// declaration returns the target's declaration in the task's package: its head, and the whole.
func declaration(t *suite.Task) (head, whole string, err error) {
	files, err := filepath.Glob(filepath.Join(t.Dir, "*.go"))
	if err != nil {
		return "", "", err
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return "", "", err
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return "", "", err
		}
		for _, d := range f.Decls {
			fd, ok := d.(*ast.FuncDecl)
			if !ok || fd.Body == nil || fd.Name.Name != t.Target[strings.LastIndexByte(t.Target, '.')+1:] ||
				(fd.Recv != nil) != strings.Contains(t.Target, ".") {
				continue
			}
			at := func(p token.Pos) int { return fset.Position(p).Offset }
			return string(bytes.TrimSpace(text[at(fd.Type.Func):at(fd.Body.Pos())])),
				string(text[at(fd.Type.Func):at(fd.End())]), nil
		}
	}
	return "", "", fmt.Errorf("%s has no function %s", t.Dir, t.Target)
}
