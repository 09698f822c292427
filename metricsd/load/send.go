package load

import (
	"context"
	"encoding/binary"
	"net"
	"sync"
	"time"

	"github.com/beagle-go/beagle/metricsd/wait"
)

// Report is the outcome of a load.
type Report struct {
	Totals
	// Failed are packets that the socket refused.
	Failed  int
	Elapsed time.Duration
}

// Send sends a shape to an address until ctx is done; network is "udp",
// "unixgram" or "unix".
func Send(ctx context.Context, shape Shape, network, address string, seed uint64) (Report, error) {
	start := time.Now()
	conns := make([]net.Conn, shape.Senders)
	for i := range conns {
		conn, err := net.Dial(network, address)
		if err != nil {
			return Report{}, err
		}
		defer conn.Close()
		conns[i] = conn
	}
	reports := make([]Report, len(conns))
	var wg sync.WaitGroup
	for i, conn := range conns {
		wg.Go(func() {
			s := sender{conn: conn, framed: network == "unix", generator: NewGenerator(shape, i, seed)}
			reports[i] = s.run(ctx, shape.BytesPerSecond/shape.Senders)
		})
	}
	wg.Wait()
	report := Report{Elapsed: time.Since(start)}
	for _, r := range reports {
		report.add(r.Totals)
		report.Failed += r.Failed
	}
	return report, nil
}

type sender struct {
	conn      net.Conn
	framed    bool
	generator *Generator
	frame     []byte
}

// run sends at the given rate, or without pause. It looks at the clock every few packets, and makes
// up for late ones.
func (s *sender) run(ctx context.Context, bytesPerSecond int) (r Report) {
	const atOnce = 8
	start := time.Now()
	for ctx.Err() == nil {
		for range atOnce {
			if s.write(s.generator.Packet()) != nil {
				r.Failed++
			}
		}
		if bytesPerSecond > 0 {
			due := time.Duration(float64(s.generator.totals.Bytes) / float64(bytesPerSecond) * float64(time.Second))
			wait.For(ctx, time.Until(start.Add(due)))
		}
	}
	r.Totals = s.generator.Totals()
	return r
}

func (s *sender) write(packet []byte) error {
	if s.framed {
		s.frame = binary.LittleEndian.AppendUint32(s.frame[:0], uint32(len(packet)))
		s.frame = append(s.frame, packet...)
		packet = s.frame
	}
	_, err := s.conn.Write(packet)
	return err
}
