package main

import (
	"strings"
	"testing"
)

// TestMCPRedactAsASwitch checks that --redact was a switch: configurations from then are served.
func TestMCPRedactAsASwitch(t *testing.T) {
	for given, want := range map[string]string{
		"--redact": "--redact=yes", "--redact -C x": "--redact=yes -C x", "-C x -redact": "-C x --redact=yes", "--redact=true": "--redact=yes", "--redact=false": "--redact=no",
		"--redact no": "--redact no", "--redact auto -C x": "--redact auto -C x", "--redact=foo": "--redact=foo", "--redact foo": "--redact foo", "--redact true": "--redact yes",
	} {
		if got := strings.Join(plainRedact(strings.Fields(given)), " "); got != want {
			t.Errorf("%s: %s, not %s", given, got, want)
		}
	}
}
