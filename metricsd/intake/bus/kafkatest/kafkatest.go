//go:build unix

// Package kafkatest gives tests an Apache Kafka broker of their own, which they may kill.
package kafkatest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/beagle-go/beagle/metricsd/freeport"
)

// Jars is the environment variable that names the directory of the broker's jars.
const Jars = "KAFKA_JARS"

// Server is a broker that is its own controller, on loopback.
type Server struct {
	Address string // host:port
	t       testing.TB
	dir     string
	running *exec.Cmd
	said    *bytes.Buffer
}

// patience is how long a broker may take to start on a busy machine.
const patience = 2 * time.Minute

// Start starts a broker, which ends with the test. Without jars it skips the test; `bench/kafka.sh`
// fetches them.
func Start(t testing.TB) *Server {
	t.Helper()
	if os.Getenv(Jars) == "" {
		t.Skip(Jars +
			" does not name a directory with the jars of Apache Kafka (metricsd/bench/kafka.sh fetches them): the " +
			"queue is not tried with a real broker")
	}
	dir, err := os.MkdirTemp("", "metricsd-kafka-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	s := &Server{Address: freePort(t), t: t, dir: dir}
	s.configure(freePort(t))
	s.format()
	if _, err := os.Stat(archive()); err != nil {
		archiving.Do(s.makeArchive)
	}
	s.Run()
	t.Cleanup(s.Kill)
	return s
}

// archive holds the broker's classes as Java has them after loading and verifying. It lies beside
// the jars, and saves a third of each start.
func archive() string { return filepath.Clean(os.Getenv(Jars)) + ".jsa" }

var archiving sync.Once // if that fails, once and not for each broker

// makeArchive makes the archive, from a broker that starts and ends. If that fails, brokers start
// without one.
func (s *Server) makeArchive() {
	s.t.Helper()
	made := fmt.Sprintf("%s.%d", archive(), os.Getpid()) // another process may make one too
	s.launch("-XX:ArchiveClassesAtExit=" + made)
	s.await()
	s.running.Process.Signal(syscall.SIGTERM)
	s.running.Wait()
	if err := os.Rename(made, archive()); err != nil {
		s.t.Logf("brokers start without an archive of their classes: %v\n%s", err, s.said)
	}
	if err := os.RemoveAll(s.data()); err != nil {
		s.t.Fatal(err)
	}
	s.format()
}

// formatted is an empty directory after Kafka's tool has formatted it. That takes a second, and is
// the same for all brokers.
var formatted struct {
	sync.Mutex
	files fstest.MapFS // nil before the first
}

// format makes the broker's directory.
func (s *Server) format() {
	s.t.Helper()
	formatted.Lock()
	defer formatted.Unlock()
	if formatted.files != nil {
		if err := os.CopyFS(s.data(), formatted.files); err != nil {
			s.t.Fatal(err)
		}
		return
	}
	tool := s.java("-Xshare:auto", "kafka.tools.StorageTool", "format", "-t", "bWV0cmljc2QtdGVzdC0wMQ", "-c", s.file())
	if out, err := tool.CombinedOutput(); err != nil {
		s.t.Fatalf("the broker's directory is not made: %v\n%s", err, out)
	}
	files := fstest.MapFS{}
	entries, err := os.ReadDir(s.data())
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(s.data(), e.Name()))
		if err != nil {
			s.t.Fatal(err)
		}
		files[e.Name()] = &fstest.MapFile{Data: text, Mode: 0o644}
	}
	formatted.files = files
}

func freePort(t testing.TB) string {
	t.Helper()
	address, err := freeport.Address("tcp")
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Copy kills the broker, keeps a copy of its disk, and starts it again.
func (s *Server) Copy() { s.offline(s.data(), filepath.Join(s.dir, "copy")) }

// Restore kills the broker, replaces its disk by the kept copy, as after a disaster, and starts it
// again. It can replace one directory alone.
func (s *Server) Restore(directory string) {
	s.offline(filepath.Join(s.dir, "copy", directory), filepath.Join(s.data(), directory))
}

func (s *Server) offline(from, to string) {
	s.t.Helper()
	s.Kill()
	if err := errors.Join(os.RemoveAll(to), os.CopyFS(to, os.DirFS(from))); err != nil {
		s.t.Fatal(err)
	}
	s.Run()
}

func (s *Server) file() string { return filepath.Join(s.dir, "server.properties") }

// configure writes the least that one broker needs. Sizes are Kafka's defaults. So are times,
// except for the waits of a killed broker that runs again: until the controller considers its
// predecessor gone (9 s), and until it stands for controller (1 to 2 s).
func (s *Server) configure(controller string) {
	text := fmt.Sprintf(`process.roles=broker,controller
node.id=1
controller.quorum.voters=1@%[2]s
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://%[1]s,CONTROLLER://%[2]s
advertised.listeners=PLAINTEXT://%[1]s
log.dirs=%[3]s
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
controller.quorum.election.timeout.ms=200
`, s.Address, controller, s.data())
	if err := os.WriteFile(s.file(), []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// java runs a program of Kafka's. share says what Java does about archives of classes.
func (s *Server) java(share string, args ...string) *exec.Cmd {
	jars := filepath.Join(os.Getenv(Jars), "*")
	c := exec.Command("java", append([]string{
		"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", share, "-cp", jars}, args...)...)
	c.Dir = s.dir
	return c
}

// Run runs the broker, also after a kill, and returns when it answers.
func (s *Server) Run() {
	s.t.Helper()
	s.Launch()
	s.await()
}

// await returns when the broker answers.
func (s *Server) await() {
	s.t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(s.Address))
	if err != nil {
		s.t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for client.Ping(ctx) != nil {
		if ctx.Err() != nil {
			s.Kill()
			s.t.Fatalf("the broker does not answer within %v\n%s", patience, s.said)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// Launch starts the broker and does not wait for it.
func (s *Server) Launch() {
	s.t.Helper()
	s.launch("-XX:SharedArchiveFile=" + archive())
}

func (s *Server) launch(share string) {
	s.t.Helper()
	s.running, s.said = s.java(share, "kafka.Kafka", s.file()), new(bytes.Buffer)
	s.running.Stdout, s.running.Stderr = s.said, s.said
	if err := s.running.Start(); err != nil {
		s.t.Fatalf("%v; is there a java?", err)
	}
}

// Kill ends the broker by SIGKILL.
func (s *Server) Kill() {
	s.running.Process.Kill()
	s.running.Wait()
}
