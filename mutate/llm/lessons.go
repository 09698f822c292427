package llm

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/inorder"
)

// A Lesson is a short text that teaches a model about targets with certain facts.
type Lesson struct {
	Name    string   `json:"name"`    // the file's name without .md: "bounds-checks"
	Title   string   `json:"title"`   // one line
	Matches []string `json:"matches"` // facts of its targets: "bounds-check", "ascii"; see FactNames
	Go      string   `json:"go"`      // the version of Go that it was checked with: "1.26"
	Body    string   `json:"body"`    // Markdown
	From    string   `json:"from"`    // "bundled", or the file that holds it
}

//go:embed lessons/*.md
var bundled embed.FS

// Bundled is the value of Lesson.From for lessons that come with the program.
const Bundled = "bundled"

const (
	maxLesson  = 8 << 10 // bytes of a file
	maxLessons = 500     // files of a folder
)

// LoadLessons returns the bundled lessons and those of some folders, by name. A lesson of a folder
// replaces a bundled one of the same name, and one of an earlier folder. A missing folder counts as
// empty. A file that is not a lesson gives a [beagle.UsageError].
func LoadLessons(dirs ...string) ([]Lesson, error) {
	byName := map[string]Lesson{}
	if err := readLessons(byName, bundled, "lessons", func(string) string { return Bundled }); err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		from := func(name string) string { return filepath.Join(dir, name) }
		err := readLessons(byName, os.DirFS(dir), ".", from)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	out := make([]Lesson, 0, len(byName))
	for _, l := range byName {
		out = append(out, l)
	}
	inorder.By(out, func(a, b Lesson) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// readLessons adds the lessons of a folder to into. from returns the place of a file, for messages.
func readLessons(into map[string]Lesson, fsys fs.FS, dir string, from func(name string) string) error {
	files, err := fs.ReadDir(fsys, dir)
	if err != nil {
		return err
	}
	// Only Markdown files are lessons, and there is a bound on their number and size.
	n := 0
	for _, f := range files {
		if f.IsDir() || !strings.HasSuffix(f.Name(), ".md") {
			continue
		}
		if n++; n > maxLessons {
			return &beagle.UsageError{
				What:   fmt.Sprintf("%s: more than %d lessons", filepath.Dir(from(f.Name())), maxLessons),
				Remedy: "keep the ones that help; only a few are shown to a model at once",
			}
		}
		where := from(f.Name())
		if info, err := f.Info(); err == nil && info.Size() > maxLesson {
			return &beagle.UsageError{
				What:   fmt.Sprintf("%s: %d bytes", where, info.Size()),
				Remedy: fmt.Sprintf("a lesson has at most %d; split it", maxLesson),
			}
		}
		// Read the lesson. It replaces one of the same name from a folder before.
		text, err := fs.ReadFile(fsys, strings.TrimPrefix(dir+"/"+f.Name(), "./"))
		if err != nil {
			return err
		}
		l, err := ParseLesson(strings.TrimSuffix(f.Name(), ".md"), string(text))
		if err != nil {
			return &beagle.UsageError{
				What:   where + ": " + err.Error(),
				Remedy: "'beagle lessons --help' shows the form of a lesson",
			}
		}
		l.From = where
		into[l.Name] = l
	}
	return nil
}

// ParseLesson reads a lesson: lines "title:", "matches:" and "go:" between two lines of three
// dashes, then Markdown.
func ParseLesson(name, text string) (Lesson, error) {
	l := Lesson{Name: name}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	head, body, ok := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
	if !ok || !strings.HasPrefix(text, "---\n") {
		return l, errors.New("the header between two lines of --- at its beginning is missing")
	}
	// Read the header.
	for i, line := range strings.Split(head, "\n") {
		key, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch {
		case strings.TrimSpace(line) == "":
		case ok && key == "title":
			l.Title = value
		case ok && key == "go":
			l.Go = value
		case ok && key == "matches":
			l.Matches = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		default:
			return l, fmt.Errorf("line %d: %q: want title, matches or go", i+2, line)
		}
	}
	l.Body = strings.TrimSpace(body)
	// Check that nothing is missing, and that each fact exists.
	switch {
	case l.Title == "":
		return l, errors.New("the header has no title")
	case len(l.Matches) == 0:
		return l, errors.New("the header has no matches")
	case l.Body == "":
		return l, errors.New("it has no text")
	}
	for _, m := range l.Matches {
		if !slices.Contains(FactNames, m) {
			return l, fmt.Errorf("it matches %q, which is not a fact; the facts are %s", m,
				strings.Join(FactNames, ", "))
		}
	}
	return l, nil
}

// Text returns the lesson as a file.
func (l *Lesson) Text() string {
	return fmt.Sprintf("---\ntitle: %s\nmatches: %s\ngo: %s\n---\n%s\n", l.Title,
		strings.Join(l.Matches, ", "), l.Go, l.Body)
}

// Match chooses the lessons for a target with some facts, the best match first, within limit bytes.
// The user's own lessons come before bundled ones.
func Match(all []Lesson, facts map[string]float64, limit int) []Lesson {
	const least = 0.3
	type ranked struct {
		Lesson
		score float64
	}
	var list []ranked
	for _, l := range all {
		score := fitting(&l, facts)
		if l.From != Bundled && score > 0 {
			score += 0.5
		}
		if score >= least {
			list = append(list, ranked{l, score})
		}
	}
	inorder.By(list, func(a, b ranked) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.Name, b.Name))
	})
	var out []Lesson
	used := 0
	for _, r := range list {
		if n := len(lessonInWords(&r.Lesson)); used+n <= limit {
			used += n
			out = append(out, r.Lesson)
		}
	}
	return out
}

// fitting returns how well a lesson fits: the weight of the first fact that it names, plus half of
// the mean weight of the others. A lesson does not fit at all without its first fact, or where the
// inputs show that one of its facts does not hold.
func fitting(l *Lesson, facts map[string]float64) float64 {
	refuted := func(fact string) bool { return facts[fact] < 0 }
	if facts[l.Matches[0]] <= 0 || slices.ContainsFunc(l.Matches, refuted) {
		return 0
	}
	score := facts[l.Matches[0]]
	for _, m := range l.Matches[1:] {
		score += 0.5 * facts[m] / float64(len(l.Matches)-1)
	}
	return score
}

// lessonInWords returns a lesson as a prompt shows it. Bundled lessons are part of the program.
// Anybody may have written others, so they stand in a block.
func lessonInWords(l *Lesson) string {
	if l.From == Bundled {
		return "## " + l.Title + "\n\n" + l.Body + "\n\n"
	}
	return "## " + word(l.Title) + "\n\n" + Block("text", Clean(l.Body)) + "\n"
}

// lessonsInWords returns as many whole lessons as fit.
func lessonsInWords(taught []Lesson, limit int) string {
	var b strings.Builder
	for _, l := range taught {
		if text := lessonInWords(&l); b.Len()+len(text) <= limit {
			b.WriteString(text)
		}
	}
	return b.String()
}

// lessonsIn returns the names of the lessons whose titles a text holds.
func lessonsIn(taught []Lesson, text string) []string {
	var out []string
	for _, l := range taught {
		if strings.Contains(text, lessonInWords(&l)) {
			out = append(out, l.Name)
		}
	}
	return out
}
