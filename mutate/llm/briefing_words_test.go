package llm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// messages are the packages whose texts reach models and agents.
var messages = []string{"verify", "harness", "source", "flow", "flow/loop", "flow/local", "store", "sandbox"}

// messageWords returns the words of texts that consist of words. It leaves out names of files, keys
// and code.
func messageWords(t *testing.T) []string {
	words := map[string]bool{}
	for _, dir := range messages {
		files, err := filepath.Glob(filepath.Join("..", "..", "internal", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Skipf("%s is being written: %v", name, err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && lit.Value[0] == '"' {
					addWords(words, lit.Value)
				}
				return true
			})
		}
	}
	return slices.Sorted(maps.Keys(words))
}

func addWords(words map[string]bool, lit string) {
	text, err := strconv.Unquote(lit)
	if err != nil {
		return
	}
	for _, word := range strings.Fields(text) {
		word = strings.Trim(strings.ToLower(word), ".,:;()?!\"")
		if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyz'") == "" {
			words[word] = true
		}
	}
}

// TestVocabulary checks that the vocabulary holds the words of messages. A missing word only makes
// prompts less clear to models.
func TestVocabulary(t *testing.T) {
	words := messageWords(t)
	if *update {
		if err := os.WriteFile("briefing_words.txt", []byte(strings.Join(words, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	known := vocabulary()
	unknown := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return known[w] })
	if len(unknown) > len(words)/20 {
		t.Errorf("%d of %d words of messages are not known (-update collects them): %.300q", len(unknown),
			len(words), unknown)
	}
}
