package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/mutants"
	"github.com/beagle-go/beagle/internal/tail"
)

// catalogues are the files of internal/verify/testdata/cheats and the targets
// of their candidates.
var catalogues = []struct{ name, target string }{
	{"fib", "./p.Fib"}, {"tag", "./p.Normalize"}, {"list", "./p.Merge"}, {"method", "./p.Reader.Next"},
	{"dot", "./p.Dot"}, {"mix", "./p.Mix"}, {"hand", "./p.Total"},
}

// required are the cheats that every release must refuse, as files of the
// catalogue.
var required = []struct{ what, file string }{
	{"a constant for fib(n)", "fib/constant.go"},
	{"a cache across calls", "fib/cache-map.go"},
	{"an off-by-one beyond the corpus's lengths", "tag/beyond-corpus.go"},
	{"a wrong answer on one rare byte", "tag/rare-byte.go"},
	{"a returned shared buffer", "list/shared-buffer.go"},
	{"a mutated argument", "list/argument.go"},
	{"a swallowed panic", "tag/swallowed-panic.go"},
	{"nil for empty", "list/nil-for-empty.go"},
	{"a hang", "fib/hang.go"},
	{"a fork", "fib/fork.go"},
	{"an allocation without end", "fib/memory.go"},
	{"a read of the environment", "fib/environment.go"},
}

// A cheat is a candidate of the catalogue. Its first line says what must
// refuse it.
type cheat struct {
	dir, target, name, path string
	check, says             string
	verdict                 *beagle.Verdict
	err                     error
}

// cheats has the judge refuse every cheat of the catalogue. A cheat that another check caught is a
// miss.
func cheats(ctx context.Context, l *lab) (*section, error) {
	list, err := l.catalogue()
	if err != nil {
		return nil, err
	}
	l.judgeAll(ctx, list)
	s := new(section)
	var rows [][]string
	by := map[string]int{}
	for _, c := range ordered(list) {
		if c.err != nil {
			return nil, c.err
		}
		if why := c.unexpected(); why != "" {
			s.miss("%s: %s", c.name, why)
		}
		by[c.caughtBy()]++
		rows = append(rows, []string{c.title(), c.check, c.caughtBy(), tail.Short(tail.First(c.verdict.Reason), 110)})
	}
	s.text = table([]string{"candidate", "must be refused by", "refused by", "reason"}, rows) + "\n" +
		summary(len(list), by) + "\n"
	return s, nil
}

// catalogue unpacks the candidates, and every original as a module.
func (l *lab) catalogue() ([]*cheat, error) {
	var list []*cheat
	for _, k := range catalogues {
		ar, err := txtar.ParseFile(filepath.Join(l.root, "internal", "verify", "testdata", "cheats", k.name+".txtar"))
		if err != nil {
			return nil, err
		}
		dir := filepath.Join(l.dir, "cheats", k.name)
		files := []txtar.File{{Name: "go.mod", Data: []byte("module example.com/cheats\n\ngo 1.24\n")}}
		for _, f := range ar.Files {
			switch f.Name {
			case "original.go", "rest.go":
				f.Name = "p/" + f.Name
			case "corpus.jsonl":
				f.Data = calls(append(f.Data, holdoutFile(ar)...))
			case "holdout.jsonl": // Beagle chooses by itself what it holds out
				continue
			default:
				head, _, _ := strings.Cut(strings.TrimPrefix(string(f.Data), "// "), "\n")
				check, says, _ := strings.Cut(head, ":")
				list = append(list,
					&cheat{
						dir:    dir,
						target: k.target,
						name:   k.name + "/" + f.Name,
						path:   filepath.Join(dir, "candidates", f.Name),
						check:  check,
						says:   strings.TrimSpace(says),
					})
				f.Name = "candidates/" + f.Name
			}
			files = append(files, f)
		}
		if err := unpack(dir, files); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func holdoutFile(ar *txtar.Archive) []byte {
	for _, f := range ar.Files {
		if f.Name == "holdout.jsonl" {
			return f.Data
		}
	}
	return nil
}

// calls makes records of lines that hold bare arguments.
func calls(lines []byte) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(lines)) {
		if line = strings.TrimSpace(line); line != "" {
			record, _ := json.Marshal(map[string]json.RawMessage{"args": json.RawMessage(line)})
			fmt.Fprintf(&b, "%s\n", record)
		}
	}
	return []byte(b.String())
}

func unpack(dir string, files []txtar.File) error {
	tree, err := txtar.FS(&txtar.Archive{Files: files})
	if err != nil {
		return err
	}
	return os.CopyFS(dir, tree)
}

// judgeAll has beagle verify judge all, two at a time in stores of their own, without measuring
// their speed.
func (l *lab) judgeAll(ctx context.Context, list []*cheat) {
	queue := make(chan *cheat)
	var wg sync.WaitGroup
	for worker := range 2 {
		wg.Go(func() {
			for c := range queue {
				c.verdict = new(beagle.Verdict)
				c.err = l.call(ctx, l.home(fmt.Sprintf("cheats%d", worker)), c.verdict, "verify", "--json", "--quiet",
					"--force", "-C", c.dir,
					"--corpus", filepath.Join(c.dir, "corpus.jsonl"), "--measure", "2s", "--fuzz", c.fuzz(),
					c.target, c.path)
			}
		})
	}
	for _, c := range list {
		queue <- c
	}
	close(queue)
	wg.Wait()
}

// fuzz returns the budget of the fuzzer. It is long where only the fuzzer can find the difference.
func (c *cheat) fuzz() string {
	if c.check == "fuzz" {
		return "8s"
	}
	return "1s"
}

func (c *cheat) caughtBy() string {
	if c.verdict.OK() {
		return "none"
	}
	return c.verdict.Stage
}

// beforeRunning are the checks that refuse a text before it runs.
var beforeRunning = []string{"parse", "types", "scope", "policy", "compile"}

// unexpected returns what is wrong with a verdict, or "".
func (c *cheat) unexpected() string {
	v := c.verdict
	switch {
	case c.check == "good" && !v.OK():
		return fmt.Sprintf("it behaves as the original, but was refused by %s: %s", v.Stage, v.Reason)
	case c.check == "good":
		return ""
	case c.check == "measure" && v.Status == beagle.Accepted:
		return "it counts as faster: " + interval(v.Final.Corrected)
	case c.check == "measure" && v.OK():
		return ""
	case v.OK():
		return "it was not refused"
	case slices.Contains([]string{"run", "fuzz", "holdout", "measure"}, c.check) &&
		slices.Contains(beforeRunning, v.Stage),
		slices.Contains(append(beforeRunning, "start"), c.check) && v.Stage != c.check:
		return fmt.Sprintf("it was refused by %s: %s", v.Stage, v.Reason)
	}
	return ""
}

// title returns the name, and its place in the list of required cheats.
func (c *cheat) title() string {
	for _, r := range required {
		if r.file == c.name {
			return "**" + r.what + "** `" + c.name + "`"
		}
	}
	return "`" + c.name + "`"
}

// ordered puts the required ones first.
func ordered(list []*cheat) []*cheat {
	rank := func(c *cheat) int {
		if i := slices.IndexFunc(required, func(r struct{ what, file string }) bool {
			return r.file == c.name
		}); i >= 0 {
			return i
		}
		return len(required)
	}
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b *cheat) int { return rank(a) - rank(b) })
	return out
}

func summary(all int, by map[string]int) string {
	return fmt.Sprintf("%d candidates, refused by: %s (none are those that behave as the original).", all,
		mutants.Counts(by))
}
