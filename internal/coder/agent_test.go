package coder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/acp-go-sdk"
)

// behaviour names what the agent that this test binary can be does.
const behaviour = "CODER_TEST_AGENT"

// TestMain is an agent when a test launches it as one.
func TestMain(m *testing.M) {
	if dir := os.Getenv(patron); dir != "" {
		employ(dir)
	}
	if name := os.Getenv(behaviour); name != "" {
		serve(name)
		return
	}
	os.Exit(m.Run())
}

// behaviours are those of programs that do not speak the protocol, by name.
var behaviours = map[string]func(){}

// serve speaks the protocol's agent side with the SDK.
func serve(name string) {
	if other := behaviours[name]; other != nil {
		other()
		return
	}
	switch name {
	case "exits":
		fmt.Fprintln(os.Stderr, "no licence found")
		os.Exit(3)
	case "leaks":
		fmt.Fprintf(os.Stderr, "%s\n\x1b[2J\x1b[H\x07bad key %s and %s\r\n", strings.Repeat("noise ", 1000),
			os.Getenv("CODER_TEST_SECRET_KEY"), "sk-ant-api03-0123456789abcdef")
		os.Exit(3)
	case "garbage":
		fmt.Println("Welcome to the agent!\n> ")
		time.Sleep(time.Hour)
	}
	a := &scripted{name: name}
	a.conn = acp.NewAgentSideConnection(a, os.Stdout, os.Stdin)
	<-a.conn.Done()
}

// scripted is an agent whose turn is a Go function.
type scripted struct {
	acp.Agent // methods that are never called
	name      string
	conn      *acp.AgentSideConnection
	dir       string
	servers   []acp.McpServer
}

func (a *scripted) Initialize(_ context.Context, _ acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersionNumber}, nil
}

func (a *scripted) NewSession(_ context.Context, r acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	if a.name == "login" {
		return acp.NewSessionResponse{}, &acp.RequestError{Code: authRequired, Message: "Authentication required"}
	}
	a.dir, a.servers = r.Cwd, r.McpServers
	return acp.NewSessionResponse{SessionId: "s"}, nil
}

func (a *scripted) Cancel(context.Context, acp.CancelNotification) error { return nil }

func (a *scripted) Prompt(ctx context.Context, r acp.PromptRequest) (out acp.PromptResponse, err error) {
	out = acp.PromptResponse{
		StopReason: acp.StopReasonEndTurn,
		Usage:      &acp.Usage{InputTokens: 1000, OutputTokens: 50, TotalTokens: 1050},
	}
	switch a.name {
	case "tells nothing":
		out.Usage = nil
	case "negative tokens":
		out.Usage.InputTokens = -1 << 40
	case "endless tokens":
		out.Usage.OutputTokens = 1 << 62
	case "caches":
		read := 5000
		out.Usage.CachedReadTokens, out.Usage.TotalTokens = &read, 6300
	}
	return out, a.turn(ctx, r.Prompt[0].Text.Text)
}

// edit replaces text in a file of the module, as an agent with tools of its own does.
func (a *scripted) edit(name, old, new string) error {
	path := filepath.Join(a.dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !strings.Contains(string(text), old) {
		return fmt.Errorf("%s does not hold %q", name, old)
	}
	return os.WriteFile(path, []byte(strings.Replace(string(text), old, new, 1)), 0o644)
}

const slow = "n := 0\n\tfor range s {\n\t\tn++\n\t}\n\treturn n"

func (a *scripted) turn(ctx context.Context, task string) error {
	switch a.name {
	case "good":
		return a.good(ctx, task)
	case "helper":
		return a.edit("p/p.go", slow,
			"return runes(s)\n}\n\nfunc runes(s string) int {\n\treturn utf8.RuneCountInString(s)")
	case "continues": // finds the parent, not the original
		return a.edit("p/p.go", "m := 0", "m := 0 // again")
	case "layout":
		if !strings.Contains(task, "p/len.go, p/stack.go") || !strings.Contains(task, "unexported fields may change") {
			return fmt.Errorf("the task is %q", task)
		}
		return a.layout()
	case "layout again":
		return a.edit("p/stack.go", "s.n++", "s.n += 1")
	case "layout and others":
		return errors.Join(a.layout(), a.edit("p/p.go", "return 7", "return 8"))
	case "layout that breaks": // a field that a method still asks for
		return a.edit("p/stack.go", "values []int", "list []int")
	case "idle":
		return a.say(ctx, "I see nothing to improve.")
	case "other file":
		return a.edit("p/other.go", "return 1", "return 2")
	case "shared":
		return errors.Join(a.edit("p/p.go", slow, "return len([]rune(s))"), a.edit("p/p.go", "return 7", "return 8"))
	case "new file":
		return os.WriteFile(filepath.Join(a.dir, "p", "fast.go"), []byte("package p\n"), 0o644)
	case "go.mod":
		return a.edit("go.mod", "go 1.26", "go 1.25")
	case "broken":
		return a.edit("p/p.go", slow, "return }")
	case "link":
		return errors.Join(os.Remove(filepath.Join(a.dir, "p", "other.go")),
			os.Symlink("/etc/passwd", filepath.Join(a.dir, "p", "other.go")))
	case "device": // it never ends
		path := filepath.Join(a.dir, "p", "p.go")
		return errors.Join(os.Remove(path), os.Symlink("/dev/zero", path))
	case "sparse": // it is larger than the disk
		return os.Truncate(filepath.Join(a.dir, "p", "p.go"), 1<<40)
	case "sparse data":
		path := filepath.Join(a.dir, "p", "data")
		return errors.Join(os.WriteFile(path, nil, 0o644), os.Truncate(path, 1<<40))
	case "gone":
		return os.Remove(filepath.Join(a.dir, "p", "p.go"))
	case "pipe": // it has no writer
		path := filepath.Join(a.dir, "pipe")
		if err := makePipe(path); err != nil {
			return err
		}
		_, err := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: "s", Path: path})
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			return fmt.Errorf("a pipe can be read: %v", err)
		}
		return nil
	case "hangs":
		if err := os.WriteFile(filepath.Join(a.dir, hung), nil, 0o644); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "pipe to write": // it has no reader
		path := filepath.Join(a.dir, "pipe")
		if err := makePipe(path); err != nil {
			return err
		}
		_, err := a.conn.WriteTextFile(ctx, acp.WriteTextFileRequest{SessionId: "s", Path: path, Content: "x"})
		if err == nil || !strings.Contains(err.Error(), "not a regular file") {
			return fmt.Errorf("a pipe can be written to: %v", err)
		}
		return nil
	case "spends":
		return a.spend(ctx)
	case "spends and fails":
		return errors.Join(a.update(ctx, 0.03), errors.New("out of ideas"))
	case "absurd":
		return errors.Join(a.update(ctx, 1e300), a.say(ctx, "Done."))
	case "negative":
		return errors.Join(a.update(ctx, -5), a.say(ctx, "Done."))
	case "stays":
		if err := a.children(); err != nil {
			return err
		}
		time.Sleep(time.Hour)
	case "forgets":
		return a.forget()
	case "children":
		return a.children()
	case "outside":
		return a.outside(ctx)
	}
	return nil
}

// good does all that a well-behaved agent does.
func (a *scripted) good(ctx context.Context, task string) error {
	evidence := filepath.Join(a.dir, beagleDir, "evidence.md")
	if !strings.Contains(task, "Count") || !strings.Contains(task, filepath.Join(beagleDir, "evidence.md")) {
		return fmt.Errorf("the task is %q", task)
	}
	read, err := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: "s", Path: evidence})
	if err != nil || !strings.Contains(read.Content, "the evidence") {
		return fmt.Errorf("the evidence is %q, %v", read.Content, err)
	}
	if len(a.servers) != 1 || a.servers[0].Stdio == nil || a.servers[0].Stdio.Command != "beagle" {
		return fmt.Errorf("the tools are %+v", a.servers)
	}
	path := filepath.Join(a.dir, "p", "p.go")
	id := acp.ToolCallId("1")
	allowed, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: "s", ToolCall: acp.ToolCallUpdate{ToolCallId: id, Locations: []acp.ToolCallLocation{{Path: path}}},
		Options: []acp.PermissionOption{{OptionId: "no", Name: "no", Kind: acp.PermissionOptionKindRejectOnce},
			{OptionId: "yes", Name: "yes", Kind: acp.PermissionOptionKindAllowOnce}},
	})
	if err != nil || allowed.Outcome.Selected == nil || allowed.Outcome.Selected.OptionId != "yes" {
		return fmt.Errorf("an edit in the copy was not allowed: %+v, %v", allowed, err)
	}
	text, err := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: "s", Path: path})
	if err != nil {
		return err
	}
	_, err = a.conn.WriteTextFile(ctx,
		acp.WriteTextFileRequest{
			SessionId: "s",
			Path:      path,
			Content:   strings.Replace(text.Content, slow, "return utf8.RuneCountInString(s)", 1),
		})
	return errors.Join(err, a.update(ctx, 0.01), a.say(ctx, "Done."))
}

// layout has a type count its values as they come.
func (a *scripted) layout() error {
	return errors.Join(a.edit("p/stack.go", "values []int", "values []int\n\tn      int"),
		a.edit("p/stack.go", "append(s.values, v)", "append(s.values, v)\n\ts.n++"),
		a.edit("p/len.go", "n := 0\n\tfor range s.values {\n\t\tn++\n\t}\n\treturn n", "return s.n"))
}

func (a *scripted) say(ctx context.Context, text string) error {
	return a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: "s", Update: acp.UpdateAgentMessageText(text)})
}

func (a *scripted) update(ctx context.Context, dollars float64) error {
	return a.conn.SessionUpdate(ctx, acp.SessionNotification{SessionId: "s", Update: acp.SessionUpdate{
		UsageUpdate: &acp.SessionUsageUpdate{
			SessionUpdate: "usage_update",
			Cost:          &acp.Cost{Amount: dollars, Currency: "USD"},
			Size:          1000,
			Used:          10,
		},
	}})
}

// spend goes on and on.
func (a *scripted) spend(ctx context.Context) error {
	for dollars := 0.01; ; dollars += 0.01 {
		if err := a.update(ctx, dollars); err != nil {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// children leaves processes behind, one of them in a session of its own.
func (a *scripted) children() error {
	for _, line := range []string{"sleep 3600 &", "setsid sleep 3600 &", "setsid sh -c 'sleep 3600 & sleep 3600' &"} {
		if err := exec.Command("sh", "-c", line).Run(); err != nil {
			return err
		}
	}
	return nil
}

// forget leaves a process behind that has neither the group nor the environment
// nor a living parent.
func (a *scripted) forget() error {
	return exec.Command("sh", "-c", "env -i setsid sh -c 'sleep "+forgotten()+" & sleep "+forgotten()+
		"' >/dev/null 2>&1 </dev/null &").Run()
}

// forgotten returns a time that nothing else sleeps, by which what forget starts is known.
func forgotten() string { return "3671." + owned() }

// hung is a file in the copy by which an agent that hangs shows that its turn has begun.
const hung = "hung"

// outside tries everything that leads out of the copy; each must be refused.
func (a *scripted) outside(ctx context.Context) error {
	link := filepath.Join(a.dir, beagleDir, "link")
	if err := os.Symlink("/etc", link); err != nil {
		return err
	}
	for _, path := range []string{"/etc/passwd", a.dir + "/../../etc/passwd", link + "/passwd", "p/p.go",
		a.dir + "x/p.go"} {
		if r, err := a.conn.ReadTextFile(ctx, acp.ReadTextFileRequest{SessionId: "s", Path: path}); err == nil {
			return a.say(ctx, "READ "+path+r.Content[:10])
		}
	}
	for _, path := range []string{link + "/beagle-was-here", a.dir + "/../beagle-was-here"} {
		if _, err := a.conn.WriteTextFile(ctx,
			acp.WriteTextFileRequest{SessionId: "s", Path: path, Content: "x"}); err == nil {
			return a.say(ctx, "WROTE "+path)
		}
	}
	asked, err := a.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: "s", ToolCall: acp.ToolCallUpdate{
			ToolCallId: "1",
			Locations:  []acp.ToolCallLocation{{Path: "/etc/passwd"}},
		},
		Options: []acp.PermissionOption{{OptionId: "yes", Name: "yes", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "always", Name: "always", Kind: acp.PermissionOptionKindAllowAlways}},
	})
	if err != nil || asked.Outcome.Selected != nil {
		return a.say(ctx, "ALLOWED")
	}
	return a.say(ctx, "all refused")
}
