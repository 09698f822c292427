// Beagle makes Go functions faster and checks that they still do the same.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/source"
	"github.com/beagle-go/beagle/internal/tail"
)

// A command is one verb. Run returns the exit status: 0 done, 1 the answer is
// no (or the machinery failed, with an error), 2 bad usage.
type command struct {
	name  string
	args  string // arguments after the flags
	short string // one line
	long  string // paragraphs and examples
	run   func(ctx context.Context, c *command, args []string, std stdio) (int, error)
}

// stdio holds the outputs of a command.
type stdio struct{ out, err io.Writer }

// commands lists the verbs in the order in which a new user meets them.
func commands() []*command {
	return []*command{
		evolveCommand, verifyCommand, hotspotsCommand, auditCommand, benchCommand, campaignCommand, buildCommand,
		captureCommand, runsCommand, showCommand, resumeCommand, cancelCommand, workerCommand, explainCommand,
		ratesCommand, watchCommand, rolloutCommand, ledgerCommand,
		suiteCommand, lessonsCommand, mcpCommand, skillCommand, versionCommand,
	}
}

const (
	exitOK          = 0
	exitNo          = 1
	exitUsage       = 2
	exitInterrupted = 130
)

// collectLess has the collector wait for more garbage, unless the user says how much. A search
// makes much of it: that saves a sixth of the processor time while pieces of a function are looked
// up. A process that needs gigabytes collects at the usual rate.
func collectLess() {
	const most = 2 << 30
	if os.Getenv("GOGC") == "" && os.Getenv("GOMEMLIMIT") == "" {
		debug.SetGCPercent(400)
		debug.SetMemoryLimit(most)
	}
}

func main() {
	sandbox.Main()
	collectLess()
	status := run(os.Args[1:], stdio{os.Stdout, os.Stderr})
	sandbox.Leave()
	os.Exit(status)
}

// run does the work of main without the process: it prints errors and returns the status.
func run(args []string, std stdio) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// Help and version are commands, too.
	if len(args) == 0 || args[0] == "help" && len(args) == 1 || args[0] == "-h" || args[0] == "--help" {
		printUsage(std.out)
		return exitOK
	}
	name, rest := args[0], args[1:]
	if name == "--version" || name == "-version" {
		name = versionCommand.name
	}
	if name == "help" {
		name, rest = args[1], []string{"--help"}
	}
	// Run the command, or suggest one with a similar name.
	for _, c := range commands() {
		if c.name == name {
			return finish(std, c, rest, ctx)
		}
	}
	fmt.Fprintf(std.err, "beagle: there is no command %q\n", name)
	if near := nearCommands(name); near != "" {
		fmt.Fprintf(std.err, "  Did you mean %s? 'beagle help' lists all.\n", near)
		return exitUsage
	}
	fmt.Fprintln(std.err)
	printUsage(std.err)
	return exitUsage
}

// nearCommands names the verbs that are close to the typed one.
func nearCommands(name string) string {
	var names []string
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return source.NearNames(name, names)
}

// finish runs a command, prints its error in its own form, and returns the status.
func finish(std stdio, c *command, args []string, ctx context.Context) int {
	status, err := c.run(ctx, c, args, std)
	var bad *beagle.UsageError
	switch {
	case err == nil:
		return status
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case errors.As(err, &bad):
		companion.Explain(std.err, c.name, bad)
		return exitUsage
	}
	// A command that a signal stopped has no error of its own to show.
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintf(std.err, "beagle %s: stopped\n", c.name)
		return exitInterrupted
	}
	fmt.Fprintf(std.err, "beagle %s: %v\n", c.name, err)
	// The system's text names one of many files; the remedy is the same for all.
	if errors.Is(err, syscall.ENOSPC) {
		fmt.Fprintln(std.err,
			"  The disk is full: make room on it, or set BEAGLE_HOME (the store) or TMPDIR (builds) to a directory "+
				"on another disk. Then 'beagle runs' lists runs to resume.")
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return max(status, exitNo)
}

// printUsage prints all commands.
func printUsage(w io.Writer) {
	fmt.Fprint(w, `Beagle makes a Go function faster and checks that it still does the same.

  beagle evolve ./examples/tags.NormalizeTagArbTagValue

Commands:
`)
	for _, c := range commands() {
		fmt.Fprintf(w, "  %-8s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\n'beagle COMMAND --help' shows flags and examples.\n")
}

// A flagSet is a command's flags with its help.
type flagSet struct {
	*flag.FlagSet
	help func()
	args string // arguments beside the flags
}

// flags makes the flag set of a command, with help that shows its examples.
// Both -name and --name are understood.
func (c *command) flags(std stdio) *flagSet {
	f := flag.NewFlagSet(c.name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {} // a mistake gets one line, not a page
	help := func() {
		usage := []string{"usage: beagle", c.name}
		if hasFlags(f) {
			usage = append(usage, "[flags]")
		}
		if c.args != "" {
			usage = append(usage, c.args)
		}
		fmt.Fprintf(std.out, "%s\n\n%s\n", strings.Join(usage, " "), strings.TrimSpace(c.long))
		if hasFlags(f) {
			fmt.Fprint(std.out, "\nFlags:\n", flagList(f))
		}
	}
	return &flagSet{f, help, c.args}
}

// aFlag is the beginning of a flag in the list of the flag package, with a name of two letters or
// more.
var aFlag = regexp.MustCompile(`(?m)^  -([a-z][a-z-]+)`)

// flagList returns the flags with their texts, spelled as in the examples: --corpus, but -C.
func flagList(f *flag.FlagSet) string {
	var b strings.Builder
	f.SetOutput(&b)
	f.VisitAll(wrapUsage)
	f.PrintDefaults()
	list := aFlag.ReplaceAllString(b.String(), "  --$1")
	// A default that does not fit into the last line of its text begins the next one.
	return strings.ReplaceAll(list, "\t (default", "\t(default")
}

// given reports whether a flag is on the command line.
func (f *flagSet) given(name string) bool {
	there := false
	f.Visit(func(g *flag.Flag) { there = there || g.Name == name })
	return there
}

// Help fits into a terminal of helpColumns. The flag package indents what it says of a flag.
const (
	helpColumns = 90
	usageIndent = 8
)

// wrapUsage breaks the text of a flag into lines, and leaves room for the default, which the flag
// package appends.
func wrapUsage(f *flag.Flag) {
	room := ""
	if !slices.Contains([]string{"", "0", "0s", "false"}, f.DefValue) {
		room = strings.Repeat("x", len(`(default "")`)+len(f.DefValue))
	}
	text := wrapped(f.Usage+" "+room, helpColumns-usageIndent)
	f.Usage = strings.TrimSuffix(strings.TrimSuffix(text, room), " ")
}

// wrapped breaks a text into lines of at most some columns.
func wrapped(text string, columns int) string {
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		// The space before a word becomes the line's end where the word does not fit.
		switch {
		case used == 0:
		case used+1+n > columns:
			b.WriteByte('\n')
			used = 0
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}

func hasFlags(f *flag.FlagSet) bool {
	some := false
	f.VisitAll(func(*flag.Flag) { some = true })
	return some
}

var (
	badValue = regexp.MustCompile(`^invalid (?:boolean )?value "(.*)" for (?:flag )?-(\S+): `)
	badFlag  = regexp.MustCompile(`^flag provided but not defined: -+(\S+)$`)
	digits   = regexp.MustCompile(`^[0-9.]+$`)
)

// mistake rewords an error of the flag package.
func (f *flagSet) mistake(err error) error {
	bad := &beagle.UsageError{What: err.Error(), Remedy: fmt.Sprintf("'beagle %s --help' lists the flags", f.Name())}
	// An unknown flag gets a suggestion.
	if m := badFlag.FindStringSubmatch(bad.What); m != nil {
		bad.What = "there is no flag --" + m[1]
		var names []string
		f.VisitAll(func(g *flag.Flag) { names = append(names, g.Name) })
		if near := source.NearNames(m[1], names); near != "" {
			near = strings.ReplaceAll(strings.ReplaceAll(near, ", ", ", --"), " or ", " or --")
			bad.Remedy = fmt.Sprintf("Did you mean --%s? %s", near, bad.Remedy)
		}
		return bad
	}
	// A bad value gets an example of a good one, by the flag's type.
	m := badValue.FindStringSubmatch(bad.What)
	if m == nil {
		return bad
	}
	g, ok := f.Lookup(m[2]).Value.(flag.Getter)
	if !ok { // the flag's own error says what is wrong with the value
		bad.What = fmt.Sprintf("--%s: %s", m[2], bad.What[len(m[0]):])
		return bad
	}
	wants := ""
	switch g.Get().(type) {
	case time.Duration:
		wants = "a duration"
		if digits.MatchString(m[1]) {
			bad.Remedy = fmt.Sprintf("give a unit, as in --%s=%ss", m[2], m[1])
		} else {
			bad.Remedy = fmt.Sprintf("give a number with a unit, as in --%s=20s or --%s=5m", m[2], m[2])
		}
	case int, int64, uint, uint64:
		wants, bad.Remedy = "a whole number", fmt.Sprintf("give one, as in --%s=20", m[2])
	case float64:
		wants, bad.Remedy = "a number", fmt.Sprintf("give one, as in --%s=0.5", m[2])
	case bool:
		wants, bad.Remedy = "true or false", fmt.Sprintf("write --%s alone, or --%s=false", m[2], m[2])
	default:
		return bad
	}
	bad.What = fmt.Sprintf("--%s %s is not %s", m[2], m[1], wants)
	return bad
}

// countOf returns how many arguments there are, and which: a flag without its dashes is one, too.
func countOf(args []string) string {
	const most = 3
	if len(args) == 0 {
		return "no arguments"
	} else if len(args) > most {
		return tail.Plural(len(args), "argument")
	}
	return fmt.Sprintf("%s (%s)", tail.Plural(len(args), "argument"), strings.Join(args, ", "))
}

// parse reads flags before and after the arguments, since people write both.
func parse(f *flagSet, args []string, least, most int) ([]string, error) {
	var rest []string
	for {
		if err := f.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				f.help()
				return nil, err
			}
			return nil, f.mistake(err)
		}
		// Package flag stops at the first argument: put that one aside, and read on after it.
		if f.NArg() == 0 {
			break
		}
		rest, args = append(rest, f.Arg(0)), f.Args()[1:]
	}
	if len(rest) < least || len(rest) > most {
		takes := cmp.Or(f.args, "no arguments")
		return nil, &beagle.UsageError{
			What:   fmt.Sprintf("%s given: it takes %s", countOf(rest), takes),
			Remedy: fmt.Sprintf("'beagle %s --help' shows examples", f.Name()),
		}
	}
	return rest, nil
}

var versionCommand = &command{
	name: "version", short: "print the version",
	long: "Prints the version of Beagle and of the Go that built it.",
	run: func(_ context.Context, c *command, args []string, std stdio) (int, error) {
		if _, err := parse(c.flags(std), args, 0, 0); err != nil {
			return exitUsage, err
		}
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return exitNo, errors.New("built without module information")
		}
		fmt.Fprintf(std.out, "beagle %s, built with %s\n", info.Main.Version, info.GoVersion)
		return exitOK, nil
	},
}
