package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// probe puts up all walls once around a process that then ends, and those that
// fail are left out from then on.
func probe(fallback bool) (*Sandbox, error) {
	s := &Sandbox{
		kernel: kernel{Namespaces: !fallback, Nobody: os.Getuid() == 0, Landlock: landlockABI(), Seccomp: hasSeccomp()},
	}
	// Try namespaces, and limits without them where there are none.
	err := errFallback
	if !fallback {
		err = s.try()
	}
	if err != nil {
		s.kernel.Namespaces = false
		s.missing = append(s.missing,
			fmt.Sprintf("no namespaces (%v): candidates see the names of other processes, and limits of memory and "+
				"processes hold for each process or user alone", err))
		if err := s.tryBare(); err != nil {
			return nil, err
		}
	}
	// Say what the kernel lacks, and what follows.
	if s.kernel.Landlock == 0 {
		why := "candidates may read and write what your user may"
		if s.kernel.Namespaces {
			why = "a second wall around files is missing"
		}
		s.missing = append(s.missing, "no Landlock (Linux 5.13 or newer, and lsm=landlock on its command line): "+why)
	}
	if !s.kernel.Seccomp {
		s.missing = append(s.missing,
			"no seccomp filter: candidates may use every system call, and sockets where there are no namespaces")
	}
	// Find control groups to limit memory and processes by.
	if !fallback {
		lines, _ := os.ReadFile("/proc/self/cgroup")
		s.kernel.cgroup = findCgroups("/sys/fs/cgroup", string(lines))
		s.kernel.cgroup.sweep()
	}
	return s, nil
}

var errFallback = errors.New("left out as asked")

// tryBare tries without namespaces, and without another identity where root
// may not take one: in containers that hold that right back.
func (s *Sandbox) tryBare() error {
	err := s.try()
	if err == nil || !s.kernel.Nobody {
		return err
	}
	s.kernel.Nobody = false
	if s.try() != nil {
		return err
	}
	s.missing = append(s.missing,
		fmt.Sprintf("no identity of their own (%v): candidates run as root, whose threads and processes the kernel "+
			"does not limit", err))
	return nil
}

func (s *Sandbox) try() error {
	// It takes milliseconds. A machine that is too busy for them must not lose its walls.
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	o, err := s.orders(&Command{Profile: Run, Path: "/proc/self/exe"})
	if err != nil {
		return err
	}
	defer o.removeHome()
	o.Probe = true
	o.Read = nil
	r, err := s.launch(ctx, o, nil)
	if err == nil && !r.OK() {
		err = fmt.Errorf("the probe ended with %s %d %s", r.Ended, r.Code, r.Signal)
	}
	return err
}

func hasSeccomp() bool {
	if auditArch[runtime.GOARCH] == 0 {
		return false
	}
	_, err := unix.PrctlRetInt(unix.PR_GET_SECCOMP, 0, 0, 0, 0)
	return err == nil
}
