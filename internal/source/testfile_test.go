package source

import (
	"strings"
	"testing"
)

func TestCheckTest(t *testing.T) {
	u := load(t, module(t, tagsModule), "./tags.Normalize")
	const head = "package tags\n\nimport \"testing\"\n\n"
	for _, c := range []struct{ text, want string }{
		{head + "func TestIt(t *testing.T) {\n\tif Normalize(\"A\") == \"\" {\n\t\tt.Error()\n\t}\n}\n", ""},
		{strings.Replace(head, "\"testing\"", "(\n\t\"errors\"\n\t\"testing\"\n)", 1) + "func TestIt(t *testing.T) { t.Log(Normalize(\"\")) }\n", "imported and not used"},
		{head + "func TestIt(t *testing.T) { t.Log(Normalize(1)) }\n", "cannot use 1"},
		{head + "func TestIt(t *testing.T) {", "expected"},
	} {
		err := u.Package.CheckTest("x_test.go", c.text)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q:\n%s", err, c.want, c.text)
		}
	}
	if u.Package.Types.Scope().Lookup("TestIt") != nil {
		t.Error("the test joined the target's package")
	}
}
