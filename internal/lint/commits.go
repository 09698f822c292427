package main

import (
	"fmt"
	"regexp"
	"strings"
)

// firstCommit is the last commit that was written before commits had a form.
const firstCommit = "3fa11e59d96e6161b2dee5b7f88f2ba39c61442a"

const subjectColumns = 72

var subjectForm = regexp.MustCompile(`^[a-z0-9.][A-Za-z0-9_./*{}-]*(, [a-z0-9.][A-Za-z0-9_./*{}-]*)*: (\S+)`)

// lintHistory checks the commits after firstCommit, and that no list of what is not held grew.
// Without that commit it looks at nothing and says so in the note.
func lintHistory(lists []notHeld) (found []finding, note string, err error) {
	if _, err := git("cat-file", "-e", firstCommit+"^{commit}"); err != nil {
		return nil, "commits: none checked, since this clone lacks the history from " + firstCommit[:12], nil
	}
	log, err := git("log", "--no-merges", "-z", "--format=%h%n%B", firstCommit+"..HEAD")
	if err != nil {
		return nil, "", err
	}
	for entry := range strings.SplitSeq(strings.TrimRight(log, "\x00"), "\x00") {
		if id, message, ok := strings.Cut(entry, "\n"); ok {
			found = append(found, lintMessage("commit "+id, message)...)
		}
	}
	for i, list := range lists {
		first, err := firstNotHeld(checks[i].list)
		if err != nil {
			return nil, "", err
		}
		if first != nil {
			found = append(found, list.grown(first)...)
		}
	}
	return found, "", nil
}

// lintMessage checks the message of a commit.
func lintMessage(name, message string) (found []finding) {
	lines := strings.Split(strings.TrimRight(message, "\n"), "\n")
	report := func(line int, format string, args ...any) {
		found = append(found, finding{name, line, fmt.Sprintf(format, args...)})
	}
	subject := lines[0]
	if n := columns(subject); n > subjectColumns {
		report(1, "%d columns, more than %d: shorten the subject and say the rest in the body", n, subjectColumns)
	}
	form := subjectForm.FindStringSubmatch(subject)
	if form == nil {
		report(1, "%q has not the form \"package: imperative\": name the package first", subject)
	} else if word := form[2]; !imperative(word) {
		report(1, "%q is not an imperative: say what the commit does, as in \"store: lock the index\"", word)
	}
	switch {
	case len(lines) == 1:
		report(1, "no body: say in one why the change is wanted, after a blank line")
	case lines[1] != "":
		report(2, "no blank line after the subject: add one")
	}
	return found
}

// notImperative are first words that end no differently from an imperative.
var notImperative = regexp.MustCompile(
	`^(a|an|the|it|its|this|that|these|those|what|who|no|not|one|all|each|every|now|new)$`)

// ends are the ends of other forms of a verb, and of most nouns in the plural.
var ends = regexp.MustCompile(`([^s]s|ed|ing|'s)$`)

// imperatives end as other forms do.
var imperatives = regexp.MustCompile(
	`^((pro|ex|suc)ceed|feed|need|seed|embed|speed|shed|shred|bring|ping|string|bias|alias|focus)$`)

// imperative reports whether a word may be the imperative of a verb. It errs on the side of yes.
func imperative(word string) bool {
	word = strings.ToLower(strings.Trim(word, `.,:;"'`))
	return imperatives.MatchString(word) || !notImperative.MatchString(word) && !ends.MatchString(word)
}
