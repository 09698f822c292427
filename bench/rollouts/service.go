//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/beagle-go/beagle/internal/rollout/pilot"
)

// The services: metricsd's agent reads datagrams, its intake what agents post.
const (
	agent  = "agent"
	intake = "intake"
)

// A service is a metricsd that runs under load.
type service struct {
	cmd   *exec.Cmd
	dir   string // of its sockets, whose paths must be short, and of its files
	http  string
	probe string
	load  *exec.Cmd
	end   context.CancelFunc
	posts sync.WaitGroup
}

// serve starts a service and its load.
func (l *lab) serve(ctx context.Context, kind, binary string) (_ *service, err error) {
	// Stop everything if a step fails.
	ctx, end := context.WithCancel(ctx)
	s := &service{end: end}
	defer func() {
		if err != nil {
			s.stop()
		}
	}()
	// Make a directory, and choose the addresses.
	if s.dir, err = os.MkdirTemp("", "rollouts"); err != nil {
		return nil, err
	}
	s.probe = filepath.Join(s.dir, "probe")
	if s.http, err = freePort(); err != nil {
		return nil, err
	}
	socket := filepath.Join(s.dir, "load")
	// Start the service.
	args := map[string][]string{
		agent: {"agent", "-listen.udp=", "-listen.unixgram=" + socket, "-http=" + s.http, "-listen.cache=0"},
		intake: {"intake", "-intake.http=" + s.http, "-intake.queue.dir=" + filepath.Join(s.dir, "queue"),
			"-intake.index.dir=" + filepath.Join(s.dir, "index"), "-intake.verbatim=" + verbatimKey},
	}[kind]
	log, err := os.Create(l.file("logs", kind+".log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(binary, args...)
	s.cmd.Env = append(l.env(l.tree()), "BEAGLE_PROBE_SOCKET="+s.probe, "BEAGLE_PROBE_RAW=1")
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.cmd = nil
		return nil, err
	}
	// Wait until it answers.
	if err := s.healthy(ctx); err != nil {
		return nil, fmt.Errorf("%w: %s", err, l.lastWords(kind))
	}
	// Start its load.
	if kind == intake {
		s.postAll(ctx)
		return s, nil
	}
	load := exec.Command(l.file("bin", "metricsd"), "load", "-shape", "steady", "-rate", "0", "-network", "unixgram",
		"-address", socket, "-for", "1h")
	if err := load.Start(); err != nil {
		return nil, err
	}
	s.load = load
	return s, nil
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// healthy waits until the service takes requests.
func (s *service) healthy(ctx context.Context) error {
	for range 300 {
		r, err := http.Get("http://" + s.http + "/healthz")
		if err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return nil
			}
		}
		if err := pilot.Pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return fmt.Errorf("metricsd does not get healthy within half a minute")
}

// stop ends the load and the service.
func (s *service) stop() {
	s.end()
	s.posts.Wait()
	for _, c := range []*exec.Cmd{s.load, s.cmd} {
		if c != nil && c.Process != nil {
			_ = c.Process.Signal(os.Interrupt) // it may have ended already
			_ = c.Wait()
		}
	}
	os.RemoveAll(s.dir)
}

// Clients of the intake, and their requests.
const (
	clients  = 16
	bodies   = 256
	eachBody = 6 // series
	eachTags = 16
)

// postAll keeps clients posting until the service stops. A client waits for its answer, so that
// the service sets the pace.
func (s *service) postAll(ctx context.Context) {
	rng := rand.New(rand.NewPCG(1, 2))
	var all [][]byte
	for range bodies {
		all = append(all, body(rng))
	}
	for c := range clients {
		s.posts.Go(func() {
			for i := c; ctx.Err() == nil; i++ {
				r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.http+"/api/v2/series",
					bytes.NewReader(all[i%len(all)]))
				if err != nil {
					return
				}
				answer, err := http.DefaultClient.Do(r)
				if err != nil {
					continue
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}
		})
	}
}

// verbatimKey is a key of which the intake keeps values unchanged.
const verbatimKey = "commit message"

// Tags as people write them who do not know the form that storage wants.
var (
	keys   = []string{"Team Name", "env", "Cost Center", "Kube Namespace", "Service Version", "owner", "Region & Zone"}
	values = []string{"Payments API", "Web/Frontend + CDN", "eu-west-1 (b)", "Prod, blue", "v%d.4.%d+build", "R&D",
		"Jane Doe <jane%d@example.com>", "Caché %d", "checkout service #%d", "#%d-%d night run"}
	messages = []string{"fix: don't retry on 4%d, see #%d", "Merge branch 'release %d.%d'", "bump a, b and c | %d",
		"perf: skip the second look-up in get_user_%d"}
)

// body returns a request of the intake in the protocol of version 2.
func body(rng *rand.Rand) (b []byte) {
	fill := func(text string) string {
		n := bytes.Count([]byte(text), []byte("%d"))
		args := make([]any, n)
		for i := range args {
			args[i] = rng.IntN(30)
		}
		return fmt.Sprintf(text, args...)
	}
	for i := range eachBody {
		var s []byte
		s = message(s, 1, message(message(nil, 1, []byte("host")), 2, fmt.Appendf(nil, "web-%d", rng.IntN(40))))
		s = message(s, 2, fmt.Appendf(nil, "shop.orders.count_%d", i))
		for t := range eachTags {
			tag := keys[rng.IntN(len(keys))] + ":" + fill(values[rng.IntN(len(values))])
			if t%3 == 0 {
				tag = "Commit Message:" + fill(messages[rng.IntN(len(messages))])
			}
			s = message(s, 3, []byte(tag))
		}
		point := protowire.AppendTag(nil, 1, protowire.Fixed64Type)
		point = binary.LittleEndian.AppendUint64(point, math.Float64bits(rng.Float64()))
		point = protowire.AppendTag(point, 2, protowire.VarintType)
		point = protowire.AppendVarint(point, uint64(time.Now().Unix()))
		b = message(b, 1, message(s, 4, point))
	}
	return b
}

// message appends a field that holds bytes.
func message(b []byte, field protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), content)
}
