package mcp

import (
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestToolsWithinASearch checks that to an agent within a search only those tools are offered that
// can work, and the instructions say so.
func TestToolsWithinASearch(t *testing.T) {
	for _, within := range []bool{false, true} {
		ours, theirs := sdk.NewInMemoryTransports()
		server, err := New(nil, "test", Manner{Within: within, Redacted: within}).Connect(t.Context(), ours, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		c, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), theirs, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		list, err := c.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		says := c.InitializeResult().Instructions
		if slices.Contains(names, "evaluate_candidate") == within ||
			slices.Contains(names, "describe_target") == within || !slices.Contains(names, "submit_candidate") {
			t.Errorf("within a search %v: %q", within, names)
		}
		if strings.Contains(says, "are not offered") != within || strings.Contains(says, "(withheld)") != within {
			t.Errorf("within a search %v: %s", within, says)
		}
	}
}
