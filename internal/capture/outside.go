package capture

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/companion"
	"github.com/beagle-go/beagle/probe/wire"
)

// An UprobeCapture captures running processes that hold no probe, by uprobes. The program
// beagle-uprobe attaches them: it alone needs privileges, and links what speaks to the kernel.
type UprobeCapture struct {
	Clients []*Client
	helpers []*helper
}

type helper struct {
	cmd *exec.Cmd
	in  io.Closer
}

// A Wish describes the functions to look for in processes without a probe.
type Wish struct {
	PIDs    []int
	Symbols string   // an unstripped file of the same program, or ""
	Names   []string // of functions
	Records bool     // each call is to become a record, so all arguments must be seen
}

// Attach has beagle-uprobe look for functions in each process. Nothing is armed yet. A function
// that can't be captured is a *beagle.UsageError.
func Attach(ctx context.Context, w Wish) (*UprobeCapture, error) {
	program, err := companion.Find("beagle-uprobe", "BEAGLE_UPROBE", "--pid")
	if err != nil {
		return nil, err
	}
	o := &UprobeCapture{}
	for _, pid := range w.PIDs {
		if err := o.attach(ctx, program, pid, w); err != nil {
			o.Close()
			return nil, err
		}
	}
	return o, nil
}

// attach starts the helper that captures a process from outside, and waits until it serves the
// socket.
func (o *UprobeCapture) attach(ctx context.Context, program string, pid int, w Wish) error {
	dir, err := outsideDir()
	if err != nil {
		return err
	}
	// One capture at a time: the socket of a process has one owner.
	token := rand.Text()
	socket, secret := place(dir, pid)
	if _, err := os.Stat(socket); err == nil && alive(ctx, socket, token) {
		return fmt.Errorf("another beagle captures process %d: stop it with beagle capture stop --pid %d", pid, pid)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := os.WriteFile(secret, []byte(token+"\n"), 0o600); err != nil {
		return err
	}
	// Start the helper. It ends when its standard input closes.
	args := append([]string{"-pid", strconv.Itoa(pid), "-socket", socket, "-token", secret, "-symbols", w.Symbols,
		fmt.Sprintf("-records=%t", w.Records), "--"}, w.Names...)
	h := &helper{cmd: exec.Command(program, args...)}
	h.cmd.Stderr = os.Stderr
	if h.in, err = h.cmd.StdinPipe(); err != nil {
		return err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := h.cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	o.helpers = append(o.helpers, h)
	defer context.AfterFunc(ctx, func() { h.in.Close() })()
	// Wait for its answer: ready, or a reason and a remedy.
	line, err := bufio.NewReader(out).ReadBytes('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("%s ended without an answer", program), ctx.Err())
	}
	var ready companion.Ready
	if err := json.Unmarshal(line, &ready); err != nil {
		return fmt.Errorf("%s answered %q: %w", program, line, err)
	}
	if ready.What != "" && ready.Remedy != "" {
		return &beagle.UsageError{What: ready.What, Remedy: ready.Remedy}
	}
	if ready.What != "" {
		return errors.New(ready.What)
	}
	o.Clients = append(o.Clients, &Client{Address: socket, token: token})
	return nil
}

// alive reports whether something answers at a socket. On a busy machine an answer takes its time;
// at a socket that a dead program left, the end comes at once. A canceled context ends the wait: a
// request over a socket waits for its reply all the same, so that no state is unknown.
func alive(ctx context.Context, socket, token string) bool {
	answer := make(chan error, 1)
	go func() {
		c := &Client{Address: socket, token: token}
		_, _, err := c.Do(context.WithoutCancel(ctx), wire.Request{Verb: wire.VerbStatus})
		answer <- err
	}()
	select {
	case err := <-answer:
		var refused *Refusal
		return err == nil || errors.As(err, &refused)
	case <-ctx.Done():
		return false
	}
}

// Close ends the programs, which take their uprobes away.
func (o *UprobeCapture) Close() {
	for _, h := range o.helpers {
		h.in.Close()
		end := time.AfterFunc(requestTime, func() { _ = h.cmd.Process.Kill() })
		_ = h.cmd.Wait() // it ends with its input
		end.Stop()
	}
	o.helpers = nil
}

// Attached returns clients of captures that run elsewhere, one for each process. The client of a
// process that nobody captures says so at each request.
func Attached(ctx context.Context, pids []int) ([]*Client, error) {
	dir, err := outsideDir()
	if err != nil {
		return nil, err
	}
	var all []*Client
	for _, pid := range pids {
		socket, secret := place(dir, pid)
		token, err := os.ReadFile(secret)
		c := &Client{Address: socket, token: strings.TrimSpace(string(token))}
		up := err == nil && alive(ctx, socket, c.token)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !up {
			c.absent = fmt.Errorf("process %d is not captured by uprobes: begin with "+
				"beagle capture start --pid %d PKG.Func, as the same user", pid, pid)
		}
		all = append(all, c)
	}
	return all, nil
}

// place names the socket and the token's file of a process.
func place(dir string, pid int) (socket, token string) {
	base := filepath.Join(dir, strconv.Itoa(pid))
	return base + ".sock", base + ".token"
}
