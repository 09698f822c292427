package inplace

import (
	"testing"

	"github.com/beagle-go/beagle"
)

const lookup = `package place

import (
	"fmt"
	"log"
	"os"
)

// Lookup takes a word from the environment, or prints that there is none.
func Lookup(name string) string {
	v := os.Getenv(name)
	if v == "" {
		log.Print("no ", name)
		fmt.Println("none")
	}
	return v
}
`

var outside = map[string]string{
	"lookup.go": lookup,
	"lookup_test.go": `package place

import (
	"os"
	"testing"
)

func TestLookup(t *testing.T) {
	os.Setenv("PLACE_WORD", "word")
	if got := Lookup("PLACE_WORD"); got != "word" {
		t.Error(got)
	}
	Lookup("PLACE_NONE")
}

func ExampleLookup() {
	Lookup("PLACE_NONE")
	// Output: none
}
`,
}

// TestOutside takes a target that reads the environment and prints, and rejects versions that read
// or print something else.
func TestOutside(t *testing.T) {
	const head = "package place\n\nimport (\n\t\"fmt\"\n\t\"log\"\n\t\"os\"\n)\n\n" +
		"func Lookup(name string) string {\n"
	judgeAll(t, outside, "./.Lookup", beagle.ByRuns, []planted{
		{"honest", head + "\tif v := os.Getenv(name); v != \"\" {\n\t\treturn v\n\t}\n\tlog.Print(\"no \", name)\n" +
			"\tfmt.Println(\"none\")\n\treturn \"\"\n}\n", beagle.Equal, ""},
		{"says nothing in the log", head + "\tv := os.Getenv(name)\n\tif v == \"\" {\n\t\tfmt.Println(\"none\")\n" +
			"\t}\n\tif false {\n\t\tlog.Print(name)\n\t}\n\treturn v\n}\n", beagle.Wrong, "test"},
		{"prints nothing", head + "\tv := os.Getenv(name)\n\tif v == \"\" {\n\t\tlog.Print(\"no \", name)\n" +
			"\t}\n\tif false {\n\t\tfmt.Println()\n\t}\n\treturn v\n}\n", beagle.Wrong, "test"},
		{"reads nothing", head + "\tif false {\n\t\treturn os.Getenv(name)\n\t}\n\tlog.Print(\"no \", name)\n" +
			"\tfmt.Println(\"none\")\n\treturn \"\"\n}\n", beagle.Wrong, "test"},
	})
}
