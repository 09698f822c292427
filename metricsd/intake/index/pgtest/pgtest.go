//go:build unix

// Package pgtest gives tests a PostgreSQL server of their own, which they may kill.
package pgtest

import (
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a server on a Unix socket, with an empty database.
type Server struct {
	Address string // in libpq's form
	t       testing.TB
	dir     string
	bin     string
	attr    *syscall.SysProcAttr
	running *exec.Cmd
	ended   chan struct{} // closed when running has ended
}

// Start starts a server, which ends with the test. When the test runs as root, which PostgreSQL
// refuses, the server runs as the user postgres. Without PostgreSQL it skips the test.
func Start(t testing.TB) *Server {
	t.Helper()
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if len(found) == 0 {
		t.Skip("PostgreSQL is not installed (apt-get install postgresql): its index is not tested")
	}
	dir, err := os.MkdirTemp("", "metricsd-pg-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{
		Address: "host=" + dir + " user=metricsd dbname=postgres",
		t:       t, dir: dir, bin: filepath.Dir(found[len(found)-1]), attr: &syscall.SysProcAttr{},
	}
	if os.Getuid() == 0 {
		s.attr.Credential = unprivileged(t)
		if err := os.Chown(dir, int(s.attr.Credential.Uid), int(s.attr.Credential.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	initdb := s.command("initdb", "-D", s.data(), "-U", "metricsd", "-A", "trust", "-E", "UTF8", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bin, name), args...)
	c.SysProcAttr, c.Dir = s.attr, s.dir
	return c
}

// Run starts the server, also after a kill, and returns when it answers. A server ends by itself
// while children of the killed one are still there; Run then tries again.
func (s *Server) Run() {
	s.t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		if s.gone() {
			s.begin()
		}
		conn, err := pgx.Connect(context.Background(), s.Address)
		if err == nil {
			conn.Close(context.Background())
			return
		}
		if time.Now().After(deadline) {
			s.t.Fatal(err)
		}
	}
}

func (s *Server) begin() {
	s.t.Helper()
	cmd, ended := s.command("postgres", "-D", s.data(), "-k", s.dir, "-c", "listen_addresses="), make(chan struct{})
	if err := cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() {
		cmd.Wait()
		close(ended)
	}()
	s.running, s.ended = cmd, ended
}

// gone reports whether no server runs.
func (s *Server) gone() bool {
	if s.running == nil {
		return true
	}
	select {
	case <-s.ended:
		return true
	default:
		return false
	}
}

// Kill ends the server by SIGKILL. Its children end when they notice, in the middle of their work.
func (s *Server) Kill() {
	s.running.Process.Kill()
	<-s.ended
}

func unprivileged(t testing.TB) *syscall.Credential {
	u, err := user.Lookup("postgres")
	if err != nil {
		t.Skip("there is no user postgres to run the server as: its index is not tested")
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}
