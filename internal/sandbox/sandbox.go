package sandbox

import (
	"errors"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"
)

// A Profile is the kind of a program, which decides its rights.
type Profile int

const (
	// Run is for a binary that contains candidates: it sees its own file,
	// what the command names and a work directory, and may start threads but
	// no process.
	Run Profile = iota + 1
	// Fuzz is Run for a binary that starts itself anew or reads /proc: the
	// race detector.
	Fuzz
	// Build is for the Go toolchain, which runs no candidate: the system's
	// directories are visible, and commands name caches to write to.
	Build
	// Test is for the user's own tests: as Build, with a loopback interface
	// that leads nowhere else.
	Test
)

var profileNames = [...]string{"", "run", "fuzz", "build", "test"}

func (p Profile) String() string { return profileNames[p] }

// Limits bound a program. A zero field means the profile's default; a negative one means no limit.
type Limits struct {
	Wall time.Duration // until all is killed
	CPU  time.Duration // processor time of each process
	// bytes of private memory of each process (RLIMIT_DATA); below 128 MB Go programs do not start,
	// and race-detector builds need -1
	Data  int64
	Procs int // threads and processes together
	// bytes of a file, and of all files in the work directory; in Run and Fuzz also of all that is
	// added to directories given to write to
	File   int64
	Files  int   // open files of each process
	Output int64 // bytes of standard output, and of standard error
}

const mb = 1 << 20

var defaults = map[Profile]Limits{
	Run: {Wall: 10 * time.Second, CPU: 40 * time.Second, Data: 1024 * mb, Procs: 64, File: 64 * mb, Files: 64,
		Output: 16 * mb},
	Fuzz: {Wall: time.Minute, CPU: 5 * time.Minute, Data: 2048 * mb, Procs: 128, File: 256 * mb, Files: 256,
		Output: 16 * mb},
	Build: {Wall: 5 * time.Minute, CPU: 10 * time.Minute, Data: -1, Procs: 1024, File: 2048 * mb, Files: 4096,
		Output: 64 * mb},
	Test: {Wall: 5 * time.Minute, CPU: 10 * time.Minute, Data: 4096 * mb, Procs: 1024, File: 1024 * mb, Files: 4096,
		Output: 64 * mb},
}

// withDefaults fills the zero fields of l from d.
func (l Limits) withDefaults(d Limits) Limits {
	return Limits{
		Wall: pick(l.Wall, d.Wall), CPU: pick(l.CPU, d.CPU), Data: pick(l.Data, d.Data),
		Procs: pick(l.Procs, d.Procs), File: pick(l.File, d.File), Files: pick(l.Files, d.Files),
		Output: pick(l.Output, d.Output),
	}
}

func pick[T comparable](a, b T) T {
	var zero T
	if a == zero {
		return b
	}
	return a
}

// A File is put into the work directory under its Name.
type File struct {
	Name  string // relative, without directories
	Host  string // absolute path of an existing file
	Write bool   // the program may change the host's file
}

// A Command is a program to run. It starts in a fresh, empty, writable work
// directory, which is also its HOME and TMPDIR.
type Command struct {
	Profile Profile
	Path    string   // executable, absolute
	Machine string   // GOARCH of the program; "" is this program's own
	Args    []string // without the program's name
	Env     []string // in addition to the profile's; the last of two equal names wins
	Dir     string   // start here instead of the work directory; must be visible
	Stdin   []byte

	Files []File   // in the work directory
	Read  []string // host paths visible at the same path, read-only; those that do not exist are left out
	Write []string // host directories visible at the same path, writable

	CPUs   []int  // processors to run on; nil for all
	Limits Limits // zero fields: the profile's
}

// How a program ended.
const (
	Exited   = "exit"     // by itself, with Code
	Signaled = "signal"   // by a signal that none of the limits explains
	Wall     = "wall"     // wall time used up
	CPU      = "cpu"      // processor time used up
	Disk     = "disk"     // wrote more than the limit, in all files together
	Tasks    = "tasks"    // had more threads and processes than the limit
	Memory   = "memory"   // out of memory, as the Go runtime or the kernel said
	Output   = "output"   // printed more than the limit
	Canceled = "canceled" // the context ended
)

// A Result is the end of a program. A program that failed is a result, not an error.
type Result struct {
	Ended  string // one of the constants above
	Code   int    // exit status; -1 when killed
	Signal string // "killed", "segmentation fault", ...; empty when it exited
	Stdout []byte
	Stderr []byte
	Wall   time.Duration
	User   time.Duration
	System time.Duration
	MaxRSS int64 // bytes
}

// uncountedTime is the processor time of programs that are children of another process than this
// one.
var uncountedTime atomic.Int64

// UncountedTime returns the processor time of all programs that ended in sandboxes and that the
// system does not count among this process's children.
func UncountedTime() time.Duration { return time.Duration(uncountedTime.Load()) }

// OK reports whether the program ended by itself with status 0.
func (r *Result) OK() bool { return r.Ended == Exited && r.Code == 0 }

// Options say how to make a Sandbox.
type Options struct {
	Require  bool // an error instead of missing walls
	Fallback bool // leave namespaces and control groups out, as on a system that refuses them
}

// A Sandbox runs commands. Its only state is the result of its probe, and several goroutines may
// use it at once.
type Sandbox struct {
	kernel  kernel
	missing []string
}

// ErrDoor says that a program forgot to call Main.
var ErrDoor = errors.New("sandbox: the program must call sandbox.Main first in main and TestMain")

var doorOpen bool // Main was called in this process

// New finds out which walls the system offers by putting them up once.
func New(o Options) (*Sandbox, error) {
	if !doorOpen {
		return nil, ErrDoor
	}
	s, err := probe(o.Fallback)
	if err != nil {
		return nil, err
	}
	if o.Require && len(s.missing) > 0 {
		return nil,
			errors.New("sandbox: this system does not offer all walls, and they are required:\n" +
				strings.Join(s.missing, "\n"))
	}
	return s, nil
}

// MissingWalls lists the walls that this system does not offer, a line each with
// its consequence. Callers print them.
func (s *Sandbox) MissingWalls() []string { return s.missing }

// explainEnd explains the end of a program that its limits or the context may
// have caused.
func explainEnd(r *Result, l Limits, cause error) string {
	switch {
	case errors.Is(cause, errOutput):
		return Output
	case errors.Is(cause, errWall):
		return Wall
	case errors.Is(cause, errDisk):
		return Disk
	case errors.Is(cause, errTasks):
		return Tasks
	case cause != nil:
		return Canceled
	case outOfMemory(r):
		return Memory
	// the limit counts whole ticks of the clock, also those that a starved program had a part of
	case r.Signal == "killed" && l.CPU > 0 && r.User+r.System >= l.CPU/2:
		return CPU
	case r.Signal != "":
		return Signaled
	}
	return Exited
}

// outOfMemory looks for the Go runtime's messages; it has several, for memory and for threads.
func outOfMemory(r *Result) bool {
	if r.OK() {
		return false
	}
	for _, s := range []string{"out of memory", "cannot allocate memory", "failed to create new OS thread"} {
		if strings.Contains(string(r.Stderr), s) {
			return true
		}
	}
	return false
}

func lookProgram(c *Command) error {
	if _, err := exec.LookPath(c.Path); err != nil {
		return err
	}
	return nil
}
