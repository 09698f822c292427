//go:build unix

package capture

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// outsideDir returns the directory for sockets of uprobes, whose paths must be short. No other user
// may have made it: it holds tokens.
func outsideDir() (string, error) {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("beagle-uprobe-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !os.IsExist(err) {
		return "", err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	own, ok := st.Sys().(*syscall.Stat_t)
	if !st.IsDir() || !ok || int(own.Uid) != os.Getuid() || st.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s is not a directory of yours alone: remove it", dir)
	}
	return dir, nil
}
