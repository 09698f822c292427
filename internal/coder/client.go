package coder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/coder/acp-go-sdk"
)

// maxFile bounds a file that the agent reads or writes through Beagle.
const maxFile = 4 << 20

// A client is Beagle's side of the conversation: it lets the agent at the files of
// the copy and at nothing else.
type client struct {
	dir   string
	spent func(dollars float64) // called whenever the agent reports its total spending
	mu    sync.Mutex
	said  strings.Builder // the agent's last message
}

var _ acp.Client = (*client)(nil)

// resolve resolves a path and refuses one that leads out of the copy, links
// followed.
func (c *client) resolve(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("%s is not an absolute path", path)
	}
	root, err := filepath.EvalSymlinks(c.dir)
	if err != nil {
		return "", err
	}
	known, rest := filepath.Clean(path), ""
	for { // a link in the longest part that exists could lead astray
		resolved, err := filepath.EvalSymlinks(known)
		if err == nil {
			known = resolved
			break
		}
		if !errors.Is(err, os.ErrNotExist) || known == filepath.Dir(known) {
			return "", err
		}
		known, rest = filepath.Dir(known), filepath.Join(filepath.Base(known), rest)
	}
	full := filepath.Join(known, rest)
	if full != root && !strings.HasPrefix(full, root+string(filepath.Separator)) {
		return "", fmt.Errorf("%s is outside the copy of the module at %s", path, c.dir)
	}
	return full, nil
}

// ReadTextFile implements [acp.Client].
func (c *client) ReadTextFile(_ context.Context, r acp.ReadTextFileRequest) (out acp.ReadTextFileResponse, _ error) {
	path, err := c.resolve(r.Path)
	if err != nil {
		return out, err
	}
	text, err := readRegular(path)
	if err != nil {
		return out, err
	}
	out.Content = window(string(text), r.Line, r.Limit)
	return out, nil
}

// window is limit lines from a line on, which is counted from 1.
func window(text string, line, limit *int) string {
	if line == nil && limit == nil {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	from := 0
	if line != nil {
		from = min(max(*line-1, 0), len(lines))
	}
	lines = lines[from:]
	if limit != nil {
		lines = lines[:min(max(*limit, 0), len(lines))]
	}
	return strings.Join(lines, "")
}

// WriteTextFile implements [acp.Client].
func (c *client) WriteTextFile(_ context.Context, r acp.WriteTextFileRequest) (out acp.WriteTextFileResponse, _ error) {
	path, err := c.resolve(r.Path)
	if err != nil {
		return out, err
	}
	if len(r.Content) > maxFile {
		return out, fmt.Errorf("%d bytes for %s: %d are allowed", len(r.Content), r.Path, maxFile)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return out, err
	}
	return out, writeRegular(path, r.Content)
}

// writeRegular writes a file of the copy, which may be new. It refuses devices and pipes: a pipe
// would block until something reads it.
func writeRegular(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|noBlock|noFollow, 0o644)
	switch {
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ELOOP): // a pipe without a reader, a socket, a link
		return fmt.Errorf("%s is not a regular file", path)
	case err != nil:
		return err
	}
	info, err := f.Stat()
	switch {
	case err == nil && !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", path)
	case err == nil:
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteString(text)
		}
	}
	return errors.Join(err, f.Close())
}

// RequestPermission implements [acp.Client]. It allows once what stays in the copy, and never
// what names a place outside.
func (c *client) RequestPermission(
	_ context.Context, r acp.RequestPermissionRequest,
) (acp.RequestPermissionResponse, error) {
	wanted := acp.PermissionOptionKindAllowOnce
	for _, l := range r.ToolCall.Locations {
		if _, err := c.resolve(l.Path); err != nil {
			wanted = acp.PermissionOptionKindRejectOnce
		}
	}
	i := slices.IndexFunc(r.Options, func(o acp.PermissionOption) bool { return o.Kind == wanted })
	if i < 0 {
		return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(r.Options[i].OptionId)}, nil
}

// maxSaid bounds the kept part of the agent's words.
const maxSaid = 64 << 10

// SessionUpdate implements [acp.Client].
func (c *client) SessionUpdate(_ context.Context, n acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u := n.Update; {
	case u.AgentMessageChunk != nil:
		if t := u.AgentMessageChunk.Content.Text; t != nil && c.said.Len()+len(t.Text) <= maxSaid {
			c.said.WriteString(t.Text)
		}
	case u.ToolCall != nil:
		c.said.Reset() // only the last message is an answer
	case u.UsageUpdate != nil && u.UsageUpdate.Cost != nil && strings.EqualFold(u.UsageUpdate.Cost.Currency, "USD"):
		c.spent(u.UsageUpdate.Cost.Amount)
	}
	return nil
}

func (c *client) message() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.said.String()
}

var errNoTerminal = errors.New("terminals are not offered; run commands yourself")

// CreateTerminal implements [acp.Client]; Beagle says at the start that it has none.
func (c *client) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, errNoTerminal
}

// KillTerminal implements [acp.Client].
func (c *client) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, errNoTerminal
}

// TerminalOutput implements [acp.Client].
func (c *client) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, errNoTerminal
}

// ReleaseTerminal implements [acp.Client].
func (c *client) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, errNoTerminal
}

// WaitForTerminalExit implements [acp.Client].
func (c *client) WaitForTerminalExit(
	context.Context, acp.WaitForTerminalExitRequest,
) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, errNoTerminal
}
