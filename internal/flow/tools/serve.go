package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/internal/flow"
	"github.com/beagle-go/beagle/internal/mcp"
)

// Main runs the program beagle-mcp: it serves what an order says, and returns its exit status.
func Main(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) != 1 || !json.Valid([]byte(args[0])) {
		fmt.Fprintln(os.Stderr, "beagle-mcp is started by 'beagle mcp'")
		return 2
	}
	o, err := readOrder(args[0])
	if err == nil {
		err = serve(ctx, o)
	}
	var bad *beagle.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad):
		companion.Explain(os.Stderr, "mcp", bad)
		return 2
	}
	fmt.Fprintf(os.Stderr, "beagle mcp: %v\n", err)
	return 1
}

// readOrder reads an order whole: an unknown field could be something that an agent must not see.
func readOrder(text string) (o flow.ToolOrder, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, &beagle.UsageError{
			What:   fmt.Sprintf("beagle and beagle-mcp are of two versions: %v", err),
			Remedy: "install both from one checkout of Beagle: go install ./cmd/beagle ./cmd/beagle-mcp",
		}
	}
	return o, nil
}

// serve serves until the client is gone or the context ends.
func serve(ctx context.Context, o flow.ToolOrder) error {
	b, err := New(o.Spec, Options{Search: o.Search, Lessons: o.Lessons})
	if err != nil {
		return err
	}
	defer b.Close()
	production, err := productionOf(o)
	if err != nil {
		return err
	}
	server := mcp.New(b, companion.Version(), mcp.Manner{
		Redacted: b.Redacted(), Within: o.Search != "", Production: production,
	})
	if o.HTTP != "" {
		return serveHTTP(ctx, server, o)
	}
	err = server.Run(ctx, &sdk.StdioTransport{MaxLineLength: mcp.MaxRequest})
	if errors.Is(err, io.EOF) || ctx.Err() != nil {
		err = nil // the client is gone: the usual end
	}
	return err
}

const tokenVariable = "BEAGLE_MCP_TOKEN"

// serveHTTP serves until the context ends.
func serveHTTP(ctx context.Context, s *sdk.Server, o flow.ToolOrder) error {
	address, err := httpAddress(o)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return &beagle.UsageError{What: err.Error(), Remedy: "give a free address: --http 127.0.0.1:0 takes any port"}
	}
	token := os.Getenv(tokenVariable)
	fmt.Fprintf(os.Stderr, "beagle mcp serves http://%s\n", listener.Addr())
	if token == "" {
		token = mcp.NewToken()
		fmt.Fprintf(os.Stderr, "token %s\n", token)
	}
	h := &http.Server{
		Handler:           mcp.Handler(s, mcp.Door{Token: token, Origins: o.Origins, Hosts: o.Hosts}),
		ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 5 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(slog.NewTextHandler(os.Stderr, nil), slog.LevelWarn),
	}
	stopped := context.AfterFunc(ctx, func() { h.Close() })
	defer stopped()
	if err := h.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpAddress returns the address to listen on: one of this machine, unless the order names another
// explicitly.
func httpAddress(o flow.ToolOrder) (string, error) {
	host, port, err := net.SplitHostPort(o.HTTP)
	if err != nil {
		return "", &beagle.UsageError{
			What:   fmt.Sprintf("--http %q: %v", o.HTTP, err),
			Remedy: "give host:port, as in 127.0.0.1:7474",
		}
	}
	if host == "" && !o.Remote {
		host = "127.0.0.1"
	}
	if !mcp.Loopback(host) && !o.Remote {
		return "", &beagle.UsageError{
			What: fmt.Sprintf("--http %s can be reached from other machines", o.HTTP),
			Remedy: "listen on 127.0.0.1, or give --remote and put a TLS proxy before it, since every request " +
				"carries the token",
		}
	}
	return net.JoinHostPort(host, port), nil
}
