package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/internal/sampletest"
)

// TestGuardedFinalist checks that a finalist that is wrong only for texts that no caller passes
// does not win; its guarded form does, and the result tells that.
func TestGuardedFinalist(t *testing.T) {
	if testing.Short() {
		t.Skip("a whole search")
	}
	sampletest.Rarely(t, 3)
	const once = `func Sum(s string) int {
	n, part := 0, uint16(0)
	for i := 0; i < len(s); i++ {
		if i < 6000 && i&0xff == 0xff {
			n += int(part)
			part = 0
		}
		part += uint16(s[i])
	}
	return (n + int(part)) * 8
}
`
	server := llmtest.New(t, llmtest.Say("One pass.\n\n```go\n"+once+"```\n"))
	args := make([]string, 300)
	for i := range args {
		args[i] = fmt.Sprintf("[%q]", strings.Repeat("abcdefgh", 2+i%9)+fmt.Sprint(i))
	}
	s := specOf(t, "package p\n\n// Sum adds the bytes of s, eight times.\n"+passes("", "8", ""), args,
		server.URL(), "test")
	s.Models.NoRules, s.Candidates, s.Models.Caps.Calls = true, 2, 3
	d := &Driver{Store: openStore(t, t.TempDir())}
	r, err := d.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if r.NearMiss == nil || r.NearMiss.Contract.Requires != "len(s) < 1<<12" || r.NearMiss.Records != [2]int{300, 300} {
		t.Fatalf("the near miss is %+v; %s %v", r.NearMiss, r.Why, r.Rejected)
	}
	if r.Outcome != beagle.Improved || !strings.Contains(r.Best.Source, "if !(len(s) < 1<<12)") ||
		!strings.Contains(r.Patch, "sumOriginal") {
		t.Errorf("%s: %s\n%s", r.Outcome, r.Why, r.Best.Source)
	}
	if len(r.Rejected) != 1 || !strings.Contains(r.Rejected[0], "--requires 'len(s) < 1<<12'") {
		t.Errorf("rejected: %q", r.Rejected)
	}
}
