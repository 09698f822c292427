package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Landlock's rights on files, by version.
const (
	accessRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	accessMake = unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM
	accessWrite = accessRead | accessFile | accessMake | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REFER
)

// handled returns the rights that version abi can withhold, and the size of
// the ruleset structure that it takes.
func handled(abi int) (attr unix.LandlockRulesetAttr, size uintptr) {
	attr.Handled_access_fs, size = 1<<13-1, 8
	if abi >= 2 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		attr.Handled_access_net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 16
	}
	if abi >= 5 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		attr.Scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	return attr, size
}

// landlockABI asks the kernel for its version of Landlock; 0 means that it has none.
func landlockABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// landlock restricts this thread, which becomes the program. That is all it
// takes, so that the three system calls need no library.
func landlock(o *orders) error {
	abi := o.Kernel.Landlock
	if abi == 0 {
		return nil
	}
	attr, size := handled(abi)
	if o.Profile == Test && o.Kernel.Namespaces {
		attr.Handled_access_net = 0 // the loopback of its own network leads nowhere
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("ruleset: %w", errno)
	}
	defer unix.Close(int(fd))
	for _, r := range o.rules() {
		if err := addRule(int(fd), r.path, r.access&attr.Handled_access_fs); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("allow %s: %w", r.path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("restrict: %w", errno)
	}
	return nil
}

type rule struct {
	path   string
	access uint64
}

// rules allow reading the visible files and writing where the orders say.
func (o *orders) rules() []rule {
	home := uint64(accessWrite)
	if o.counted() {
		home &^= unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
	}
	rules := []rule{{o.Home, home}, {"/dev/null", accessFile}}
	for _, p := range o.Write {
		rules = append(rules, rule{p, accessWrite})
	}
	for _, f := range o.Files {
		path := o.Home + "/" + f.Name
		if f.Write {
			rules = append(rules, rule{path, accessFile})
		} else {
			rules = append(rules, rule{path, accessRead})
		}
	}
	if o.Kernel.Namespaces {
		return append(rules, rule{"/tmp", accessWrite}, rule{"/", accessRead})
	}
	for _, p := range append(o.Read, "/dev/zero", "/dev/random", "/dev/urandom") {
		rules = append(rules, rule{p, accessRead})
	}
	if o.Profile != Run {
		rules = append(rules, rule{"/proc", accessRead})
	}
	return rules
}

func addRule(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
