package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beagle-go/beagle/internal/mcp"
)

// handIn starts the server of tools that the agent was given, as agents do, hands
// every version in the directory in to the search, and writes what it hears into the
// file "heard" there: a line with the tools, one with the runs, one of each version.
func (a *testAgent) handIn(ctx context.Context) error {
	if a.versions == "" {
		return nil
	}
	if len(a.servers) != 1 || a.servers[0].Stdio == nil {
		return fmt.Errorf("the agent was given %d servers of tools", len(a.servers))
	}
	server := a.servers[0].Stdio
	cmd := exec.CommandContext(ctx, server.Command, server.Args...)
	cmd.Env = os.Environ()
	for _, v := range server.Env {
		cmd.Env = append(cmd.Env, v.Name+"="+v.Value)
	}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "agent", Version: "1"}, nil).
		Connect(ctx, &sdk.CommandTransport{Command: cmd}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	heard, err := hear(ctx, session, a.versions)
	if err != nil {
		heard += err.Error() + "\n"
	}
	return os.WriteFile(filepath.Join(a.versions, "heard"), []byte(heard), 0o644)
}

func hear(ctx context.Context, session *sdk.ClientSession, dir string) (heard string, _ error) {
	listed, err := session.ListTools(ctx, nil)
	if err != nil {
		return "", err
	}
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	heard = "tools: " + strings.Join(names, " ") + "\n"
	var runs mcp.Runs
	if err := ask(ctx, session, "list_runs", nil, &runs); err != nil {
		return heard, err
	}
	heard += fmt.Sprintf("runs: %d %s\n", len(runs.Runs), runs.Runs[0].State)
	versions, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return heard, err
	}
	for _, path := range versions {
		x, err := submit(ctx, session, runs.Runs[0].ID, path)
		if err != nil {
			return heard, err
		}
		heard += filepath.Base(path) + ": " + x.Status
		if x.Counterexample != nil {
			heard += " " + x.Counterexample.Call
		}
		heard += "\n"
	}
	return heard, nil
}

// submit hands a version in and waits for what the search says of it.
func submit(ctx context.Context, session *sdk.ClientSession, run, path string) (x mcp.Explained, _ error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return x, err
	}
	var sent mcp.Submission
	if err := ask(ctx, session, "submit_candidate", map[string]any{"run": run, "source": string(text)},
		&sent); err != nil {
		return x, err
	}
	for {
		err := ask(ctx, session, "explain_rejection", map[string]any{"run": run, "candidate": sent.ID}, &x)
		if err == nil || !strings.Contains(err.Error(), "not judged") {
			return x, err
		}
		select {
		case <-ctx.Done():
			return x, ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ask calls a tool; that it failed is an error.
func ask(ctx context.Context, session *sdk.ClientSession, tool string, args map[string]any, out any) error {
	r, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return err
	}
	if r.IsError {
		var said strings.Builder
		for _, part := range r.Content {
			if t, ok := part.(*sdk.TextContent); ok {
				said.WriteString(t.Text)
			}
		}
		return fmt.Errorf("%s: %s", tool, said.String())
	}
	data, err := json.Marshal(r.StructuredContent)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}
