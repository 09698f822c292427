package llm

import (
	"go/ast"
	"go/format"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/beagle-go/beagle/internal/inorder"
)

// Unchanged is the message for a reply that changes nothing.
const Unchanged = "the reply leaves the code as it is"

// Apply makes the change in a candidate file and returns the new file, formatted as gofmt does.
//
// Each search must match exactly once: as it is, or else without regard to spaces at the ends of
// lines. Declarations replace the parent's declarations of the same name; new ones join the file.
// Helpers that nothing uses any more go. An error is a [*ReplyError]; a change that leaves the code
// as it is gives one too.
func (c Change) Apply(parent string) (string, error) {
	var text string
	var err error
	if c.Edits != nil {
		text, err = applyEdits(parent, c.Edits)
	} else {
		text, err = applyDecls(parent, c.Decls)
	}
	if err != nil {
		return "", err
	}
	if line := elision(text, parent); line != "" {
		return "", badReply("the code leaves something out (%q): write all of it", line)
	}
	return finish(text, parent, c.Imports)
}

// finish adds imports, formats the text, and refuses text that does not parse.
func finish(text, parent string, imports []string) (string, error) {
	// Parse the text, with plain spaces if it has others and does not parse.
	f, tok, err := parseGo(text)
	if plain := plainSpaces(text); err != nil && plain != text {
		if g, gtok, again := parseGo(plain); again == nil {
			f, tok, text, err = g, gtok, plain, nil
		}
	}
	if err != nil {
		return "", codeError(err)
	}
	// Add the imports that it lacks.
	at := tok.Offset(f.Name.End())
	var add strings.Builder
	have := importSpecs(f, tok, text)
	for _, spec := range imports {
		if !slices.Contains(have, spec) && importable(spec) {
			add.WriteString("\nimport " + spec)
		}
	}
	if add.Len() > 0 {
		text = text[:at] + "\n" + add.String() + "\n" + text[at:]
	}
	// Format it, and refuse the parent's own text.
	out, err := format.Source([]byte(text))
	if err != nil {
		return "", codeError(err)
	}
	if was, err := format.Source([]byte(parent)); string(out) == parent || err == nil && string(was) == string(out) {
		return "", badReply(Unchanged)
	}
	return string(out), nil
}

// importable reports whether a spec is a single import: a string, or a name and a string.
func importable(spec string) bool {
	path := spec
	if name, rest, ok := strings.Cut(spec, " "); ok {
		if !token.IsIdentifier(name) && name != "." && name != "_" {
			return false
		}
		path = strings.TrimSpace(rest)
	}
	_, err := strconv.Unquote(path)
	return err == nil && !strings.Contains(path, "\n")
}

var elided = regexp.MustCompile(`(?i)^(//|/\*)\s*[\[(<]?(` +
	`(\.\.\.|…)\s*([\])>]|\*/|$|(the )?(existing|rest|remaining|other|same|unchanged|code|original|previous|omitted|keep|your|as before)\b)` +
	`|(the )?(rest|remainder) of (the )?(code|function|func|implementation|file|body|declarations|helpers|package)\b` +
	`|(the )?(existing|remaining|original|previous) (code|implementation|function|body|declarations|helpers)( here| goes here| stays| remains| unchanged)*\W*$` +
	`|(code )?(unchanged|same as (before|above|the original)|as before|omitted( for brevity)?)\W*$)`)

// elision returns a comment that stands for left-out code and that the parent does not have, or "".
func elision(text, parent string) string {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "..." || line == "…" {
			return line
		}
		i := max(strings.Index(line, "//"), strings.Index(line, "/*"))
		if i < 0 || !elided.MatchString(line[i:]) || strings.Contains(parent, line[i:]) {
			continue
		}
		return line
	}
	return ""
}

// applyDecls puts declarations into the parent.
func applyDecls(parent, decls string) (string, error) {
	f, tok, err := parseGo(parent)
	if err != nil {
		return "", codeError(err)
	}
	fresh, imports, err := declarations(decls)
	if err != nil {
		return "", err
	}
	if f.Name.Name != "main" {
		fresh = slices.DeleteFunc(fresh, isProgram)
	}
	if len(fresh) == 0 {
		return "", badReply("the reply's code declares nothing")
	}
	old := pieces(f, tok, parent, 0)
	taken := map[string]int{} // name -> index in fresh
	for i, p := range fresh {
		for _, n := range p.names {
			if j, twice := taken[n]; twice && n != "_" && n != "init" && j != i {
				return "", badReply("the reply declares %s twice", n)
			}
			taken[n] = i
		}
	}
	merged, err := merge(old, fresh, taken)
	if err != nil {
		return "", err
	}
	merged = withoutOrphans(merged, old)
	return rebuild(parent, f, tok, merged, imports), nil
}

// merge replaces, in their place, the old pieces that the reply declares again. It adds the rest at
// the end.
func merge(old, fresh []piece, taken map[string]int) ([]piece, error) {
	var out []piece
	used := map[int]bool{}
	for _, p := range old {
		again := slices.IndexFunc(p.names, func(n string) bool { _, ok := taken[n]; return ok && n != "_" })
		if again < 0 {
			out = append(out, p)
			continue
		}
		// A declaration of several names is replaced as a whole.
		for _, n := range p.names {
			if _, ok := taken[n]; !ok {
				return nil,
					badReply("the reply declares %s again, which the code declares together with %s: repeat the whole "+
						"declaration", p.names[again], n)
			}
		}
		for _, n := range p.names {
			if i := taken[n]; !used[i] {
				used[i] = true
				out = append(out, fresh[i])
			}
		}
	}
	for i, p := range fresh {
		if !used[i] {
			out = append(out, p)
		}
	}
	return out, nil
}

// withoutOrphans drops old pieces that others used in the parent and that nothing uses any more.
func withoutOrphans(merged, old []piece) []piece {
	was, wasUsed := map[ast.Decl]bool{}, mentions(old)
	for _, p := range old {
		was[p.decl] = true
	}
	// One round removes one link in a chain of helpers; longer chains stay.
	for range 16 {
		used, n := mentions(merged), len(merged)
		merged = slices.DeleteFunc(merged, func(p piece) bool { return was[p.decl] && orphan(p, wasUsed, used) })
		if len(merged) == n {
			break
		}
	}
	return merged
}

// orphan reports whether others used all that a piece declares, and none does any more. A method
// counts by its own name.
func orphan(p piece, was, is map[string]bool) bool {
	for _, n := range p.names {
		n = n[strings.LastIndexByte(n, '.')+1:]
		if n == "_" || is[n] || !was[n] || token.IsExported(n) {
			return false
		}
	}
	return len(p.names) > 0
}

// mentions returns the names that pieces use, other than the piece that declares them.
func mentions(ps []piece) map[string]bool {
	out := map[string]bool{}
	for _, p := range ps {
		own := map[string]bool{}
		for _, n := range p.names {
			own[n[strings.LastIndexByte(n, '.')+1:]] = true
		}
		ast.Inspect(p.decl, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !own[id.Name] {
				out[id.Name] = true
			}
			return true
		})
	}
	return out
}

// rebuild writes the parent's head with all imports, and then the pieces.
func rebuild(parent string, f *ast.File, tok *token.File, ps []piece, imports []string) string {
	var b strings.Builder
	b.WriteString(parent[:tok.Offset(f.Name.End())] + "\n\n")
	specs := map[string]bool{}
	for _, s := range append(importSpecs(f, tok, parent), imports...) {
		if importable(s) {
			specs[s] = true
		}
	}
	for _, s := range inorder.Keys(specs) {
		b.WriteString("import " + s + "\n")
	}
	for _, p := range ps {
		b.WriteString("\n" + p.text + "\n")
	}
	return b.String()
}
