package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// newRoot replaces the root directory by a small tmpfs that shows the files in the orders. It opens
// sources before it mounts anything over them.
func newRoot(o *orders) error {
	if !o.Kernel.Namespaces {
		return nil
	}
	unix.Umask(0o022) // mount points must be passable for the identity that the program gets
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("private mounts: %w", err)
	}
	views, err := openViews(o)
	if err != nil {
		return err
	}
	if err := enterTmpfs(o.Limits.File); err != nil {
		return err
	}
	if err := makeBox(o); err != nil {
		return err
	}
	for _, v := range views {
		if err := v.attach(); err != nil {
			return fmt.Errorf("show %s: %w", v.path, err)
		}
	}
	if o.Profile != Run { // a container that hides parts of its own /proc may not mount another; then there is none
		if os.MkdirAll("proc", 0o555) == nil {
			_ = unix.Mount("proc", "proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
		}
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leave the old root: %w", err)
	}
	return os.Chdir("/")
}

// A view is a part of the host's tree, detached from it.
type view struct {
	fd    int
	path  string // where to show it, relative to the new root
	isDir bool
	write bool
}

// A viewer collects views, and leaves out what another one shows already.
type viewer struct {
	views []view
	shown map[string]bool // directories by their place in the new root
}

// openViews opens all that the sandbox shows. Devices and readable paths may be missing.
func openViews(o *orders) ([]view, error) {
	vs := viewer{shown: map[string]bool{}}
	for _, dev := range []string{"/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"} {
		if err := vs.add(dev, dev, true); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, p := range o.Read {
		if err := vs.addBoth(p, false); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	for _, p := range o.Write {
		if err := vs.addBoth(p, true); err != nil {
			return nil, err
		}
	}
	for _, f := range o.Files {
		if err := vs.add(f.Host, boxDir+"/"+f.Name, f.Write); err != nil {
			return nil, err
		}
	}
	return vs.views, nil
}

func (vs *viewer) add(host, at string, write bool) error {
	if !write && vs.covered(at) {
		return nil
	}
	v, err := openView(host, at, write)
	if err != nil {
		return fmt.Errorf("open %s: %w", host, err)
	}
	if v.isDir {
		vs.shown[filepath.Clean(at)] = true
	}
	vs.views = append(vs.views, v)
	return nil
}

func (vs *viewer) covered(at string) bool {
	for p := filepath.Clean(at); p != "/"; p = filepath.Dir(p) {
		if vs.shown[p] {
			return true
		}
	}
	return false
}

// addBoth shows a path under its own name and, when symbolic links lead to
// it, under its real name too.
func (vs *viewer) addBoth(p string, write bool) error {
	if err := vs.add(p, p, write); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(p); err == nil && real != filepath.Clean(p) {
		return vs.add(p, real, write)
	}
	return nil
}

// openView clones the mount of a path, without set-uid programs and devices, read-only unless
// write.
func openView(host, at string, write bool) (view, error) {
	fd, err := unix.OpenTree(unix.AT_FDCWD, host, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE)
	if err != nil {
		return view{}, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return view{}, err
	}
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_NOSUID}
	if !write {
		attr.Attr_set |= unix.MOUNT_ATTR_RDONLY
	}
	if st.Mode&unix.S_IFMT != unix.S_IFCHR {
		attr.Attr_set |= unix.MOUNT_ATTR_NODEV
	}
	if err := unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, &attr); err != nil {
		return view{}, err
	}
	rel, err := filepath.Rel("/", at)
	if err != nil {
		return view{}, err
	}
	return view{fd: fd, path: rel, isDir: st.Mode&unix.S_IFMT == unix.S_IFDIR, write: write}, nil
}

// enterTmpfs makes the new root and goes there. It mounts it over /, where nothing depends on the
// hidden files.
func enterTmpfs(size int64) error {
	fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	defer unix.Close(fd)
	options := [][2]string{{"mode", "0755"}, {"nr_inodes", "65536"}}
	if size > 0 {
		options = append(options, [2]string{"size", strconv.FormatInt(size, 10)})
	}
	for _, kv := range options {
		if err := unix.FsconfigSetString(fd, kv[0], kv[1]); err != nil {
			return fmt.Errorf("tmpfs %s: %w", kv[0], err)
		}
	}
	if err := unix.FsconfigCreate(fd); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	mnt, err := unix.Fsmount(fd, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	if err := unix.MoveMount(mnt, "", unix.AT_FDCWD, "/", unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("tmpfs: %w", err)
	}
	return unix.Fchdir(mnt)
}

// makeBox makes the work directory. The current directory is the new root.
func makeBox(o *orders) error {
	box, err := filepath.Rel("/", o.Home)
	if err != nil {
		return err
	}
	for _, dir := range []string{box, "tmp"} { // some programs insist on /tmp
		if err := os.Mkdir(dir, 0o700); err != nil {
			return err
		}
		if o.UID >= 0 {
			if err := os.Chown(dir, o.UID, o.UID); err != nil {
				return err
			}
		}
	}
	return nil
}

func (v view) attach() error {
	defer unix.Close(v.fd)
	if err := os.MkdirAll(filepath.Dir(v.path), 0o755); err != nil {
		return err
	}
	if err := v.mountPoint(); err != nil {
		return err
	}
	return unix.MoveMount(v.fd, "", unix.AT_FDCWD, v.path, unix.MOVE_MOUNT_F_EMPTY_PATH)
}

// mountPoint makes the mount point of the view. If an earlier view shows it already, there is
// nothing to make.
func (v view) mountPoint() error {
	if _, err := os.Lstat(v.path); err == nil {
		return nil
	}
	if v.isDir {
		return os.Mkdir(v.path, 0o755)
	}
	f, err := os.OpenFile(v.path, os.O_CREATE|os.O_RDONLY|os.O_EXCL, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

func ownedBy(info os.FileInfo, uid int) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == uid
}
