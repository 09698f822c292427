package llm

import (
	_ "embed"
	"go/types"
	"strings"
	"sync"
)

// vocabularyText are the words that Beagle's own messages are made of: reasons of
// verdicts, notes of checks, what runs say of themselves. A test collects them from
// the packages that write such messages; a word that is missing is withheld from
// redacted prompts, and nothing worse.
//
//go:embed evidence_words.txt
var vocabularyText string

// compilerVocabulary is what type checkers and compilers say most, and what
// rewrites call places.
const compilerVocabulary = `a an and or of in is not to the as by for from on with its it be are was have has had want got too many enough few arguments argument
	return returns result results call calls value values variable variables constant type types parameter field method function func undefined undeclared declared used unused imported
	cannot can use assign convert mismatched operands operation operator invalid missing statement expression expected found unexpected syntax error errors newline end
	expects untyped int string byte bytes bool float rune slice array map struct pointer interface nil overflows truncated defined redeclared block label
	before after between loop loops whole tests digits first last text texts number numbers equals differs line column file copy for frequent case index bounds shift count non multiple single assignment don't doesn't isn't cannot`

// vocabulary are the words that may be shown wherever they stand, in lower case.
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
