//go:build linux

// Package disktest gives tests a small disk that they may fill.
package disktest

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// Mount mounts a file system of the given size until the test ends. Where that is not allowed, it
// skips the test.
func Mount(t testing.TB, bytes string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size="+bytes); err != nil {
		t.Skipf("a small file system cannot be mounted (%v; root may): a full disk is not tested", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// FillBut is [Fill], but leaves the given number of bytes free.
func FillBut(t testing.TB, dir string, left int64) (room func()) {
	t.Helper()
	kept := filepath.Join(dir, "left")
	if err := os.WriteFile(kept, make([]byte, left), 0o600); err != nil {
		t.Fatal(err)
	}
	room = Fill(t, dir)
	if err := os.Remove(kept); err != nil {
		t.Fatal(err)
	}
	return room
}

// Fill writes a file until the disk takes no more bytes. The returned function makes room again.
func Fill(t testing.TB, dir string) (room func()) {
	t.Helper()
	name := filepath.Join(dir, "filler")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for block := make([]byte, 64<<10); len(block) > 0; {
		if _, err = f.Write(block); err != nil {
			block = block[:len(block)/2]
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is to be full, but: %v", err)
	}
	return func() {
		if err := os.Remove(name); err != nil {
			t.Error(err)
		}
	}
}
