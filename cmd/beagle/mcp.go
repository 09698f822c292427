package main

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/beagle-go/beagle/internal/flow"
)

var mcpCommand = &command{
	name: "mcp", args: "",
	short: "serve Beagle as tools to a coding agent",
	long: `
Serves the Model Context Protocol, so that a coding agent can find hot functions, learn
about one, and have its versions judged. It serves standard input and output, as agents
start it, or HTTP with a token.

The program beagle-mcp serves. It must lie beside beagle or on the PATH: 'go install
./cmd/beagle-mcp'.

Works in one module (-C); agents read profiles below its directory, and nothing else. The
flags here decide what is checked and measured, and for how long. No argument of a tool
can weaken that. Nothing is written to the checkout.

Inputs from a file (--corpus) may come from production: agents see their shapes, not their
values, unless --redact no.

Tools that ask production run the commands hotspots, bench and capture. --at names the
processes with probes, --pid those without, and --source profiles of production; no tool
can name others. A tool never records text as it is.

Over HTTP every request needs the header 'Authorization: Bearer TOKEN'. The token is
$BEAGLE_MCP_TOKEN, or made and printed once. Without --remote only addresses of this
machine are served.

Examples:
  beagle mcp -C ~/src/service
  beagle mcp --http 127.0.0.1:7474
  beagle mcp --at /run/service.sock --token token --source http://localhost:6060
  beagle skill >AGENTS.md         # instructions for the agent

Configuration of clients: docs/mcp.md.`,
}

func init() { mcpCommand.run = runMCP }

// mcpFlags fill in the order of the program that serves.
func mcpFlags(f *flagSet, o *flow.ToolOrder) {
	f.StringVar(&o.HTTP, "http", "",
		"serve streamable HTTP on this `address` instead of standard input and output; port 0 takes any")
	f.BoolVar(&o.Remote, "remote", false, "allow an --http address that other machines can reach")
	f.Var(manyFlag{&o.Origins}, "origin", "let web pages of this `origin` (https://host) talk to the server")
	f.Var(manyFlag{&o.Hosts}, "host", "answer to this host `name` too, besides those of this machine")
	f.StringVar(&o.Spec.Models.Redact, "redact", "auto",
		"yes: agents get shapes instead of captured values; no; auto: yes for inputs from a file")
	f.Var(manyFlag{&o.Lessons}, "lessons", "teach the lessons of this `directory` too")
	f.Var(listFlag{&o.At}, "at", "let agents ask the probes at these `addresses`, as for capture --at")
	f.Var(pidFlag{&o.PIDs}, "pid", "let agents capture in these running `processes` without a probe, by uprobes")
	f.StringVar(&o.Token, "token", "", "`file` with the probes' token, as capture --token has it")
	f.Func("source", "a profile of production that agents may read: a `SOURCE` as for hotspots; may be repeated",
		func(text string) error { o.Sources = append(o.Sources, text); return nil })
}

// runMCP has beagle-mcp serve in the place of this process.
func runMCP(_ context.Context, c *command, args []string, std stdio) (int, error) {
	o := flow.ToolOrder{Spec: flow.Defaults()}
	f := c.flags(std)
	specFlags(f, &o.Spec)
	mcpFlags(f, &o)
	if _, err := parse(f, plainRedact(args), 0, 0); err != nil {
		return exitUsage, err
	}
	o.Spec.Strict = true // an agent waits for the answer, and knows the task
	probe := o.Spec
	probe.Target = "." // tools name the target
	if err := probe.Validate(); err != nil {
		return exitUsage, err
	}
	o.Veiled = o.Spec.Models.Redact != "no" // it is production's in any case
	self, err := os.Executable()
	if err != nil {
		return exitNo, err
	}
	o.Beagle = self
	cmd, err := o.Command("the server")
	if err != nil {
		return exitUsage, err
	}
	return replaceProcess(cmd)
}

// plainRedact rewrites a command line so that --redact has a value. Clients' configurations may
// give it none, or the value of a switch, which older versions took.
func plainRedact(args []string) []string {
	values := map[string]string{"auto": "auto", "yes": "yes", "no": "no", "true": "yes", "false": "no"}
	out := slices.Clone(args)
	for i := 0; i < len(out); i++ {
		name, value, given := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(out[i], "-"), "-"), "=")
		switch {
		case name != "redact" || !strings.HasPrefix(out[i], "-"):
		case given && values[value] != "":
			out[i] = "--redact=" + values[value]
		case given: // to be refused
		case i+1 < len(out) && !strings.HasPrefix(out[i+1], "-"):
			if word := values[out[i+1]]; word != "" {
				out[i+1] = word
			}
			i++
		default:
			out[i] = "--redact=yes"
		}
	}
	return out
}
