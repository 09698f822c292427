package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/internal/scratch"
)

// kernel is what the probe found.
type kernel struct {
	Namespaces bool
	Nobody     bool // root may become another user
	Landlock   int  // ABI version, 0 is none
	Seccomp    bool
	cgroup     cgroupRoot
}

// orders are what the parent tells the process that becomes the program.
type orders struct {
	Kernel    kernel
	Profile   Profile
	Probe     bool // exit with status 0 instead of becoming the program
	Supervise bool // start the program as a child, and leave no descendant behind

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

func (s *Sandbox) orders(c *Command) (*orders, error) {
	o := &orders{
		Kernel: s.kernel, Profile: c.Profile, Path: c.Path, Argv: append([]string{c.Path}, c.Args...),
		Dir: c.Dir, Home: boxDir, Files: c.Files, Read: slices.Concat(c.needs(), []string{c.Path}, c.Read), Write: c.Write,
		CPUs: c.CPUs, Limits: c.Limits.or(defaults[c.Profile]), UID: -1, Root: os.Getuid() == 0,
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
	p, err := newProcess(o, stdin, stop)
	if err != nil {
		return Result{}, err
	}
	defer p.close()

	// The kernel kills the child when the thread that started it ends, so
	// that a killed parent leaves nothing behind; so keep the thread.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := time.Now()
	if err := p.start(s, o); err != nil {
		return Result{}, err
	}
	release := context.AfterFunc(ctx, p.kill)
	defer o.watch(s.kernel, p.cmd.Process.Pid, stop)()
	werr := p.cmd.Wait()
	release()
	res := p.result(o, werr, context.Cause(ctx))
	res.Wall = time.Since(start)
	if fault := p.fault(); fault != "" && res.Ended != Canceled && res.Ended != Wall {
		return res, errors.New("sandbox: " + fault)
	}
	return res, nil
}

// A process is the child on its way from start to result.
type process struct {
	cmd            *exec.Cmd
	stdout, stderr *capped
	orders, faults *os.File // our ends of the pipes
	theirs         []*os.File
	group          *cgroup
	supervised     bool
}

func newProcess(o *orders, stdin []byte, stop context.CancelCauseFunc) (*process, error) {
	ordersR, ordersW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	faultsR, faultsW, err := os.Pipe()
	if err != nil {
		ordersR.Close()
		ordersW.Close()
		return nil, err
	}
	p := &process{
		stdout: &capped{limit: o.Limits.Output, stop: stop}, stderr: &capped{limit: o.Limits.Output, stop: stop},
		orders: ordersW, faults: faultsR, theirs: []*os.File{ordersR, faultsW}, supervised: o.Supervise,
	}
	p.cmd = &exec.Cmd{
		Path: "/proc/self/exe", Args: []string{doorName}, Env: []string{},
		Stdout: p.stdout, Stderr: p.stderr, ExtraFiles: p.theirs,
		SysProcAttr: attributes(o), WaitDelay: 2 * time.Second,
	}
	if stdin != nil {
		p.cmd.Stdin = bytes.NewReader(stdin)
	}
	return p, nil
}

// attributes put the child into new namespaces. All identities map to
// themselves, as far as our own namespace knows them; capabilities in the new
// namespace are for building the walls and are dropped after that.
func attributes(o *orders) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Setpgid: true}
	if o.Supervise { // it has to live on to end the others, once it sees the orders pipe close
		return a
	}
	a.Pdeathsig = syscall.SIGKILL
	if !o.Kernel.Namespaces {
		return a
	}
	a.Cloneflags = syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID |
		syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	if o.Root {
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

// start starts the child and tells it its orders once it is in its cgroup.
func (p *process) start(s *Sandbox, o *orders) error {
	if err := p.cmd.Start(); err != nil {
		return fmt.Errorf("sandbox: start in new namespaces: %w", err)
	}
	for _, f := range p.theirs {
		f.Close()
	}
	p.theirs = nil
	if o.Profile != Run { // it has one process, which the resource limits bound, and a cgroup costs several milliseconds
		p.group = s.kernel.cgroup.enter(p.cmd.Process.Pid, o.Limits)
	}
	if err := json.NewEncoder(p.orders).Encode(o); err != nil && !errors.Is(err, syscall.EPIPE) {
		p.kill()
		p.cmd.Wait()
		return fmt.Errorf("sandbox: %w", err)
	}
	return nil
}

// kill ends everything that runs between the walls. Without a pid namespace
// a supervisor does it: its end of the orders pipe closing is its signal.
func (p *process) kill() {
	pid := p.cmd.Process.Pid
	if p.supervised {
		p.orders.Close()
		time.AfterFunc(time.Second, func() { syscall.Kill(-pid, syscall.SIGKILL) })
		return
	}
	syscall.Kill(-pid, syscall.SIGKILL)
	p.cmd.Process.Kill()
}

func (p *process) close() {
	for _, f := range append(p.theirs, p.orders, p.faults) {
		f.Close()
	}
	p.group.remove()
}

// fault is what went wrong before the program began.
func (p *process) fault() string {
	text, _ := io.ReadAll(io.LimitReader(p.faults, 4096))
	return strings.TrimSpace(string(text))
}

func (p *process) result(o *orders, werr error, cause error) Result {
	r := Result{Stdout: p.stdout.bytes(), Stderr: p.stderr.bytes(), Code: -1}
	st := p.cmd.ProcessState
	if st == nil {
		r.Ended = Canceled
		return r
	}
	r.User, r.System = st.UserTime(), st.SystemTime()
	if ru, ok := st.SysUsage().(*syscall.Rusage); ok {
		r.MaxRSS = int64(ru.Maxrss) * 1024
	}
	ws := st.Sys().(syscall.WaitStatus)
	switch {
	case ws.Signaled():
		r.Signal = ws.Signal().String()
	case p.supervised && ws.ExitStatus() > 128: // as shells report the end of a child
		r.Signal = syscall.Signal(ws.ExitStatus() - 128).String()
	default:
		r.Code = ws.ExitStatus()
	}
	if werr == nil || r.Code >= 0 && cause != errOutput && cause != errDisk {
		cause = nil // it ended by itself before the limit struck
	}
	r.Ended = ended(&r, o.Limits, cause)
	if p.group.killed() {
		r.Ended = Memory
	}
	return r
}
