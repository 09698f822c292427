package rules_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/mutate/rules"
)

// groups holds the catalogue's letters and the number of entries for each.
var groups = map[string]int{"B": 13, "L": 12, "C": 12, "S": 13, "A": 12, "M": 6, "O": 5, "H": 4, "R": 4, "K": 4, "N": 4,
	"D": 5, "X": 2, "V": 2}

// cataloguePage is the page that lists the entries.
const cataloguePage = "../../docs/rewrites.md"

// TestCatalogue compares docs/rewrites.md with the registry. The page must list every entry once,
// and every rule and every piece of advice at least once. It may name none that does not exist, and
// an entry without a rule must say why. Beside each rule stands what recall.txt counts for it;
// -update writes that.
func TestCatalogue(t *testing.T) {
	text, err := os.ReadFile(cataloguePage)
	if err != nil {
		t.Fatal(err)
	}
	advice := map[string]bool{}
	for _, a := range rules.Advice {
		advice[a.Name] = true
	}
	entries, named := map[string]int{}, map[string]bool{}
	var page strings.Builder // with the counts as they should be
	for line := range strings.Lines(string(text)) {
		page.WriteString(withCounts(line))
		m := catalogueRow.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "`fix-") {
				for _, n := range catalogueName.FindAllStringSubmatch(line, -1) {
					named[n[1]] = true
				}
			}
			continue
		}
		entries[m[1]]++
		cells := strings.Split(line, "|")
		for _, n := range catalogueName.FindAllStringSubmatch(cells[3]+cells[5], -1) {
			named[n[1]] = true
			if isAdvice := strings.Contains(cells[5], n[0]); isAdvice != advice[n[1]] ||
				!isAdvice && rules.Named(n[1]) == nil {
				t.Errorf("%s names %s in the wrong column, or there is none", m[1], n[1])
			}
		}
		if !strings.Contains(cells[3], "`") && strings.TrimSpace(cells[6]) == "" {
			t.Errorf("%s has no rule and does not say why", m[1])
		}
	}
	if page.String() != string(text) {
		if !*update {
			t.Errorf("%s has other counts than recall.txt: go test -run TestCatalogue -update", cataloguePage)
		} else if err := os.WriteFile(cataloguePage, []byte(page.String()), 0o666); err != nil {
			t.Fatal(err)
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

var (
	catalogueName = regexp.MustCompile("`([a-z0-9-]+)`")
	catalogueRow  = regexp.MustCompile(`^\| ([A-Z]\d+) \|`)
)

// withCounts returns a line of the page with the counts of the rules that it names.
func withCounts(line string) string {
	cells := strings.Split(line, "|")
	if !catalogueRow.MatchString(line) || len(cells) < 5 {
		return line
	}
	var counts []string
	for _, n := range catalogueName.FindAllStringSubmatch(cells[3], -1) {
		r, _ := rules.RecallOf(n[1])
		count := strconv.Itoa(r.Found)
		if r.AtLeast {
			count += "+"
		}
		counts = append(counts, count)
	}
	cells[4] = " " + strings.Join(counts, ", ") + " "
	return strings.Join(cells, "|")
}
