package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/beagle-go/beagle/metricsd/load"
)

// kind is a kind of server to measure.
type kind struct {
	name, pgo, binary string
	args              []string
	baseline          string // the name of the kind that its ratio refers to
}

// build builds this tree and a commit, unless the binaries are in the directory keep.
func build(keep, scratch, commit, pgo string, twice bool) ([]kind, error) {
	old, now := filepath.Join(keep, "old-"+pgo), filepath.Join(keep, "new-"+pgo)
	if _, err := os.Stat(old); err != nil {
		tree := filepath.Join(scratch, "tree-"+pgo)
		if err := command("", "git", "worktree", "add", "--detach", tree, commit); err != nil {
			return nil, err
		}
		defer command("", "git", "worktree", "remove", "--force", tree)
		if err := command(filepath.Join(tree, "metricsd"), "go", "build", "-pgo="+pgo, "-o", old, "."); err != nil {
			return nil, err
		}
	}
	if _, err := os.Stat(now); err != nil {
		if err := command("", "go", "build", "-pgo="+pgo, "-o", now, "."); err != nil {
			return nil, err
		}
	}
	kinds := []kind{
		{"old", pgo, old, nil, "old"},
		{"plain", pgo, now, []string{"-listen.cache=0"}, "old"},
		{"fast", pgo, now, nil, "old"},
	}
	if twice {
		kinds = append(kinds, kind{"old again", pgo, old, nil, "old"}, kind{"fast again", pgo, now, nil, "fast"})
	}
	return kinds, nil
}

func command(dir, name string, args ...string) error {
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", c, err, out)
	}
	return nil
}

// server is a running agent.
type server struct {
	process *exec.Cmd
	conn    net.Conn
	port    string // of UDP, as /proc/net/udp writes it
	next    int    // the packet to send
	frame   []byte
}

// start starts an agent and connects to it.
func start(k kind, network, scratch string, i int) (*server, error) {
	address := filepath.Join(scratch, fmt.Sprintf("%s-%d", network, i))
	s := &server{}
	if network == "udp" {
		port := 18450 + i
		address, s.port = fmt.Sprint("127.0.0.1:", port), fmt.Sprintf(":%04X ", port)
	}
	args := []string{"agent", "-http=", "-listen.udp=", "-log.level=error", "-listen." + network + "=" + address}
	args = append(args, k.args...)
	s.process = exec.Command(k.binary, args...)
	s.process.Env = append(os.Environ(), "GOMAXPROCS=1")
	s.process.Stderr = os.Stderr
	if err := s.process.Start(); err != nil {
		return nil, err
	}
	time.Sleep(500 * time.Millisecond)
	var err error
	for range 100 {
		if s.conn, err = net.Dial(network, address); err == nil {
			return s, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	s.stop()
	return nil, err
}

func (s *server) stop() {
	if s.conn != nil {
		s.conn.Close()
	}
	s.process.Process.Kill()
	s.process.Wait()
}

// sample is the result of one turn.
type sample struct {
	messages float64       // messages that were taken
	dropped  float64       // the share that was lost
	cpu      time.Duration // of the server
}

// rest is the time that a server has for messages under way when its turn ends.
const rest = 30 * time.Millisecond

// turn sends for a while and returns the server's processor time.
func (s *server) turn(r row, packets *packets, d time.Duration) (sample, error) {
	drops := s.drops()
	began, err := s.cpu()
	if err != nil {
		return sample{}, err
	}
	sent, messages, start := 0, 0, time.Now()
	for time.Since(start) < d {
		for range 8 {
			p := packets.all[s.next%len(packets.all)]
			s.next++
			if err := s.send(r.network, p.data); err != nil {
				return sample{}, err
			}
			sent, messages = sent+1, messages+p.messages
		}
		if r.messagesPerSecond > 0 {
			due := time.Duration(messages) * time.Second / time.Duration(r.messagesPerSecond)
			time.Sleep(due - time.Since(start))
		}
	}
	time.Sleep(rest)
	ended, err := s.cpu()
	lost := float64(s.drops()-drops) / float64(sent)
	return sample{messages: float64(messages) * (1 - lost), dropped: lost, cpu: ended - began}, err
}

// warm sends until all contexts are known, and all lines.
func (s *server) warm(r row, packets *packets, turn time.Duration) error {
	for taken := 0.0; taken < 2*manyMessages; {
		sample, err := s.turn(r, packets, turn)
		if err != nil {
			return err
		}
		taken += sample.messages
	}
	return nil
}

func (s *server) send(network string, packet []byte) error {
	if network == "unix" {
		s.frame = binary.LittleEndian.AppendUint32(s.frame[:0], uint32(len(packet)))
		packet = append(s.frame, packet...)
		s.frame = packet
	}
	_, err := s.conn.Write(packet)
	return err
}

// cpu returns the processor time that the server has taken, as clock_getcpuclockid(3) has it.
func (s *server) cpu() (time.Duration, error) {
	const sched = 2
	var t unix.Timespec
	err := unix.ClockGettime(int32(^s.process.Process.Pid<<3|sched), &t)
	return time.Duration(t.Nano()), err
}

// drops returns how many datagrams the kernel has dropped.
func (s *server) drops() (n int) {
	if s.port == "" {
		return 0
	}
	table, _ := os.ReadFile("/proc/net/udp")
	for line := range strings.Lines(string(table)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasSuffix(f[1]+" ", s.port) {
			var drops int
			fmt.Sscan(f[len(f)-1], &drops)
			n += drops
		}
	}
	return n
}

// memory returns the server's resident memory in MB.
func (s *server) memory() (mb int) {
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.process.Process.Pid))
	if _, after, ok := strings.Cut(string(status), "VmRSS:"); ok {
		fmt.Sscan(after, &mb)
	}
	return mb >> 10
}

// packets are made beforehand, so that the sender costs little.
type packets struct{ all []packet }

type packet struct {
	data     []byte
	messages int
}

// manyMessages is more than a server learns by heart.
const manyMessages = 400_000

func packetsOf(r row) (*packets, error) {
	if r.shape == "random" {
		return randomTags(), nil
	}
	shape, err := load.Named(r.shape)
	if err != nil {
		return nil, err
	}
	p, g := new(packets), load.NewGenerator(shape, 0, 1)
	for g.Totals().Messages < manyMessages {
		data := bytes.Clone(g.Packet())
		p.all = append(p.all, packet{data, bytes.Count(data, []byte("\n")) + 1})
	}
	return p, nil
}

// randomTags returns messages with a tag that no other message has. The agent bounds the contexts
// that they make.
func randomTags() *packets {
	shape := load.Shape{Contexts: 3000, Packet: 7000} // and the bytes that the tags add
	p, g, n := new(packets), load.NewGenerator(shape, 0, 1), 0
	for g.Totals().Messages < 4*manyMessages {
		var data []byte
		for line := range bytes.SplitSeq(g.Packet(), []byte("\n")) {
			n++
			data = fmt.Appendf(append(data, line...), ",request:%016x\n", uint64(n)*0x9e3779b97f4a7c15)
		}
		p.all = append(p.all, packet{data, bytes.Count(data, []byte("\n"))})
	}
	return p
}
