package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/metricsd/load"
)

const (
	fillUDP   = "127.0.0.1:28525"
	fillAgent = "127.0.0.1:29525"
	fillDoor  = "127.0.0.1:29526"
)

// fill runs `metricsd all` and plots how full each of its queues is: first under messages over UDP,
// then under requests as well, as fast as the intake takes them, then at rest.
func fill(o *options, args []string) error {
	program := o.flags.String("metricsd", "metricsd", "the program")
	plot := o.flags.String("plot", "queues.svg", "the plot")
	phase := o.flags.Duration("phase", 12*time.Second, "length of each of the three phases")
	if err := o.flags.Parse(args); err != nil {
		return err
	}
	// Run the released program with small queues: a bound that no queue reaches shows nothing.
	service, dir, err := startAll(*program)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	defer func() {
		service.Process.Signal(syscall.SIGTERM)
		service.Wait()
	}()
	s := &samples{start: time.Now(), phase: *phase, queues: map[string]*queueFill{}}
	ctx, cancel := context.WithTimeout(context.Background(), 3**phase)
	defer cancel()
	// Both loads run at once from here, and each keeps to its phases by the clock: messages in the
	// first two, requests in the second only.
	var posted, refused atomic.Int64
	var busy sync.WaitGroup
	busy.Go(func() {
		sending, stop := context.WithTimeout(ctx, 2**phase)
		defer stop()
		shape := load.Shape{Contexts: 1000, Senders: 1, BytesPerSecond: 10 << 20, Packet: 1432}
		load.Send(sending, shape, "udp", fillUDP, 1)
	})
	for sender := range 8 {
		busy.Go(func() { postFrom(ctx, *phase, sender, &posted, &refused) })
	}
	// The pages of the agent and of the intake are read until the third phase ends.
	failed := make(chan error, 2)
	for _, address := range []string{fillAgent, fillDoor} { // each on its own: one may be slow to answer
		go func() { failed <- s.watch(ctx, address) }()
	}
	if err := errors.Join(<-failed, <-failed); err != nil {
		return err
	}
	busy.Wait()
	// A plot of an intake that refused all requests shows nothing.
	if posted.Load() == 0 {
		return errors.New("the intake took no request")
	}
	t := s.table()
	t.Notes = []string{fmt.Sprintf("%d requests of 1,000 series were accepted, %d must be sent again.", posted.Load(),
		refused.Load())}
	return errors.Join(o.print(t), os.WriteFile(*plot, s.draw(), 0o644))
}

// startAll starts the service in a directory of its own and waits until it answers.
func startAll(program string) (*exec.Cmd, string, error) {
	// The path must be valid in the directory that the service runs in.
	program, err := exec.LookPath(program)
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%w; build metricsd and name it with -metricsd", err)
	}
	// Queues are files, so each run begins with empty ones.
	dir, err := os.MkdirTemp("", "posts")
	if err != nil {
		return nil, "", err
	}
	c := exec.Command(program, "all", "-listen.udp", fillUDP, "-http", fillAgent, "-intake.http", fillDoor,
		"-log.level", "error", "-datadog.queue_bytes", "67108864", "-intake.queue.bytes", "268435456")
	c.Dir, c.Stderr = dir, os.Stderr
	if err := c.Start(); err != nil {
		return nil, "", err
	}
	// The door reports healthy only after the queue and the index do.
	for range 300 {
		if r, err := http.Get("http://" + fillDoor + "/healthz"); err == nil {
			r.Body.Close()
			if r.StatusCode == http.StatusOK {
				return c, dir, nil
			}
		}
		time.Sleep(100 * time.Millisecond)
	}
	c.Process.Kill()
	return nil, "", errors.New("metricsd all does not answer")
}

// postFrom posts series in the second phase, one request after the other, a tenth with new names.
func postFrom(ctx context.Context, phase time.Duration, sender int, posted, refused *atomic.Int64) {
	// The first phase is messages alone.
	select {
	case <-ctx.Done():
		return
	case <-time.After(phase):
	}
	// Nine tenths of the names repeat: the intake depends on known names, and new ones are its
	// expensive case.
	for end, n := time.Now().Add(phase), 0; time.Now().Before(end); n++ {
		var body bytes.Buffer
		body.WriteString(`{"series":[`)
		for i := range 1000 {
			if i > 0 {
				body.WriteByte(',')
			}
			of := i
			if i%10 == 0 {
				of = n*1000 + i
			}
			fmt.Fprintf(&body, `{"metric":"posted.%d.request.latency%d","host":"web-%d","tags":["env:prod","pod:%d",`+
				`"team:checkout"],"points":[[%d,1.5]]}`, sender, of, of%500, of%5000, time.Now().Unix())
		}
		body.WriteString(`]}`)
		// The bound exists to refuse: the client waits for a short time, and sends the next
		// request.
		r, err := http.Post("http://"+fillDoor+"/api/v1/series", "application/json", &body)
		if err != nil {
			continue
		}
		r.Body.Close()
		if r.StatusCode == http.StatusAccepted {
			posted.Add(1)
			continue
		}
		refused.Add(1)
		time.Sleep(50 * time.Millisecond)
	}
}

// A queueFill is what the pages said of one queue.
type queueFill struct {
	bound  float64 // 0 for none
	at     []time.Duration
	filled []float64
}

// samples are what the pages said of all queues.
type samples struct {
	start  time.Time
	phase  time.Duration
	mu     sync.Mutex
	queues map[string]*queueFill
}

// watch asks the agent or the intake repeatedly.
func (s *samples) watch(ctx context.Context, address string) error {
	for ctx.Err() == nil {
		values := map[string]float64{}
		if err := scrape(address, values); err != nil {
			return err
		}
		s.take(values)
		time.Sleep(100 * time.Millisecond)
	}
	return nil
}

func (s *samples) take(values map[string]float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Since(s.start)
	s.note(now, "agent: the kernel's receive buffer, bytes", values, `metricsd_socket_queued_bytes{socket="udp"}`,
		`metricsd_socket_buffer_bytes{socket="udp"}`)
	s.note(now, "agent: payloads on disk, bytes", values, "metricsd_datadog_queue_bytes", "")
	const waiting = "metricsd_intake_waiting{"
	for name := range values {
		if stage, ok := strings.CutPrefix(name, waiting); ok {
			s.note(now, "intake: "+strings.TrimSuffix(strings.TrimPrefix(stage, `stage="`), `"}`), values, name,
				"metricsd_intake_waiting_bound{"+stage)
		}
	}
}

func (s *samples) note(at time.Duration, queue string, values map[string]float64, filled, bound string) {
	v, ok := values[filled]
	if !ok {
		return
	}
	q := s.queues[queue]
	if q == nil {
		q = new(queueFill)
		s.queues[queue] = q
	}
	q.at, q.filled, q.bound = append(q.at, at), append(q.filled, v), values[bound]
}

// scrape reads the lines of a page of metrics that have no spaces in their labels' keys.
func scrape(address string, into map[string]float64) error {
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return err
	}
	defer r.Body.Close()
	lines := bufio.NewScanner(r.Body)
	for lines.Scan() {
		line := lines.Text()
		if at := strings.LastIndexByte(line, ' '); at > 0 && strings.HasPrefix(line, "metricsd_") {
			if v, err := strconv.ParseFloat(line[at+1:], 64); err == nil {
				into[line[:at]] = v
			}
		}
	}
	return lines.Err()
}

// table gives each queue's peak in each phase, and its rest at the end: a queue that is not empty
// at rest has a reader that is slower than its writer.
func (s *samples) table() *table {
	t := &table{
		Name: "Fill of the queues of metricsd all",
		Columns: []string{"queue", "bound", "most, messages over UDP", "most, requests too", "most, at rest",
			"at the end"},
	}
	for _, name := range slices.Sorted(maps.Keys(s.queues)) {
		q := s.queues[name]
		var most [3]float64
		for i, at := range q.at {
			p := &most[min(2, int(at/s.phase))]
			*p = max(*p, q.filled[i])
		}
		t.add(name, q.bound, most[0], most[1], most[2], q.filled[len(q.filled)-1])
	}
	return t
}

// draw plots a strip for each queue: its height is the bound, or the most that was seen.
func (s *samples) draw() []byte {
	const width, strip, left = 900.0, 56, 10
	names := slices.Sorted(maps.Keys(s.queues))
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" `+
		`font-family="sans-serif" font-size="12">`+"\n",
		width+2*left, len(names)*strip+40)
	// Phases are thirds of the width.
	all := 3 * s.phase.Seconds()
	for i, label := range []string{"messages over UDP", "and requests as fast as they are taken", "at rest"} {
		x := left + width*float64(i)/3
		fmt.Fprintf(&b, `<text x="%.0f" y="14" font-weight="bold">%s</text>`+
			`<line x1="%.0f" x2="%.0f" y1="18" y2="%d" stroke="#999"/>`+"\n",
			x+4, label, x, x, len(names)*strip+20)
	}
	// Draw a queue without a bound against its peak, and say so: such a strip is always full once,
	// which means nothing.
	for i, name := range names {
		q := s.queues[name]
		bottom := float64(20 + (i+1)*strip - 6)
		scale, of := q.bound, "bound"
		if scale == 0 {
			scale, of = max(1, slices.Max(q.filled)), "most"
		}
		var points strings.Builder
		for j, at := range q.at {
			fmt.Fprintf(&points, "%.1f,%.1f ", left+width*at.Seconds()/all, bottom-(strip-22)*min(1, q.filled[j]/scale))
		}
		fmt.Fprintf(&b, `<rect x="%d" y="%.0f" width="%.0f" height="%d" fill="#f4f4f4"/>`+
			`<polyline points="%s" fill="none" `+
			`stroke="#b5342b" stroke-width="1.5"/><text x="%d" y="%.0f">%s (%s %s)</text>`+"\n", left,
			bottom-strip+22, width, strip-22, points.String(), left+4, bottom-strip+18, name, of, digits(scale))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d">0 s</text>`+
		`<text x="%.0f" y="%d" text-anchor="end">%.0f s</text></svg>`+"\n", left,
		len(names)*strip+34, left+width, len(names)*strip+34, all)
	return []byte(b.String())
}
