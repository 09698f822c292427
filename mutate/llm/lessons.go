package llm

// A Lesson is a short text that teaches a model something that it needs to
// know about a target with certain facts.
type Lesson struct {
	Name    string   `json:"name"`    // the file's name without .md: "bounds-checks"
	Title   string   `json:"title"`   // one line
	Matches []string `json:"matches"` // facts of a target that it is for: "bounds-check", "ascii"; see Evidence.Facts
	Go      string   `json:"go"`      // the version of Go for which it was checked: "1.26"
	Body    string   `json:"body"`    // Markdown
	From    string   `json:"from"`    // "bundled", or the file that it was read from
}
