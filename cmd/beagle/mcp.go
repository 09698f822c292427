package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/flow/tools"
	"github.com/beagle-go/beagle/internal/mcp"
)

var mcpCommand = &command{
	name: "mcp", args: "",
	short: "serve Beagle as tools to a coding agent",
	long: `
Serves the Model Context Protocol, so that a coding agent can find hot functions, learn what is known of one, and have its
versions judged. Over standard input and output, as agents start it, or over HTTP with a token.

Works in one module (-C); agents read profiles below its directory, and nothing else. What is checked and measured, and for
how long, is decided by the flags here: no tool argument can turn it down. Nothing is written to the checkout.

Inputs from a file (--corpus) may come from production: agents are shown their shapes, not their values, unless --redact no.

Tools that ask production run the commands hotspots, bench and capture. --at names the processes with probes, --pid
those without, and --source profiles of production; no tool can name others. A tool never records text as it is.

Over HTTP every request needs the header 'Authorization: Bearer TOKEN'. The token is $BEAGLE_MCP_TOKEN, or made and
printed once. Without --remote only addresses of this machine are served.

Examples:
  beagle mcp -C ~/src/service
  beagle mcp --http 127.0.0.1:7474
  beagle mcp --at /run/service.sock --token token --source http://localhost:6060
  beagle skill >AGENTS.md         # instructions for the agent

Configuration of clients: docs/mcp.md.`,
}

func init() { mcpCommand.run = runMCP }

const tokenVariable = "BEAGLE_MCP_TOKEN"

// mcpOptions holds the flags that say which clients are served.
type mcpOptions struct {
	http           string
	remote         bool
	search         string // directory of the run that asked the agent; empty for a user's
	redact         string // "auto", "yes" or "no"
	lessons        []string
	origins, hosts []string
	at             []string // processes with probes
	token          string   // file with their token
	sources        []string // profiles of production
	pids           []int    // processes without a probe that agents may look into
}

func (o *mcpOptions) flags(f *flagSet) {
	f.StringVar(&o.http, "http", "",
		"serve streamable HTTP on this `address` instead of standard input and output; port 0 takes any")
	f.BoolVar(&o.remote, "remote", false, "allow an --http address that other machines can reach")
	f.Var(manyFlag{&o.origins}, "origin", "let web pages of this `origin` (https://host) talk to the server")
	f.Var(manyFlag{&o.hosts}, "host", "answer to this host `name` too, besides those of this machine")
	f.StringVar(&o.redact, "redact", "auto",
		"yes: agents get shapes instead of captured values; no; auto: yes for inputs from a file")
	f.StringVar(&o.search, "search", "",
		"serve an agent that the search of this run's `directory` asked; the search gives it itself")
	f.Var(manyFlag{&o.lessons}, "lessons", "teach the lessons of this `directory` too")
	f.Var(listFlag{&o.at}, "at", "let agents ask the probes at these `addresses`, as capture --at has them")
	f.Var(pidFlag{&o.pids}, "pid", "let agents capture in these running `processes` without a probe, by uprobes")
	f.StringVar(&o.token, "token", "", "`file` with the probes' token, as capture --token has it")
	f.Func("source", "a profile of production that agents may read, as hotspots takes it; may be repeated",
		func(text string) error { o.sources = append(o.sources, text); return nil })
}

func runMCP(ctx context.Context, c *command, args []string, std stdio) (int, error) {
	spec, o := flow.Defaults(), mcpOptions{}
	f := c.flags(std)
	specFlags(f, &spec)
	o.flags(f)
	if _, err := parse(f, plainRedact(args), 0, 0); err != nil {
		return exitUsage, err
	}
	spec.Models.Redact = o.redact
	spec.Strict = true // an agent waits for the answer, and knows the task
	probe := spec
	probe.Target = "." // tools name the target
	if err := probe.Validate(); err != nil {
		return exitUsage, err
	}
	b, err := tools.New(spec, tools.Options{Search: o.search, Lessons: o.lessons})
	if err != nil {
		return exitNo, err
	}
	defer b.Close()
	production, err := o.production(&spec)
	if err != nil {
		return exitNo, err
	}
	production.Veiled = o.redact != "no" // it is production's in any case
	server := mcp.New(b, version(), mcp.Manner{
		Redacted: b.Redacted(), Within: o.search != "", Production: production,
	})
	if o.http != "" {
		return exitOK, serveHTTP(ctx, std.err, server, o)
	}
	err = server.Run(ctx, &sdk.StdioTransport{MaxLineLength: mcp.MaxRequest})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		err = nil // the client is gone: the usual end
	}
	return exitOK, err
}

// plainRedact rewrites a command line so that --redact has a value. Clients' configurations may
// have it without one, or with the value of a switch, as it once was.
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

// version is that of the main module.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return "unknown"
}

// serveHTTP serves until the context ends.
func serveHTTP(ctx context.Context, out io.Writer, s *sdk.Server, o mcpOptions) error {
	address, err := httpAddress(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return &beagle.UsageError{What: err.Error(), Remedy: "give a free address: --http 127.0.0.1:0 takes any port"}
	}
	token := os.Getenv(tokenVariable)
	fmt.Fprintf(out, "beagle mcp serves http://%s\n", listener.Addr())
	if token == "" {
		token = mcp.NewToken()
		fmt.Fprintf(out, "token %s\n", token)
	}
	h := &http.Server{
		Handler:           mcp.Handler(s, mcp.Door{Token: token, Origins: o.origins, Hosts: o.hosts}),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.NewTextHandler(out, nil), slog.LevelWarn),
	}
	stopped := context.AfterFunc(ctx, func() { h.Close() })
	defer stopped()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpAddress is the address to listen on: that of this machine unless another
// is asked for in so many words.
func httpAddress(o mcpOptions) (string, error) {
	host, port, err := net.SplitHostPort(o.http)
	if err != nil {
		return "", &beagle.UsageError{
			What:   fmt.Sprintf("--http %q: %v", o.http, err),
			Remedy: "give host:port, as in 127.0.0.1:7474",
		}
	}
	if host == "" && !o.remote {
		host = "127.0.0.1"
	}
	if !mcp.Loopback(host) && !o.remote {
		return "", &beagle.UsageError{
			What: fmt.Sprintf("--http %s can be reached from other machines", o.http),
			Remedy: "listen on 127.0.0.1, or say --remote; put TLS in front of it, since the token travels in every " +
				"request",
		}
	}
	return net.JoinHostPort(host, port), nil
}
