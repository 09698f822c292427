package harness

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/beagle-go/beagle/internal/inorder"
	"github.com/beagle-go/beagle/internal/rt"
	"github.com/beagle-go/beagle/internal/sandbox"
	"github.com/beagle-go/beagle/internal/tail"
)

// RunOptions bound one run of a harness. Zero values are the defaults of the
// sandbox's profile.
type RunOptions struct {
	Wall      time.Duration
	CPU       int               // processor to run on; -1 for any
	Files     map[string]string // name in the work directory -> path, read-only
	Shared    map[string]string // the same for files that the process may change
	DataBytes int64
	Env       []string
}

// An Exit says how a version ended its harness before the reply.
type Exit struct {
	Kind    string // "hang", "crash", "memory", "output", "denied", "race"
	Detail  string // the end of its output
	Found   string // the difference that it had found, as JSON; see rt.FoundPrefix
	Variant int    // the version that had the input; -1 unknown
	Record  int    // the last input begun; -1 unknown
	Starved bool   // the wall time was over, and the process had used little of it
	Wall    time.Duration
}

func (e *Exit) String() string { return e.Kind + ": " + e.Detail }

// Kinds of Exit.
const (
	Hang   = "hang"
	Crash  = "crash"
	Memory = "memory"
	Output = "output"
	Denied = "denied"
	Race   = "race"
)

const progressName = "beagle-progress"

// Run sends a request to a fresh process and decodes the reply into result. A process that a
// version ends is an Exit. An error means that the machinery failed, or that the request could
// not be carried out. A process that waited for a processor until its time was over gets more time
// once: that says nothing of a version.
func (bin *Binary) Run(
	ctx context.Context, box *sandbox.Sandbox, q *rt.Request, result any, o RunOptions,
) (*Exit, error) {
	exit, err := bin.run(ctx, box, q, result, o)
	if exit == nil || !exit.Starved || err != nil {
		return exit, err
	}
	o.Wall = exit.Wall + moreWall
	return bin.run(ctx, box, q, result, o)
}

// moreWall is the wall time that a starved process gets beyond what it had.
const moreWall = time.Minute

// run sends a request to a new process of the program and reads its reply.
func (bin *Binary) run(
	ctx context.Context, box *sandbox.Sandbox, q *rt.Request, result any, o RunOptions,
) (*Exit, error) {
	// The process notes in a shared file which input it is at, so that its end can be blamed on
	// one.
	progress, err := os.CreateTemp(bin.dir, "progress")
	if err != nil {
		return nil, err
	}
	defer os.Remove(progress.Name())
	_, err = progress.Write(binary.LittleEndian.AppendUint64(nil, 1<<64-1))
	if cerr := progress.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, err
	}
	// The nonce marks the reply, since a candidate may print, too.
	sent := *q
	sent.Nonce, sent.Progress = rand.Text(), progressName
	if sent.Terms == nil {
		sent.Terms = bin.terms
	}
	if bin.emulator != "" {
		sent.Progress = "" // an emulator shares memory by a way that the sandbox refuses
	}
	stdin, err := json.Marshal(&sent)
	if err != nil {
		return nil, err
	}
	// Run the process in the sandbox.
	r, err := box.Run(ctx, bin.command(stdin, progress.Name(), o))
	if err != nil {
		return nil, err
	}
	if r.Ended == sandbox.Canceled {
		return nil, context.Cause(ctx)
	}
	// A process without a reply ended early: report how, and at which input.
	reply := findReply(r.Stdout, sent.Nonce)
	if exit := endOf(&r, reply); exit != nil {
		exit.Variant, exit.Record = lastPlace(progress.Name())
		return exit, nil
	}
	if reply.Error != "" {
		return nil, fmt.Errorf("harness: %s", reply.Error)
	}
	if result == nil {
		return nil, nil
	}
	return nil, json.Unmarshal(reply.Result, result)
}

// command describes the process to the sandbox.
func (bin *Binary) command(stdin []byte, progress string, o RunOptions) sandbox.Command {
	machine, path, args, read := bin.emulated(bin.Path)
	c := sandbox.Command{
		Profile: sandbox.Run, Machine: machine, Path: path, Args: args, Read: read, Stdin: stdin, Env: o.Env,
		Files:  []sandbox.File{{Name: progressName, Host: progress, Write: true}},
		Limits: sandbox.Limits{Wall: o.Wall, Data: o.DataBytes},
	}
	if o.Wall > 0 {
		c.Limits.CPU = 4 * o.Wall
	}
	if bin.Link.Race {
		c.Profile, c.Limits.Data = sandbox.Fuzz, -1
		c.Env = append(slices.Clone(c.Env), "GORACE=halt_on_error=1 exitcode=66")
	}
	if o.CPU >= 0 {
		c.CPUs = []int{o.CPU}
	}
	for _, name := range inorder.Keys(o.Files) {
		c.Files = append(c.Files, sandbox.File{Name: name, Host: o.Files[name]})
	}
	for _, name := range inorder.Keys(o.Shared) {
		c.Files = append(c.Files, sandbox.File{Name: name, Host: o.Shared[name], Write: true})
	}
	return c
}

// findReply looks for the line with the nonce from the end: a version may have
// printed anything before.
func findReply(stdout []byte, nonce string) *rt.Reply {
	lines := bytes.Split(stdout, []byte("\n"))
	for _, line := range slices.Backward(lines) {
		var r rt.Reply
		if len(line) > 0 && line[0] == '{' && json.Unmarshal(line, &r) == nil && r.Nonce == nonce {
			return &r
		}
	}
	return nil
}

// endOf words an end without a reply; nil when there is one.
func endOf(r *sandbox.Result, reply *rt.Reply) *Exit {
	stderr := string(r.Stderr)
	kind := Crash
	switch {
	case strings.Contains(stderr, "WARNING: DATA RACE"):
		kind = Race
	case reply != nil:
		return nil
	case r.Ended == sandbox.Wall || r.Ended == sandbox.CPU || r.Ended == sandbox.Exited && r.Code == rt.StallStatus:
		kind = Hang
	case r.Ended == sandbox.Exited && strings.Contains(stderr, "all goroutines are asleep - deadlock!"):
		kind = Hang
	case r.Ended == sandbox.Memory:
		kind = Memory
	case r.Ended == sandbox.Output:
		kind = Output
	case r.Signal == "bad system call" || strings.Contains(stderr, "function not implemented"):
		kind = Denied
	}
	return &Exit{Kind: kind, Detail: detail(r), Found: writtenDifference(stderr), Starved: starved(r), Wall: r.Wall}
}

// writtenDifference returns the difference that a program wrote down before it ended; "" for none.
func writtenDifference(stderr string) string {
	_, rest, _ := strings.Cut(stderr, "\n"+rt.FoundPrefix)
	line, _, _ := strings.Cut(rest, "\n")
	return line
}

// starved reports whether a program used less than a quarter of its time: the watchdogs of a
// harness end one that hangs or sleeps before that time is over.
func starved(r *sandbox.Result) bool {
	return r.Ended == sandbox.Wall && 4*(r.User+r.System) < r.Wall
}

const maxDetail = 4 << 10

// detail is the part of the standard error that says most: a Go program
// names the cause first and the goroutines after.
func detail(r *sandbox.Result) string {
	end := fmt.Sprintf("ended by %s, status %d", r.Ended, r.Code)
	if r.Signal != "" {
		end = "ended by signal: " + r.Signal
	}
	s := strings.TrimSpace(string(r.Stderr))
	for _, mark := range []string{"WARNING: DATA RACE", "fatal error: ", "panic: "} {
		if i := strings.Index(s, mark); i >= 0 {
			s = s[i:]
			break
		}
	}
	if s == "" {
		return end + " before it replied"
	}
	return tail.Short(s, maxDetail) + "\n" + end
}

// lastPlace reads the variant and the record at which a process ended.
func lastPlace(path string) (variant, record int) {
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 8 {
		return -1, -1
	}
	return rt.Place(int64(binary.NativeEndian.Uint64(b)))
}
