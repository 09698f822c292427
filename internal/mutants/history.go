package mutants

import (
	"fmt"
	"strings"
)

// A historic is a mistake that was really made, or that maintainers guarded
// against, in the functions which tasks of the suite are modelled on.
type historic struct {
	Task  string // of the suite
	What  string
	Where string // repository and number, or the rule that it breaks
	edits []edit // of the task's original
}

type edit struct{ was, is string }

// Apply makes the wrong version of the original's text.
func (h *historic) Apply(original string) (string, error) {
	for _, e := range h.edits {
		if strings.Count(original, e.was) != 1 {
			return "",
				fmt.Errorf("%s, %s: %q does not stand in the original once: write the mistake anew", h.Task,
					h.What, e.was)
		}
		original = strings.Replace(original, e.was, e.is, 1)
	}
	return original, nil
}

const (
	keyTail   = "return hash(host, hash(name, key))"
	keySkip   = "if i > 0 && tag == unique[i-1] {"
	keySort   = "unique := append([]string(nil), tags...)\n\tsort.Strings(unique)"
	mergeKeep = "if i == 0 || tag != merged[i-1] {"
)

// History is the list. Tag normalisation, the keys of contexts and merged tags
// are from DataDog/datadog-agent and DataDog/saluki, where the mistakes were
// made, found and guarded against.
var History = []historic{
	{"contextkey", "duplicates cancel each other", "saluki#161, saluki#209", []edit{{keySkip, "if i < 0 {"}}},
	{"contextkey", "only a pair of equal tags counts once, a third cancels", "datadog-agent#8822",
		[]edit{{keySkip, "if i == 1 && tag == unique[i-1] {"}}},
	{"contextkey", "a name that equals a tag cancels it", "datadog-agent#11096",
		[]edit{{keyTail, "return hash(host, 0) ^ hash(name, 0) ^ key"}}},
	{"contextkey", "a host that equals the name cancels it", "datadog-agent#11096",
		[]edit{{keyTail, "return hash(host, key) ^ hash(name, key) ^ key"}}},
	{"contextkey", "name and host run into each other: metric+hostname is metrichost+name", "datadog-agent's own tests",
		[]edit{{keyTail, "return hash(name+host, key)"}}},
	{"contextkey", "name and host change places", "datadog-agent's own tests",
		[]edit{{keyTail, "return hash(name, hash(host, key))"}}},
	{"contextkey", "beyond 512 tags duplicates are not looked for", "datadog-agent#8822",
		[]edit{{keySkip, "if i > 0 && len(unique) <= 512 && tag == unique[i-1] {"}}},
	{"contextkey", "at 512 tags the set is full and the last is dropped", "datadog-agent#8822",
		[]edit{{"for i, tag := range unique {", "for i, tag := range unique[:min(len(unique), 511)] {"}}},
	{"contextkey", "the caller's tags are sorted in place", "the Agent's benchmark above 512 tags",
		[]edit{{keySort, "unique := tags\n\tsort.Strings(unique)"}}},
	{"contextkey", "tags of equal length and first letter are taken for equal: a collision", "datadog-agent#8822",
		[]edit{{keySkip, "if i > 0 && len(tag) > 0 && len(tag) == len(unique[i-1]) && tag[0] == unique[i-1][0] {"}}},
	{"contextkey", "a tag whose hash is zero is an empty slot, and ends the set", "datadog-agent#8822",
		[]edit{{"\t\tkey ^= hash(tag, 0)", "\t\tif hash(tag, 0) == 0 {\n\t\t\tbreak\n\t\t}\n\t\tkey ^= hash(tag, 0)"}}},
	{"contextkey", "the order of the tags counts", "datadog-agent#8472",
		[]edit{{"\tsort.Strings(unique)\n", ""}, {"\t\tkey ^= hash(tag, 0)", "\t\tkey = key*31 ^ hash(tag, 0)"},
			{"import (\n\t\"encoding/binary\"\n\t\"math/bits\"\n\t\"sort\"\n)",
				"import (\n\t\"encoding/binary\"\n\t\"math/bits\"\n)"}}},
	{"mergetags", "duplicates reach the payload", "datadog-agent#8676, #8678", []edit{{mergeKeep, "if i >= 0 {"}}},
	{"mergetags", "only duplicates across the two lists are found, not within one", "datadog-agent#8676",
		[]edit{{mergeKeep, "if i == 0 || tag != merged[i-1] || len(b) == 0 {"}}},
	{"mergetags", "beyond 512 tags duplicates are not looked for", "datadog-agent#8822",
		[]edit{{mergeKeep, "if i == 0 || len(merged) > 512 || tag != merged[i-1] {"}}},
	{"mergetags", "the first list's spare room is used", "datadog-agent#8822, in place",
		[]edit{{"append(append([]string{}, a...), b...)", "append(a, b...)"}}},
	{"mergetags", "nil for no tags", "the API of the function",
		[]edit{{"unique := []string{}", "var unique []string"}}},
	{"normalizetag", "an underscore is left at rune 200", "the rule on the length",
		[]edit{{"if runes+1 >= maxTagLength {\n\t\t\t\t\treturn out.String()\n\t\t\t\t}\n", ""}}},
	{"normalizetag", "201 runes", "the rule on the length",
		[]edit{{"if runes == maxTagLength {", "if runes == maxTagLength+1 {"}}},
	{"normalizetag", "200 bytes instead of 200 runes", "the rule on the length",
		[]edit{
			{"\t\t\tout.WriteRune(r)\n\t\t\trunes++\n",
				"\t\t\tout.WriteRune(r)\n\t\t\trunes = max(runes+1, out.Len())\n"},
		}},
	{"normalizetag", "invalid UTF-8 becomes U+FFFD", "the rule on invalid bytes",
		[]edit{{"r != utf8.RuneError && unicode.IsLetter(r)", "(r == utf8.RuneError || unicode.IsLetter(r))"}}},
	{"normalizetag", "letters that grow when lowered are lowered byte by byte", "the rule on upper case",
		[]edit{{"r = unicode.ToLower(r)", "if r < utf8.RuneSelf {\n\t\t\tr = unicode.ToLower(r)\n\t\t}"}}},
	{"normalizetag", "digits start a tag", "the rule of values applied to names",
		[]edit{
			{"case runes == 0 && !letter && r != ':':",
				"case runes == 0 && !letter && !unicode.IsDigit(r) && r != ':':"},
		}},
	{"normalizetag", "two underscores stay two in the quick way", "datadog-agent#14881",
		[]edit{
			{"if i == len(tag) || !isValidASCIITagChar(tag[i]) {",
				"if i == len(tag) || tag[i] != '_' && !isValidASCIITagChar(tag[i]) {"},
		}},
	{"securewrite", "the checksums are combined with a wrong length", "the combination of checksums",
		[]edit{
			{"func combine(first, second uint32, length int) uint32 {\n",
				"func combine(first, second uint32, length int) uint32 {\n\tif length > 4096 {\n\t\tlength--\n\t}\n"},
		}},
}
