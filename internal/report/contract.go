package report

import (
	"fmt"
	"strings"

	"github.com/beagle-go/beagle"
)

// Contract returns a contract in words.
func Contract(c beagle.Contract) string {
	var parts []string
	if c.Requires != "" {
		parts = append(parts, c.Requires)
	}
	if len(c.Ignore) > 0 {
		parts = append(parts, "differences in "+strings.Join(c.Ignore, ", ")+" do not count")
	}
	return strings.Join(parts, "; ")
}

// Support describes which calls keep to the contract of a near miss.
func Support(n *beagle.NearMiss) string {
	calls := fmt.Sprintf("%d of %d recorded calls", n.Records[0], n.Records[1])
	if n.Records[1] == 0 {
		calls = "no recorded call, since there is none"
	}
	switch {
	case n.Contract.Requires == "":
		return calls // a call site does not show which differences its caller ignores
	case n.Sites[1] == 0:
		return calls + "; the module has no call site outside tests"
	}
	return fmt.Sprintf("%s, and provably by %d of %d call sites", calls, n.Sites[0], n.Sites[1])
}
