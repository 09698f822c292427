package llm

// A Change is what a reply asks for: declarations, or edits of the text that
// it was shown. Exactly one of Decls and Edits is set.
type Change struct {
	Decls   string   `json:"decls,omitempty"`   // Go declarations, with or without a package clause; they replace those of the same name
	Edits   []Edit   `json:"edits,omitempty"`   // in the order of the reply
	Imports []string `json:"imports,omitempty"` // import specs to add: `"math/bits"`
	Note    string   `json:"note,omitempty"`    // what the model says of it, one line
}

// An Edit replaces a text that must occur exactly once.
type Edit struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
}

// A ReplyError says why a reply is no candidate, in words that the model can
// act on in a repair round.
type ReplyError struct {
	What string // what is wrong
	Show string // the nearest text of the parent, when a search did not match
}

func (e *ReplyError) Error() string {
	if e.Show == "" {
		return e.What
	}
	return e.What + "\n" + e.Show
}

// Read finds the change in a reply: search/replace blocks, else a unified
// diff, else Go declarations. An error is a [*ReplyError]. The time is linear
// in the text.
func Read(text string) (Change, error) {
	return Change{}, &ReplyError{What: "the reply holds no code"}
}

// Apply carries the change out on a candidate file. An error is a
// [*ReplyError].
func (c Change) Apply(parent string) (string, error) {
	return "", &ReplyError{What: "the reply changes nothing"}
}
