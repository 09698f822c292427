package llm

import (
	_ "embed"
	"go/types"
	"strings"
	"sync"
)

// vocabularyText holds the words of Beagle's own messages: reasons of verdicts, notes of checks,
// texts of runs. A test collects them from the packages that write such messages. A missing word
// has one effect only: redacted prompts withhold it.
//
//go:embed briefing_words.txt
var vocabularyText string

// compilerVocabulary holds the most frequent words of type checkers and compilers, and the words
// that rewrites use for places.
const compilerVocabulary = `a an and or of in is not to the as by for from on with its it be are was have has had want got too many enough few arguments argument
	return returns result results call calls value values variable variables constant type types parameter field method function func undefined undeclared declared used unused imported
	cannot can use assign convert mismatched operands operation operator invalid missing statement expression expected found unexpected syntax error errors newline end
	expects untyped int string byte bytes bool float rune slice array map struct pointer interface nil overflows truncated defined redeclared block label
	before after between loop loops whole tests digits first last text texts number numbers equals differs line column file copy for frequent case index bounds shift count non multiple single assignment don't doesn't isn't cannot`

// vocabulary returns the words that a prompt may show anywhere, in lower case.
var vocabulary = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(vocabularyText + " " + compilerVocabulary) {
		out[word] = true
	}
	for word := range goTypes {
		out[word] = true
	}
	for _, word := range types.Universe.Names() {
		out[word] = true
	}
	return out
})
