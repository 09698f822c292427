package llm

// A Prompt is what a model is sent. Of the same evidence, limits and seed
// Compose always makes the same prompt.
//
// System is the same for every prompt of every run (who is asked, the rules of
// the game, the form of the reply), and User begins with what stays the same
// for a target, so that providers which cache prefixes charge less for it.
type Prompt struct {
	System  string   `json:"system"`
	User    string   `json:"user"`
	Cut     []string `json:"cut,omitempty"`     // parts that did not fit whole: "tried: 3120 of 9802 bytes"
	Lessons []string `json:"lessons,omitempty"` // names of the lessons that it teaches
}

// Limits bound the parts of a prompt, in bytes. What is cut is cut at a line's
// end, with a mark that says how much is missing.
type Limits struct {
	Total    int `json:"total"`    // of System and User together; the parts at the end of the list of importance shrink first
	Source   int `json:"source"`   // of each version's source
	Callees  int `json:"callees"`  // of all sources of called functions
	Corpus   int `json:"corpus"`   // of the facets in words
	Profile  int `json:"profile"`  // of the hot lines
	Compiler int `json:"compiler"` // of the compiler's account
	Assembly int `json:"assembly"` // of the hot loop; a larger loop is left out
	Tried    int `json:"tried"`    // of all attempts
	Good     int `json:"good"`     // of all other good versions
	Failure  int `json:"failure"`  // of a repair's failed reply, and again of each complaint
	Lessons  int `json:"lessons"`  // of all lessons
}

// DefaultLimits make prompts of at most 48 KiB, some 14,000 tokens.
func DefaultLimits() Limits {
	return Limits{
		Total: 48 << 10, Source: 14 << 10, Callees: 5 << 10, Corpus: 3 << 10, Profile: 1536, Compiler: 3 << 10,
		Assembly: 5 << 10, Tried: 5 << 10, Good: 8 << 10, Failure: 6 << 10, Lessons: 8 << 10,
	}
}
