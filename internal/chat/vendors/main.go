// Command vendors records anew how the providers' own Go libraries talk to a
// model server, as ../testdata/conversations holds it. It is a module of its
// own, so that nothing else builds the libraries:
//
//	GOWORK=off go run . ../testdata/conversations
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/beagle-go/beagle/internal/chat/chattest"
)

func main() { os.Exit(run(os.Args[1:], os.Stderr)) }

func run(args []string, stderr io.Writer) int {
	if len(args) != 1 {
		fmt.Fprintln(stderr, "usage: vendors DIRECTORY")
		return 2
	}
	for name, client := range map[string]chattest.Client{"completions": completions, "messages": messages} {
		if err := record(filepath.Join(args[0], name+".json"), client); err != nil {
			fmt.Fprintln(stderr, "vendors:", err)
			return 1
		}
	}
	return 0
}

func record(path string, client chattest.Client) error {
	all, err := chattest.Load(path)
	if err != nil {
		return err
	}
	for i := range all {
		if err := all[i].Record(context.Background(), client); err != nil {
			return fmt.Errorf("record %s: %w", all[i].Name, err)
		}
	}
	return chattest.Save(path, all)
}
