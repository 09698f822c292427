//go:build unix

package procgroup

import (
	"bufio"
	"context"
	"io"
	"os/exec"
	"testing"
)

// TestGroupEnds checks that a command ends with all that it started, by its context and by Kill.
// Its output ends only with the last process that holds it.
func TestGroupEnds(t *testing.T) {
	for _, way := range []string{"context", "kill"} {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := exec.CommandContext(ctx, "sh", "-c", "sleep 600 & echo started; wait")
			Own(c)
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			r := bufio.NewReader(out)
			if _, err := r.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if way == "context" {
				cancel()
			} else if err := Kill(c.Process.Pid); err != nil {
				t.Fatal(err)
			}
			if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
				t.Errorf("after the end came %q, %v", rest, err)
			}
			if err := c.Wait(); err == nil {
				t.Error("the command ended by itself")
			}
		})
	}
}
