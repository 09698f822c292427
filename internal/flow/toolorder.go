package flow

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/beagle-go/beagle/internal/companion"
)

// A ToolOrder is the order for the program beagle-mcp: which clients to serve, and what their tools
// may reach. 'beagle mcp' makes one of its flags, and a search makes one for an agent that it asks.
// Package tools, which beagle does not link, carries it out.
type ToolOrder struct {
	Spec   Spec   `json:"spec"`             // how versions are judged; tools name the target
	Beagle string `json:"beagle,omitempty"` // the program whose verbs the tools for production carry out

	Search  string   `json:"search,omitempty"`  // directory of the run that asked the agent; empty for a user's
	Lessons []string `json:"lessons,omitempty"` // directories of lessons besides the user's own
	Veiled  bool     `json:"veiled,omitempty"`  // values of production are not shown

	HTTP    string   `json:"http,omitempty"`    // address; empty for standard input and output
	Remote  bool     `json:"remote,omitempty"`  // it may be an address that other machines can reach
	Origins []string `json:"origins,omitempty"` // of web pages that may talk to the server
	Hosts   []string `json:"hosts,omitempty"`   // names that it answers to, besides those of this machine

	At      []string `json:"at,omitempty"`      // processes with probes
	Token   string   `json:"token,omitempty"`   // file with their token
	PIDs    []int    `json:"pids,omitempty"`    // processes without a probe that agents may look into
	Sources []string `json:"sources,omitempty"` // profiles of production
}

// toolProgram returns the path of beagle-mcp; need says who needs it.
func toolProgram(need string) (string, error) {
	return companion.Find("beagle-mcp", "BEAGLE_MCP", need)
}

// Command returns the command that runs the program with its order; need says who needs it.
func (o *ToolOrder) Command(need string) (*exec.Cmd, error) {
	program, err := toolProgram(need)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return exec.Command(program, string(text)), nil
}

// isBeagle reports whether this program is one of Beagle's, and not a test that has a part of it.
func isBeagle() bool {
	self, err := os.Executable()
	return err == nil && strings.HasPrefix(filepath.Base(self), "beagle")
}
