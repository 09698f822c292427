package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/beagle-go/beagle/metricsd/aggregate"
	"github.com/beagle-go/beagle/metricsd/contextkey"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
	"github.com/beagle-go/beagle/metricsd/listen"
	"github.com/beagle-go/beagle/metricsd/load"
)

// A keyer makes the key of a message's context and removes duplicates from its tags. It is for one
// goroutine.
type keyer func(name, host string, tags []string, hashes []uint64) (uint64, []string)

// keyers are the agent's keys, old and new.
var keyers = []struct {
	name string
	make func() keyer
}{
	{"sort", func() keyer {
		return func(name, host string, tags []string, _ []uint64) (uint64, []string) {
			return sortedKey(name, host, tags)
		}
	}},
	{"set", func() keyer {
		g := new(agentKeys)
		return func(name, host string, tags []string, _ []uint64) (uint64, []string) {
			return g.key(name, host, tags), tags
		}
	}},
	{"metricsd", func() keyer { return contextkey.NewGenerator(seed).KeyHashed }},
}

// agent runs an agent of metricsd's own parts with each of the keys in turn, and prints its share
// of a core. The load comes over UDP, has 1,000 contexts with ten tags, and is packed into
// datagrams of 1432 bytes.
func agent(o *options, args []string) error {
	rate := o.flags.Int("rate", 200_000, "messages a second")
	seconds := o.flags.Float64("seconds", 4, "how long each is measured in a turn")
	flames := o.flags.String("flames", "",
		"a directory for flame graphs of each key, from a turn more that is five times as long")
	serve := o.flags.String("serve", "", "be the agent with this key; the command starts these itself")
	profile := o.flags.String("profile", "", "a file for the profile of -serve")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	// The agent is a process of its own, so that its processor time excludes the sender's.
	if *serve != "" {
		return serveAgent(o.out, *serve, *profile)
	}
	// The first key comes again at the end, as a measure of the noise.
	names := []string{keyers[0].name, keyers[1].name, keyers[2].name, keyers[0].name}
	all, cores := make([][]float64, len(names)), make([][]float64, len(names))
	reached := make([][]float64, len(names))
	for turn := range o.turns {
		for i := range names {
			w := (i + turn) % len(names)
			// Each key comes equally often, and in each place of a turn.
			r, err := agentTurn(names[w], "", *rate, *seconds)
			if err != nil {
				return err
			}
			all[w] = append(all[w], r.cpu/r.taken)
			cores[w] = append(cores[w], r.cpu/r.taken*float64(*rate)/1e9)
			reached[w] = append(reached[w], r.taken/r.seconds)
		}
	}
	t := &table{
		Name: fmt.Sprintf("The agent at %d messages/s", *rate),
		Columns: []string{"key", "ns of processor time a message", "cores at that rate", "share of sorting",
			"messages/s"},
	}
	// The last row repeats the first key; name it after its purpose.
	for i, name := range append(names[:3:3], again) {
		t.add(name, median(all[i]), median(cores[i]), ratioOf(all[i], all[0]), median(reached[i]))
	}
	// Profiles cost time, so they have turns of their own that no row counts.
	if *flames != "" {
		for _, name := range names[:3] {
			if err := flameTurn(name, *flames, *rate, 5**seconds); err != nil {
				return err
			}
		}
	}
	return o.print(t)
}

func flameTurn(name, dir string, rate int, seconds float64) error {
	profile := filepath.Join(os.TempDir(), "posts-"+name+".pprof")
	defer os.Remove(profile)
	if _, err := agentTurn(name, profile, rate, seconds); err != nil {
		return err
	}
	return flame(profile, filepath.Join(dir, "agent-key-"+name+".svg"), "the agent, key by "+name)
}

// agentResult is the result of a turn.
type agentResult struct{ cpu, taken, seconds float64 }

// agentTurn starts an agent with a key, sends to it, and asks for its processor time. A turn counts
// only if every message arrived: an agent that dropped some had less to do.
func agentTurn(key, profile string, rate int, seconds float64) (r agentResult, err error) {
	program, err := os.Executable()
	if err != nil {
		return r, err
	}
	c := exec.Command(program, "agent", "-serve", key, "-profile", profile)
	c.Stderr = os.Stderr
	stop, err := c.StdinPipe()
	if err != nil {
		return r, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := c.Start(); err != nil {
		return r, err
	}
	start := time.Now()
	// Deferred in this order, the pipe closes before the wait: its end is what tells the agent to
	// stop.
	defer c.Wait()
	defer stop.Close()
	// The first line names the address, so that nothing guesses a port or waits for a start.
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		return r, errors.New("the agent did not say where it listens")
	}
	sent, err := send(strings.TrimSpace(lines.Text()), rate, int(float64(rate)*seconds))
	if err != nil {
		return r, err
	}
	// After the end of its input the agent reads what its socket holds and prints its counts.
	stop.Close()
	var told struct{ Messages, Contexts, Nanoseconds int }
	if !lines.Scan() {
		return r, errors.New("the agent did not say what it took")
	}
	if err := json.Unmarshal(lines.Bytes(), &told); err != nil {
		return r, err
	}
	// Use a thousand contexts: with fewer, two lists of tags would share a key.
	if told.Contexts != 1000 || told.Messages != sent {
		return r, fmt.Errorf("the agent took %d messages of %d, and has %d contexts of 1000", told.Messages, sent,
			told.Contexts)
	}
	return agentResult{float64(told.Nanoseconds), float64(sent), time.Since(start).Seconds()}, nil
}

// send sends n messages, at most rate in a second, and returns their number. It sends as many at
// once as the agent's socket has room for, and waits until the agent has taken them: on a busy
// machine a steady stream would measure the kernel's drops.
func send(address string, rate, n int) (int, error) {
	const burst = 2000 // datagrams
	conn, err := net.Dial("udp", address)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	g := load.NewGenerator(load.Shape{Contexts: 1000, Packet: 1432}, 0, 1)
	for start := time.Now(); g.Totals().Messages < n; {
		for range burst {
			if _, err := conn.Write(g.Packet()); err != nil {
				return 0, err
			}
		}
		due := time.Duration(float64(g.Totals().Messages) / float64(rate) * float64(time.Second))
		time.Sleep(due - time.Since(start))
		if err := untilTaken(address); err != nil {
			return 0, err
		}
	}
	return g.Totals().Messages, nil
}

// untilTaken waits until the socket at an address holds nothing.
func untilTaken(address string) error {
	_, text, _ := strings.Cut(address, ":")
	port, err := strconv.Atoi(text)
	if err != nil {
		return err
	}
	local := fmt.Sprintf(":%04X", port)
	for range 10_000 {
		sockets, err := os.ReadFile("/proc/net/udp")
		if err != nil {
			return err
		}
		waits := false
		for line := range strings.Lines(string(sockets)) {
			if f := strings.Fields(line); len(f) > 4 && strings.HasSuffix(f[1], local) {
				waits = !strings.HasSuffix(f[4], ":00000000")
			}
		}
		if !waits {
			return nil
		}
		time.Sleep(2 * time.Millisecond)
	}
	return errors.New("the agent does not take what it is sent")
}

// serveAgent runs an agent until its standard input ends.
func serveAgent(out io.Writer, key, profile string) error {
	i := slices.IndexFunc(keyers, func(k struct {
		name string
		make func() keyer
	}) bool {
		return k.name == key
	})
	if i < 0 {
		return fmt.Errorf("no key %q; there are sort, set and metricsd", key)
	}
	// The buffer is large, so that a slow key loses no datagrams.
	socket, err := listen.Open("udp", "127.0.0.1:0", listen.Options{ReceiveBuffer: 16 << 20})
	if err != nil {
		return err
	}
	if profile != "" {
		f, err := os.Create(profile)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	a := &keyedAgent{aggregator: aggregate.New(2, aggregate.DefaultLimits()), key: keyers[i].make(),
		parser: dogstatsd.NewParser(0, seed)}
	// Time from here on: making the key and the aggregator is no part of a message.
	ready := processor()
	received := make(chan struct{})
	go func() {
		defer close(received)
		a.receive(socket)
	}()
	fmt.Fprintln(out, socket.Address())
	// The parent closes the input to end. Stop lets the receiver read what the kernel holds, so all
	// messages count before the time is read.
	io.Copy(io.Discard, os.Stdin)
	socket.Stop()
	<-received
	took := processor() - ready
	return errors.Join(socket.Close(), json.NewEncoder(out).Encode(map[string]any{
		"Messages": a.messages.Load(), "Contexts": a.aggregator.Stats().Contexts,
		"Nanoseconds": took.Nanoseconds(),
	}))
}

// A keyedAgent is the way of a message through metricsd's agent, except for the key.
type keyedAgent struct {
	aggregator *aggregate.Aggregator
	parser     *dogstatsd.Parser
	key        keyer
	metric     dogstatsd.Metric
	sample     aggregate.Sample
	messages   atomic.Int64
}

// receive takes datagrams in batches, as the service's receivers do, until the socket is stopped
// and empty.
func (a *keyedAgent) receive(s *listen.Socket) {
	batch := listen.NewBatch(16, 64<<10)
	for {
		n, err := s.Receive(batch)
		if err != nil { // it is stopped, but still holds some
			if n, err = s.Queued(batch); n == 0 || err != nil {
				return
			}
		}
		now := time.Now().Unix()
		for i := range n {
			datagram, _ := batch.Datagram(i)
			for line := range dogstatsd.Lines(datagram) {
				a.take(line, now)
			}
		}
	}
}

func (a *keyedAgent) take(line []byte, now int64) {
	m := &a.metric
	if a.parser.Metric(line, m) != nil {
		return
	}
	a.messages.Add(1)
	key, tags := a.key(m.Name, "web-1", m.Tags, a.parser.TagHashes())
	a.sample = aggregate.Sample{
		Key:     key,
		Context: aggregate.Context{Name: m.Name, Host: "web-1", Tags: tags, Type: m.Type, Origin: "udp"},
		Values:  m.Values, SetValue: m.SetValue, Rate: m.Rate, Timestamp: m.Timestamp,
	}
	a.aggregator.Add(&a.sample, now)
}
