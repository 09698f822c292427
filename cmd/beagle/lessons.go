package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow/local"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/store"
	"github.com/beagle-go/beagle/mutate/llm"
)

var lessonsCommand = &command{
	name: "lessons", args: "[list | show NAME | propose RUN | keep NAME | drop NAME]",
	short: "list and keep short texts that teach models and agents",
	long: `
Lessons are short texts on what makes Go code fast. Models and agents get those that
fit the function they work on. Some come with Beagle; your own are files in beagle/lessons
of your configuration directory, in lessons of $BEAGLE_HOME, and in directories named with
--lessons. A lesson of yours replaces one of the same name.

'propose' writes down what a run learned: the steps of its winner with what each bought,
the compiler's account before and after, and the change. A proposal teaches nobody until
you 'keep' it; read it first, and mend it with an editor.

A lesson is a Markdown file with a header:

  ---
  title: Our tag tables
  matches: table, byte-predicate
  go: 1.26
  ---
  Package internal/chars has tables for ...

` + wrapped("Facts to match: "+strings.Join(llm.FactNames, ", ")+".", helpColumns) + `

Examples:
  beagle lessons
  beagle lessons show bounds-checks
  beagle lessons propose 3f2a
  beagle lessons keep normalize-3f2a1b`,
}

func init() { lessonsCommand.run = runLessons }

// A lessonLibrary finds the user's own lessons and proposals.
type lessonLibrary struct {
	store *store.Store
	home  string // of the store
	dirs  []string
}

// ownLessons returns those of the directories that exist, absolute; one that was named and does not
// exist is an error.
func ownLessons(named []string) ([]string, error) {
	home, err := store.Home()
	if err != nil {
		return nil, err
	}
	var out []string
	for _, dir := range llm.LessonDirs(home, named) {
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, err
		}
		// The directories that are searched without being named need not exist.
		info, err := os.Stat(abs)
		switch {
		case err == nil && info.IsDir():
			out = append(out, abs)
		case slices.Contains(named, dir):
			return nil, &beagle.UsageError{
				What:   "--lessons " + dir + " is not a directory",
				Remedy: "name a directory of .md files ('beagle lessons --help' shows their form)",
			}
		}
	}
	return out, nil
}

func (b *lessonLibrary) dir() string         { return filepath.Join(b.home, "lessons") }
func (b *lessonLibrary) proposalDir() string { return filepath.Join(b.home, "lessons", "proposed") }

// runLessons lists, shows, proposes, keeps or drops lessons.
func runLessons(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	var more []string
	f := c.flags(std)
	asJSON := f.Bool("json", false, "print JSON")
	f.Var(manyFlag{&more}, "lessons", "your own lessons in this `directory` too")
	rest, err := parse(f, args, 0, 2)
	if err != nil {
		return exitUsage, err
	}
	// Open the library: built-in lessons, the user's, and those of --lessons.
	home, err := store.Home()
	if err != nil {
		return exitNo, err
	}
	s, err := openStore()
	if err != nil {
		return exitNo, err
	}
	b := &lessonLibrary{store: s, home: home, dirs: llm.LessonDirs(home, more)}
	verb, name := "list", ""
	if len(rest) > 0 {
		verb = rest[0]
	}
	if len(rest) > 1 {
		name = rest[1]
	}
	// Run the verb.
	do, known := map[string]func() error{
		"list":    func() error { return b.list(std, *asJSON) },
		"show":    func() error { return b.show(std, name, *asJSON) },
		"propose": func() error { return b.propose(ctx, std, name) },
		"keep":    func() error { return b.keep(std, name) },
		"drop":    func() error { return b.drop(std, name) },
	}[verb]
	if !known || (name == "") != (verb == "list") {
		return exitUsage, &beagle.UsageError{
			What:   fmt.Sprintf("unknown arguments: %s", strings.Join(rest, " ")),
			Remedy: "use list, show NAME, propose RUN, keep NAME or drop NAME",
		}
	}
	if err := do(); err != nil {
		return exitNo, err
	}
	return exitOK, nil
}

// list prints a line for each lesson.
func (b *lessonLibrary) list(std stdio, asJSON bool) error {
	all, err := llm.LoadLessons(b.dirs...)
	if err != nil {
		return err
	}
	// Programs get the lessons that are in force, without the proposals.
	if asJSON {
		return printJSON(std.out, all)
	}
	t := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "NAME\tFOR\tTITLE\tFROM")
	for _, l := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\n", l.Name, strings.Join(l.Matches, ","), l.Title, l.From)
	}
	waiting, err := b.undecided()
	for _, l := range waiting {
		fmt.Fprintf(t, "%s\t%s\t%s\tproposed: 'beagle lessons keep %[1]s'\n", l.Name,
			strings.Join(l.Matches, ","), l.Title)
	}
	return errors.Join(err, t.Flush())
}

// undecided returns the proposals that were neither kept nor dropped.
func (b *lessonLibrary) undecided() ([]llm.Lesson, error) {
	all, err := llm.LoadLessons(b.proposalDir())
	return slices.DeleteFunc(all, func(l llm.Lesson) bool { return l.From == llm.Bundled }), err
}

// find looks for a lesson and, if told so, among the proposals alone.
func (b *lessonLibrary) find(name string, proposedOnly bool) (*llm.Lesson, error) {
	all, err := b.undecided()
	if !proposedOnly && err == nil {
		var known []llm.Lesson
		known, err = llm.LoadLessons(b.dirs...)
		all = append(known, all...)
	}
	if err != nil {
		return nil, err
	}
	// A kept lesson comes before a proposal of the same name.
	i := slices.IndexFunc(all, func(l llm.Lesson) bool { return l.Name == name })
	if i < 0 {
		what := "lesson"
		if proposedOnly {
			what = "proposal"
		}
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("there is no %s %q", what, name),
			Remedy: "'beagle lessons' lists them",
		}
	}
	return &all[i], nil
}

// show prints a lesson.
func (b *lessonLibrary) show(std stdio, name string, asJSON bool) error {
	l, err := b.find(name, false)
	switch {
	case err != nil:
		return err
	case asJSON:
		return printJSON(std.out, l)
	}
	_, err = fmt.Fprint(std.out, l.Text())
	return err
}

// propose writes the lesson of a run into the store, where models do not see it.
func (b *lessonLibrary) propose(ctx context.Context, std stdio, id string) error {
	run, err := b.store.Run(id)
	if err != nil {
		return err
	}
	r, err := local.Result(b.store, run.ID)
	if err != nil {
		return err
	}
	// Models see only lessons that a person has kept, so the text goes to a directory of its own.
	l, err := llm.Propose(r, original(ctx, r))
	if err != nil {
		return err
	}
	path := filepath.Join(b.proposalDir(), l.Name+".md")
	if err := os.MkdirAll(b.proposalDir(), 0o755); err != nil {
		return err
	}
	if err := b.store.WriteFile(path, []byte(l.Text())); err != nil {
		return err
	}
	fmt.Fprintf(std.out,
		"%s\n\nProposed in %s\nKeep it with 'beagle lessons keep %s'; until then no model sees it.\n",
		l.Text(), path, l.Name)
	return nil
}

// original returns the target of a result as it was, if its source is still the same.
func original(ctx context.Context, r *beagle.Result) *beagle.Target {
	u, err := source.Load(ctx, source.Options{Dir: r.Target.Dir, Spec: r.Target.Spec})
	if err != nil || u.Target.ID() != r.Target.ID {
		return nil
	}
	return &u.Target
}

// keep moves a proposed lesson to the user's own.
func (b *lessonLibrary) keep(std stdio, name string) error {
	l, err := b.find(name, true)
	if err != nil {
		return err
	}
	// Never overwrite a lesson: the user may have edited it.
	to := filepath.Join(b.dir(), filepath.Base(l.From))
	if _, err := os.Stat(to); !errors.Is(err, fs.ErrNotExist) {
		return &beagle.UsageError{What: to + " is there already", Remedy: "rename one of the two, or delete it"}
	}
	if err := os.Rename(l.From, to); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Kept as %s\n", to)
	return nil
}

// drop removes a lesson.
func (b *lessonLibrary) drop(std stdio, name string) error {
	l, err := b.find(name, true)
	if err != nil {
		return err
	}
	if err := os.Remove(l.From); err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Dropped %s\n", name)
	return nil
}
