package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/coder/acp-go-sdk"
)

// scriptedAgent acts as a coding agent for the scripts: in the file that is its first argument it
// replaces the text between the lines "// from" and "// to" by that of the file that is its second
// argument, and says what it cost. Before, it hands in the versions that stand in the directory
// that is its third argument, if there is one.
func scriptedAgent() {
	a := &testAgent{file: os.Args[1], with: os.Args[2]}
	if len(os.Args) > 3 {
		a.versions = os.Args[3]
	}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	<-a.conn.Done()
}

type testAgent struct {
	acp.Agent  // methods that are never called
	file, with string
	versions   string
	dir        string
	servers    []acp.McpServer
	conn       *acp.AgentSideConnection
}

func (a *testAgent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *testAgent) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	a.dir, a.servers = r.Cwd, r.McpServers
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *testAgent) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *testAgent) Prompt(ctx context.Context, r acp.PromptRequest) (acp.PromptResponse, error) {
	cost := acp.SessionUpdate{
		UsageUpdate: &acp.SessionUsageUpdate{
			SessionUpdate: "usage_update",
			Cost:          &acp.Cost{Amount: 0.02, Currency: "USD"},
			Size:          1,
			Used:          1,
		},
	}
	told := a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: r.SessionId, Update: cost})
	return acp.PromptResponse{StopReason: acp.StopReasonEndTurn}, errors.Join(told, a.handIn(ctx), a.edit())
}

func (a *testAgent) edit() error {
	path := filepath.Join(a.dir, a.file)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	with, err := os.ReadFile(a.with)
	if err != nil {
		return err
	}
	before, rest, _ := strings.Cut(string(text), "// from\n")
	_, after, _ := strings.Cut(rest, "// to\n")
	return os.WriteFile(path, []byte(before+"// from\n"+string(with)+"// to\n"+after), 0o644)
}
