package rules_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate/rules"
)

// groups holds the catalogue's letters and the number of entries for each.
var groups = map[string]int{"B": 13, "L": 12, "C": 12, "S": 13, "A": 12, "M": 6, "O": 5, "H": 4, "R": 4, "K": 4, "N": 4,
	"D": 5, "X": 2, "V": 2}

// TestCatalogue compares docs/rewrites.md with the registry. The page must list every entry once,
// and every rule and every piece of advice at least once. It may name none that does not exist, and
// an entry without a rule must say why.
func TestCatalogue(t *testing.T) {
	text, err := os.ReadFile("../../docs/rewrites.md")
	if err != nil {
		t.Fatal(err)
	}
	advice := map[string]bool{}
	for _, a := range rules.Advice {
		advice[a.Name] = true
	}
	entries, named := map[string]int{}, map[string]bool{}
	name := regexp.MustCompile("`([a-z0-9-]+)`")
	row := regexp.MustCompile(`^\| ([A-Z]\d+) \|`)
	for line := range strings.Lines(string(text)) {
		m := row.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "`fix-") {
				for _, n := range name.FindAllStringSubmatch(line, -1) {
					named[n[1]] = true
				}
			}
			continue
		}
		entries[m[1]]++
		cells := strings.Split(line, "|")
		for _, n := range name.FindAllStringSubmatch(cells[3]+cells[4], -1) {
			named[n[1]] = true
			if isAdvice := strings.Contains(cells[4], n[0]); isAdvice != advice[n[1]] ||
				!isAdvice && rules.Named(n[1]) == nil {
				t.Errorf("%s names %s in the wrong column, or there is none", m[1], n[1])
			}
		}
		if !strings.Contains(cells[3], "`") && strings.TrimSpace(cells[5]) == "" {
			t.Errorf("%s has no rule and does not say why", m[1])
		}
	}
	for letter, n := range groups {
		for i := range n {
			id := fmt.Sprintf("%s%d", letter, i+1)
			if entries[id] != 1 {
				t.Errorf("%s stands in docs/rewrites.md %d times, want once", id, entries[id])
			}
			delete(entries, id)
		}
	}
	for id := range entries {
		t.Errorf("the catalogue has no %s", id)
	}
	for _, m := range rules.All {
		if !named[m.Name] {
			t.Errorf("docs/rewrites.md does not name the rule %s", m.Name)
		}
	}
	for a := range advice {
		if !named[a] {
			t.Errorf("docs/rewrites.md does not name the advice %s", a)
		}
	}
}
