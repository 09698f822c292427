// Package attack holds hostile programs. The tests of package sandbox and the figures of the
// sandbox start themselves as one of them, between the walls.
package attack

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Main becomes a hostile program when this process was started as one: as
// "PROGRAM attack NAME ARGUMENT...". Otherwise it returns.
func Main() {
	if len(os.Args) > 2 && os.Args[1] == "attack" {
		if run, ok := attacks[os.Args[2]]; ok {
			run(os.Args[3:])
			os.Exit(0)
		}
	}
}

// attacks print their achievements. The result shows those that end the program.
var attacks = map[string]func(args []string){
	"network": attackNetwork,
	"read":    attackRead,
	"write":   attackWrite,
	"secret":  func([]string) { fmt.Println(os.Environ()) },
	"forks":   attackForks,
	"threads": attackThreads,
	"shared":  attackSharedMemory,
	"hidden":  attackHiddenFiles,
	"empty":   attackEmptyFiles,
	"escape":  attackEscape,
	"memory":  attackMemory,
	"loop": func([]string) {
		for i := 0; ; i++ {
			_ = i
		}
	},
	"sleep":    func([]string) { time.Sleep(time.Hour) },
	"bigfile":  attackBigFile,
	"files":    attackManyFiles,
	"others":   attackOthers,
	"syscalls": attackSyscalls,
	"escapes":  func([]string) { attackEscape(nil); attackForks(nil); time.Sleep(time.Hour) },
	"output": func([]string) {
		for {
			os.Stdout.Write(bytes.Repeat([]byte("x"), 1<<16))
		}
	},
	"crash": func([]string) { panic("boom") },
}

func report(what string, err error) { fmt.Printf("%s: %v\n", what, err) }

func attackNetwork(args []string) {
	_, err := net.DialTimeout("tcp", args[0], time.Second)
	report("tcp", err)
	c, err := net.Dial("udp", args[1])
	if err == nil {
		_, err = c.Write([]byte("stolen"))
	}
	report("udp", err)
	_, err = net.Dial("unix", args[2])
	report("abstract", err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		_, err = net.Dial("tcp", l.Addr().String())
	}
	report("loopback", err)
}

func attackRead(args []string) {
	for _, p := range args {
		_, err := os.ReadFile(p)
		report(p, err)
	}
}

func attackWrite(args []string) {
	for _, p := range args {
		report(p, os.WriteFile(p, []byte("owned"), 0o644))
	}
	exe, _ := os.Executable()
	report("own binary", os.WriteFile(exe, nil, 0o644))
}

// attackForks starts copies of itself that stay.
func attackForks(args []string) {
	n := 0
	for range 300 {
		if exec.Command(os.Args[0], "attack", "sleep").Start() == nil {
			n++
		}
	}
	fmt.Println("started:", n)
	stay(n == 300)
}

// stay is called with whether a program has got all that it wanted. Where nothing
// but a count ten times a second stops it, its gains must last until they are seen,
// on a loaded machine too.
func stay(all bool) {
	if all {
		time.Sleep(10 * time.Second)
	}
}

// attackEscape leaves the process group and loses its parent.
func attackEscape([]string) {
	cmd := exec.Command(os.Args[0], "attack", "sleep", "beagle-escaped")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	report("setsid", cmd.Start())
}

func attackMemory([]string) {
	var keep [][]byte
	for range 96 {
		b := make([]byte, 16<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		keep = append(keep, b)
	}
	fmt.Println("allocated:", len(keep)*16, "MB")
}

func attackBigFile([]string) {
	f, err := os.Create(filepath.Join(os.TempDir(), "big"))
	report("create", err)
	var n int
	for range 1024 {
		m, err := f.Write(make([]byte, 1<<20))
		if n += m; err != nil {
			break
		}
	}
	fmt.Println("wrote:", n>>20)
}

func attackManyFiles([]string) {
	n := 0
	for i := range 64 {
		if os.WriteFile(filepath.Join(os.TempDir(), strconv.Itoa(i)), make([]byte, 8<<20), 0o644) == nil {
			n += 8
		}
	}
	fmt.Println("wrote:", n)
	stay(n == 64*8)
}

func attackOthers(args []string) {
	pid, _ := strconv.Atoi(args[0])
	report("kill", syscall.Kill(pid, syscall.SIGTERM))
	report("tgkill", unix.Tgkill(pid, pid, syscall.SIGTERM))
	report("ptrace", syscall.PtraceAttach(pid))
	_, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	report("environ", err)
}

func attackSyscalls([]string) {
	for name, nr := range map[string]uintptr{
		"bpf": unix.SYS_BPF, "perf": unix.SYS_PERF_EVENT_OPEN, "unshare": unix.SYS_UNSHARE,
		"io_uring": unix.SYS_IO_URING_SETUP,
		"mount":    unix.SYS_MOUNT, "keyctl": unix.SYS_KEYCTL, "userfaultfd": unix.SYS_USERFAULTFD,
		"setns": unix.SYS_SETNS,
	} {
		_, _, errno := syscall.Syscall6(nr, 0, 0, 0, 0, 0, 0)
		report(name, errno)
	}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, unix.CLONE_NEWUSER|uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	report("clone", errno)
	report("setuid", syscall.Setuid(0))
}

// attackThreads locks threads of the system, which each takes one of its own.
func attackThreads([]string) {
	stop := make(chan struct{})
	up := make(chan struct{})
	for n := range 300 {
		go func() {
			runtime.LockOSThread()
			up <- struct{}{}
			<-stop
		}()
		<-up
		if n%50 == 49 {
			fmt.Println("threads:", n+1)
		}
	}
	stay(true)
}

// attackSharedMemory takes 1.5 GB that no limit of private memory counts.
func attackSharedMemory([]string) {
	n := 0
	for range 96 {
		b, err := syscall.Mmap(-1, 0, 16<<20, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED|syscall.MAP_ANON)
		if err != nil {
			report("mapping", err)
			break
		}
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		n += 16
	}
	fd, err := unix.MemfdCreate("x", 0)
	report("memfd", err)
	for range 96 - n/16 {
		if m, err := syscall.Write(fd, make([]byte, 16<<20)); err != nil || m < 16<<20 {
			break
		}
		n += 16
	}
	fmt.Println("shared:", n)
}

// attackHiddenFiles keeps files open that no directory shows any more.
func attackHiddenFiles([]string) {
	n := 0
	var open []*os.File
	for i := range 64 {
		path := filepath.Join(os.TempDir(), "hidden"+strconv.Itoa(i))
		f, err := os.OpenFile(os.TempDir(), unix.O_TMPFILE|os.O_RDWR, 0o600)
		if err != nil {
			if f, err = os.Create(path); err != nil {
				break
			}
			os.Remove(path)
		}
		open = append(open, f)
		for range 8 {
			m, err := f.Write(make([]byte, 1<<20))
			if n += m; err != nil {
				break
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	fmt.Println("wrote:", n>>20)
	stay(n == 64*8<<20)
	runtime.KeepAlive(open)
}

// attackEmptyFiles makes files that hold nothing.
func attackEmptyFiles([]string) {
	n := 0
	for i := range 200_000 {
		f, err := os.Create(filepath.Join(os.TempDir(), "e"+strconv.Itoa(i)))
		if err != nil {
			break
		}
		f.Close()
		n++
	}
	fmt.Println("made:", n)
}
