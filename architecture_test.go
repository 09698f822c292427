package beagle_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestWay checks what ARCHITECTURE.md says of the laboratory: a candidate's way has at most seven
// steps, and the code has each function that a step or the diagram names.
func TestWay(t *testing.T) {
	data, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	index, err := declarations(".")
	if err != nil {
		t.Fatal(err)
	}
	// The functions of a row stand in its second column. A short name is a method of the type that
	// was named before it, or of the type of the method before it.
	steps := 0
	for _, row := range regexp.MustCompile(`(?m)^\| \d+\. (\w+) \| (.*?) \|`).FindAllStringSubmatch(text, -1) {
		steps++
		owner := ""
		for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[2], -1) {
			name := quoted[1]
			if !strings.Contains(name, ".") {
				name = owner + "." + name
			} else if owner = name; strings.Count(name, ".") > 1 {
				owner = name[:strings.LastIndex(name, ".")]
			}
			if !index[name] {
				t.Errorf("step %q: the code has no %s", row[1], name)
			}
		}
	}
	if steps == 0 || steps > 7 {
		t.Errorf("a candidate's way has %d steps", steps)
	}
	// The diagram names a method without its type.
	methods := map[string]bool{}
	for name := range index {
		if parts := strings.Split(name, "."); len(parts) == 3 {
			methods[parts[0]+"."+parts[2]] = true
		}
	}
	_, diagram, _ := strings.Cut(text, "## The laboratory")
	diagram, _, _ = strings.Cut(diagram, "\n## ")
	named := regexp.MustCompile(`\b[a-z]+\.[A-Z]\w+`).FindAllString(diagram, -1)
	for _, name := range named {
		if !index[name] && !methods[name] {
			t.Errorf("the diagram of the laboratory: the code has no %s", name)
		}
	}
	if len(named) < 9 {
		t.Errorf("the diagram of the laboratory names %d functions", len(named))
	}
}
