//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/internal/uprobe"
	"github.com/beagle-go/beagle/probe/wire"
)

const token = "0123456789abcdef0123456789abcdef"

// A lab is a service and the uprobes that observe it.
type lab struct {
	row    row
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Scanner
	dir    string
	client *capture.Client
	done   chan struct{}

	attach, detach []float64 // nanoseconds
	own            []float64 // percent of a core that this program took in a second of capture
	hit, copying   float64   // nanoseconds of a hit, and the extra ones of a recorded hit, as the server reports
	seen           float64   // mean share of the calls that pay that
	turns          bool      // only some of the calls, by turns
	events         int
	shares         [2][]float64 // percent of a core that the service took in seconds without a capture, and with one
}

// newLab starts the program under load, and a uprobe server if the row needs one.
func newLab(r row, cost uprobe.Cost) (*lab, error) {
	l := &lab{row: r, done: make(chan struct{}), cmd: exec.Command("/proc/self/exe", r.function, fmt.Sprint(r.rate))}
	l.cmd.Stderr = os.Stderr
	in, err := l.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := l.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	l.in, l.out = in, bufio.NewScanner(out)
	if l.dir, err = os.MkdirTemp("", "beagle-bench-"); err != nil {
		return nil, err
	}
	if err := l.cmd.Start(); err != nil {
		return nil, err
	}
	if r.start == nil {
		return l, nil
	}
	return l, l.serve(cost)
}

// serve finds the function and opens the door to its uprobes.
func (l *lab) serve(cost uprobe.Cost) error {
	// Find the function in the running process.
	b, err := uprobe.Open(l.cmd.Process.Pid, "")
	if err != nil {
		return err
	}
	name := "github.com/beagle-go/beagle/bench/uprobe." + l.row.function
	all, err := b.Find(name)
	if err != nil {
		return err
	}
	l.row.start.Sites = []string{name}
	// Serve its uprobes on a socket.
	server, err := uprobe.NewServer(b, all, cost)
	if err != nil {
		return err
	}
	socket, secret := filepath.Join(l.dir, "s"), filepath.Join(l.dir, "token")
	if err := os.WriteFile(secret, []byte(token), 0o600); err != nil {
		return err
	}
	if _, err := server.Listen(socket, token); err != nil {
		return err
	}
	go server.Run(l.done)
	// Connect as a controller.
	clients, err := capture.New([]string{socket}, secret)
	if err != nil {
		return err
	}
	l.client = clients[0]
	return nil
}

func (l *lab) close() {
	close(l.done)
	l.in.Close()
	_ = l.cmd.Wait()
	os.RemoveAll(l.dir)
}

// measureSecond lets the service work for a second and returns its processor time in percent of a
// core.
func (l *lab) measureSecond(captured bool) (float64, error) {
	if !captured || l.client == nil {
		return l.work(0, l.row.long)
	}
	// Attach the probes.
	ctx, began := context.Background(), time.Now()
	r, _, err := l.client.Do(ctx, wire.Request{Verb: wire.VerbStart, Start: l.row.start})
	if err != nil {
		return 0, err
	}
	l.attach = append(l.attach, float64(time.Since(began)))
	if _, err := l.beating(ctx, r.Lease, l.row.settle); err != nil {
		return 0, err
	}
	// Measure the service and this program.
	own := processor()
	share, err := l.beating(ctx, r.Lease, l.row.long)
	if err != nil {
		return 0, err
	}
	l.own = append(l.own, 100*(processor()-own).Seconds()/float64(l.row.long))
	// Read how many calls were captured, and at which cost.
	p := capture.Pulled{Address: l.client.Address}
	if err := capture.Drain(ctx, l.client, &p); err != nil {
		return 0, err
	}
	l.events += len(p.Events)
	for _, s := range p.Status.Sites {
		l.hit, l.copying = s.Counts.Hit, s.Counts.Nanos
		seen := 1.0
		if s.Counts.Seen > 0 {
			seen, l.turns = s.Counts.Seen, true
		}
		l.seen += (seen - l.seen) / float64(len(l.own))
	}
	// Detach the probes.
	began = time.Now()
	_, _, err = l.client.Do(ctx, wire.Request{Verb: wire.VerbStop, Lease: r.Lease})
	l.detach = append(l.detach, float64(time.Since(began)))
	return share, err
}

// beating works under a lease, which it renews each second.
func (l *lab) beating(ctx context.Context, lease string, seconds int) (sum float64, err error) {
	for range seconds {
		share, err := l.work(1, 1)
		if err != nil {
			return 0, err
		}
		if _, _, err := l.client.Do(ctx, wire.Request{Verb: wire.VerbBeat, Lease: lease}); err != nil {
			return 0, err
		}
		sum += share
	}
	return sum / float64(max(seconds, 1)), nil
}

// work has the service work for some seconds, without a capture or with one.
func (l *lab) work(captured, seconds int) (sum float64, err error) {
	for range seconds {
		share, err := l.workSecond()
		if err != nil {
			return 0, err
		}
		l.shares[captured] = append(l.shares[captured], share)
		sum += share
	}
	return sum / float64(seconds), nil
}

func (l *lab) workSecond() (float64, error) {
	if _, err := fmt.Fprintln(l.in); err != nil {
		return 0, err
	}
	if !l.out.Scan() {
		return 0, fmt.Errorf("the service ended: %w", l.out.Err())
	}
	n, err := strconv.ParseInt(l.out.Text(), 10, 64)
	return 100 * time.Duration(n).Seconds(), err
}
