// Command serve is a model server with scripted replies, for trying programs
// that ask models without asking one:
//
//	go run ./internal/llmtest/serve --script replies.json --listen 127.0.0.1:0
//
// It prints its address, serves until it is interrupted, and then prints what
// it was asked as one line of JSON. While it runs, GET /stats shows the same.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/beagle-go/beagle/internal/llmtest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves scripted or recorded replies until ctx ends, and prints the statistics.
func run(ctx context.Context, args []string, out io.Writer) error {
	fs := flag.NewFlagSet("serve", flag.ContinueOnError)
	script := fs.String("script", "", "file with the rules: {\"rules\": [{\"replies\": [{\"text\": \"…\"}]}]}")
	recorded := fs.String("recorded", "", "directory of recorded replies, instead of a script")
	listen := fs.String("listen", "127.0.0.1:0", "address to listen at")
	models := fs.String("models", "test", "names of models to list, separated by commas")
	key := fs.String("key", "", "refuse calls without this key")
	calls := fs.Int("rate-calls", 0, "calls that are taken in each --rate-per; 0 takes all")
	per := fs.Duration("rate-per", 0, "see --rate-calls")
	if err := fs.Parse(args); err != nil {
		return err
	}
	// Make the server, with a script or a directory of recordings.
	s := &llmtest.Server{
		Models: strings.Split(*models, ","),
		Key:    *key,
		Limit:  llmtest.RateLimit{Calls: *calls, Per: *per},
	}
	var err error
	switch {
	case (*script == "") == (*recorded == ""):
		return fmt.Errorf("give either --script or --recorded")
	case *script != "":
		s.Script, err = llmtest.Load(*script)
	default:
		s.Script, err = llmtest.Recorded(*recorded)
	}
	if err != nil {
		return err
	}
	// Serve until the context ends, and print what happened.
	if err := s.Start(*listen); err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, s.URL())
	<-ctx.Done()
	return json.NewEncoder(out).Encode(s.Stats())
}
