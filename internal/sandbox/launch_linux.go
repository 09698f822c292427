package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/internal/scratch"
)

// A kernel holds the findings of the probe.
type kernel struct {
	Namespaces bool
	Nobody     bool // root may become another user
	Landlock   int  // ABI version, 0 means none
	Seccomp    bool
	cgroup     cgroupRoot
}

// orders go from the parent to the process that becomes the program.
type orders struct {
	Kernel    kernel
	Profile   Profile
	Probe     bool // exit with status 0 instead of becoming the program
	Supervise bool // start the program as a child, and leave no descendant behind

	Machine string // Command.Machine

	Path  string
	Argv  []string
	Env   []string
	Dir   string // "" is the work directory
	Home  string // the work directory
	Files []File
	Read  []string
	Write []string

	CPUs   []int
	Limits Limits
	UID    int // to become, so that the limit of processes holds; -1 to stay
	Root   bool

	home *scratch.Dir // the work directory on the host, when there is no root of its own
}

const (
	doorName = "beagle-sandbox" // argv[0] of the process between the walls
	boxDir   = "/box"           // the work directory, when there is a root of its own
	ordersFD = 3
	faultFD  = 4
)

// Run runs a command between the walls. The error means that it could not be
// started; whatever it does then is in the Result.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	if err := lookProgram(&c); err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	o, err := s.orders(&c)
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	defer o.removeHome()
	return s.launch(ctx, o, c.Stdin)
}

// orders returns a command as orders for the process inside the sandbox.
func (s *Sandbox) orders(c *Command) (*orders, error) {
	if err := c.checkMachine(); err != nil {
		return nil, err
	}
	o := &orders{
		Machine: c.Machine, Kernel: s.kernel, Profile: c.Profile, Path: c.Path,
		Argv: append([]string{c.Path}, c.Args...),
		Dir:  c.Dir, Home: boxDir, Files: c.Files, Read: slices.Concat(c.needs(), []string{c.Path}, c.Read),
		Write: c.Write,
		CPUs:  c.CPUs, Limits: c.Limits.withDefaults(defaults[c.Profile]), UID: -1, Root: os.Getuid() == 0,
	}
	for _, f := range c.Files {
		if f.Name != filepath.Base(f.Name) || f.Name == ".." || f.Name == "." {
			return nil, fmt.Errorf("file name %q is not a plain name", f.Name)
		}
	}
	if o.Root && s.kernel.Nobody && c.Profile != Build { // the toolchain writes caches that root must own
		o.UID = unusedUID(s.kernel.Namespaces)
	}
	if s.kernel.Namespaces {
		// the work directory is in the new root
	} else if err := o.prepareHome(); err != nil {
		return nil, err
	}
	o.Env = c.environment(o.Home)
	return o, nil
}

// prepareHome makes the work directory on the host, for want of a file system
// of the program's own.
func (o *orders) prepareHome() error {
	var err error
	if o.home, err = scratch.New("box"); err != nil {
		return err
	}
	o.Home = o.home.Path
	for _, f := range o.Files {
		if err == nil {
			err = os.Symlink(f.Host, filepath.Join(o.Home, f.Name))
		}
	}
	if err == nil && o.UID >= 0 {
		err = os.Chown(o.Home, o.UID, o.UID)
	}
	if err != nil {
		o.removeHome()
		return err
	}
	o.Supervise = o.Profile != Run
	if o.Limits.Procs > 0 && !o.Root {
		o.Limits.Procs += tasksOf(os.Getuid()) // the kernel counts all of the user's
	}
	return nil
}

func (o *orders) removeHome() {
	if o.home != nil {
		o.home.Remove()
	}
}

// launch starts this executable again and has it carry out the orders.
func (s *Sandbox) launch(ctx context.Context, o *orders, stdin []byte) (Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if o.Limits.Wall > 0 {
		timer := time.AfterFunc(o.Limits.Wall, func() { stop(errWall) })
		defer timer.Stop()
	}
	start := time.Now()
	p, err := s.start(o, stdin, stop)
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	defer p.close()
	release := whenDone(ctx, p.kill)
	defer o.watch(s.kernel, p.pid, stop)()
	end, err := p.wait()
	release()
	if err != nil {
		return Result{}, fmt.Errorf("sandbox: %w", err)
	}
	res := p.result(o, end, context.Cause(ctx))
	res.Wall = time.Since(start)
	if fault := p.fault(); fault != "" && res.Ended != Canceled && res.Ended != Wall {
		return res, errors.New("sandbox: " + fault)
	}
	return res, nil
}

// whenDone calls f when ctx ends. release undoes that, and waits for an f that has begun:
// afterwards the numbers of f's descriptors may belong to other files.
func whenDone(ctx context.Context, f func()) (release func()) {
	ran := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ran)
		f()
	})
	return func() {
		if !stop() {
			<-ran
		}
	}
}

// A process is the child on its way from start to result.
type process struct {
	pid            int
	line           line // to the porter
	orders, faults *os.File
	stdout, stderr *capped
	copied         sync.WaitGroup // the copies of input and output
	pipes          []*os.File     // for that
	group          *cgroup
	supervised     bool
}

// start has the porter open a door, and sends the orders through it once the program is in its
// cgroup.
func (s *Sandbox) start(o *orders, stdin []byte, stop context.CancelCauseFunc) (_ *process, err error) {
	p := &process{
		line: -1, supervised: o.Supervise,
		stdout: &capped{limit: o.Limits.Output, stop: stop}, stderr: &capped{limit: o.Limits.Output, stop: stop},
	}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if err := p.knock(o, stdin); err != nil {
		return nil, fmt.Errorf("start in new namespaces: %w", err)
	}
	// it has one process, which the resource limits bound, and a cgroup costs several milliseconds
	if o.Profile != Run {
		p.group = s.kernel.cgroup.enter(p.pid, o.Limits)
	}
	if err := json.NewEncoder(p.orders).Encode(o); err != nil && !errors.Is(err, syscall.EPIPE) {
		p.kill()
		p.wait()
		return nil, err
	}
	return p, nil
}

// knock makes the pipes and hands their other ends to the porter.
func (p *process) knock(o *orders, stdin []byte) error {
	var theirs files
	defer func() { theirs.close() }()
	if err := p.feed(stdin, &theirs); err != nil {
		return err
	}
	// Pipes for the output, the orders and the faults. The porter gets their other ends.
	for _, to := range []*capped{p.stdout, p.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			return err
		}
		p.pipes, theirs = append(p.pipes, r), append(theirs, w)
		p.copied.Go(func() { io.Copy(to, r) })
	}
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return err
	}
	p.orders, theirs = ordersW, append(theirs, ordersR)
	faultsR, faultsW, err := os.Pipe()
	if err != nil {
		return err
	}
	p.faults, theirs = faultsR, append(theirs, faultsW)
	// The line on which the porter answers.
	ours, far, err := newLines()
	if err != nil {
		return err
	}
	p.line = ours
	err = call(entry{o.Supervise, o.Kernel.Namespaces, o.Root}, append(theirs.fds(), int(far))...)
	far.close()
	if err != nil {
		return err
	}
	// Wait for the number of the process, or a fault.
	var a admitted
	if _, err := p.line.hear(&a); err != nil {
		return fmt.Errorf("the porter: %w", err)
	}
	if a.Fault != "" {
		return errors.New(a.Fault)
	}
	p.pid = a.Pid
	return nil
}

// feed gives the program its standard input.
func (p *process) feed(stdin []byte, theirs *files) error {
	if stdin == nil {
		null, err := os.Open(os.DevNull)
		*theirs = append(*theirs, null)
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.pipes, *theirs = append(p.pipes, w), append(*theirs, r)
	p.copied.Go(func() {
		w.Write(stdin) // it need not read all of it
		w.Close()
	})
	return nil
}

// files are the ends of pipes that another process gets.
type files []*os.File

func (fs files) fds() []int {
	var out []int
	for _, f := range fs {
		out = append(out, int(f.Fd()))
	}
	return out
}

func (fs files) close() {
	for _, f := range fs {
		f.Close()
	}
}

// waitDelay bounds the wait for output after a program's end: a process that it left behind may
// hold the pipe open.
const waitDelay = 2 * time.Second

// wait waits for the end of the process and of its output.
func (p *process) wait() (departed, error) {
	var end departed
	if _, err := p.line.hear(&end); err != nil { // the porter is gone
		if p.supervised { // a supervisor outlives it, and ends those that left the group
			p.orders.Close()
			for until := time.Now().Add(superviseDelay); syscall.Kill(p.pid, 0) == nil && time.Now().Before(until); {
				time.Sleep(10 * time.Millisecond)
			}
		}
		syscall.Kill(-p.pid, syscall.SIGKILL)
		return end, fmt.Errorf("the porter: %w", err)
	}
	late := time.AfterFunc(waitDelay, files(p.pipes).close)
	p.copied.Wait()
	late.Stop()
	return end, nil
}

// kill ends everything that runs between the walls. Without a pid namespace
// a supervisor does it: its end of the orders pipe closing is its signal.
func (p *process) kill() {
	if p.supervised {
		p.orders.Close()
	}
	p.line.hangUp()
}

func (p *process) close() {
	files(p.pipes).close()
	files{p.orders, p.faults}.close()
	if p.line >= 0 {
		p.line.close()
	}
	p.group.remove()
}

// fault returns the error that kept the program from its start.
func (p *process) fault() string {
	text, _ := io.ReadAll(io.LimitReader(p.faults, 4096))
	return strings.TrimSpace(string(text))
}

// result describes the ended process. cause is the limit that struck, if one did.
func (p *process) result(o *orders, end departed, cause error) Result {
	u, ws := &end.Usage, end.Status
	r := Result{
		Stdout: p.stdout.bytes(), Stderr: p.stderr.bytes(), Code: -1, MaxRSS: u.Maxrss * 1024,
		User: time.Duration(u.Utime.Nano()), System: time.Duration(u.Stime.Nano()),
	}
	uncountedTime.Add(int64(r.User + r.System))
	switch {
	case ws.Signaled():
		r.Signal = ws.Signal().String()
	case p.supervised && ws.ExitStatus() > 128: // as shells report the end of a child
		r.Signal = syscall.Signal(ws.ExitStatus() - 128).String()
	default:
		r.Code = ws.ExitStatus()
	}
	if r.Code == 0 || r.Code > 0 && cause != errOutput && cause != errDisk {
		cause = nil // it ended by itself before the limit struck
	}
	r.Ended = explainEnd(&r, o.Limits, cause)
	if p.group.killed() {
		r.Ended = Memory
	}
	return r
}

// attributes put the child into new namespaces. All identities map to
// themselves, as far as our own namespace knows them; capabilities in the new
// namespace are for building the walls and are dropped after that.
func (e entry) attributes() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if e.Supervise { // it has to live on to end the others, once it sees the orders pipe close
		return a
	}
	a.Pdeathsig = syscall.SIGKILL
	if !e.Namespaces {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if e.Root {
		a.UidMappings, a.GidMappings = identityMap("uid"), identityMap("gid")
		a.GidMappingsEnableSetgroups = true
		return a
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = wallCaps
	return a
}

func identityMap(kind string) []syscall.SysProcIDMap {
	text, _ := os.ReadFile("/proc/self/" + kind + "_map")
	var out []syscall.SysProcIDMap
	for line := range strings.Lines(string(text)) {
		var inside, outside, n int
		if _, err := fmt.Sscan(line, &inside, &outside, &n); err == nil {
			out = append(out, syscall.SysProcIDMap{ContainerID: inside, HostID: inside, Size: n})
		}
	}
	return out
}
