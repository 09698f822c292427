package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/beagle-go/beagle/metricsd/config"
	"github.com/beagle-go/beagle/metricsd/dogstatsd"
)

// maxPacket bounds what --packets reads at once.
const maxPacket = 1 << 20

// runParse answers "why was my metric dropped?".
func runParse(args []string, s streams) (err error) {
	set := flag.NewFlagSet("metricsd parse", flag.ContinueOnError)
	packets := set.Bool("packets", false, "the input is packets, each after its length in 4 bytes, little end first")
	if err := config.ParseFlags(set, args, s.out); err != nil {
		return err
	}
	in := s.in
	if set.NArg() > 1 {
		return &config.UsageError{Command: set.Name(),
			What: fmt.Sprintf("%d files: give one, or none for the standard input", set.NArg())}
	}
	if set.NArg() == 1 {
		f, err := os.Open(set.Arg(0))
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	out := bufio.NewWriter(s.out)
	defer func() { err = errors.Join(err, out.Flush()) }()
	p := &printer{parser: dogstatsd.NewParser(0, 0), out: json.NewEncoder(out)}
	p.out.SetEscapeHTML(false)
	if *packets {
		return p.packets(bufio.NewReader(in))
	}
	return p.lines(bufio.NewReaderSize(in, maxPacket))
}

// printer prints the meaning of lines. Line and packet numbers start at 1.
type printer struct {
	parser *dogstatsd.Parser
	out    *json.Encoder
	lineNo int
	packet int
}

// answer is one line of output: exactly one of the four is set.
type answer struct {
	Packet int                    `json:"packet,omitempty"`
	Line   int                    `json:"line"`
	Metric *dogstatsd.Metric      `json:"metric,omitempty"`
	Event  *dogstatsd.Event       `json:"event,omitempty"`
	Check  *dogstatsd.Check       `json:"check,omitempty"`
	Error  *dogstatsd.SyntaxError `json:"error,omitempty"`
}

// lines prints the answers for input in which each line stands for itself. It counts the lines of
// the file, not those that the parser sees, so that an editor finds them.
func (p *printer) lines(r *bufio.Reader) error {
	for {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return fmt.Errorf("line %d is longer than %d bytes, the most that a datagram has", p.lineNo+1, maxPacket)
		}
		p.lineNo++
		for line := range dogstatsd.Lines(line) {
			if err := p.print(line); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// packets prints the answers for datagrams, each after its length. It counts the lines within each,
// as an agent names them when it refuses one.
func (p *printer) packets(r io.Reader) error {
	var header [4]byte
	for {
		if _, err := io.ReadFull(r, header[:]); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("after packet %d: %w; a length takes 4 bytes", p.packet, err)
		}
		p.packet++
		// A text file read as packets gives a length of four letters, far over any datagram's.
		n := binary.LittleEndian.Uint32(header[:])
		if n > maxPacket {
			return fmt.Errorf("packet %d has %d bytes, at most %d are read; is the input in packets?",
				p.packet, n, maxPacket)
		}
		packet := make([]byte, n)
		if _, err := io.ReadFull(r, packet); err != nil {
			return fmt.Errorf("packet %d of %d bytes: %w; the input ends within it", p.packet, n, err)
		}
		p.lineNo = 0
		for line := range dogstatsd.Lines(packet) {
			p.lineNo++
			if err := p.print(line); err != nil {
				return err
			}
		}
	}
}

// print prints the parser's result for a line. For a refused line it prints only the error: an
// agent does not take the part before the error.
func (p *printer) print(line []byte) error {
	a := answer{Packet: p.packet, Line: p.lineNo}
	var err error
	switch dogstatsd.KindOf(line) {
	case dogstatsd.KindEvent:
		var e dogstatsd.Event
		e, err = p.parser.Event(line)
		a.Event = &e
	case dogstatsd.KindCheck:
		var c dogstatsd.Check
		c, err = p.parser.Check(line)
		a.Check = &c
	default:
		a.Metric = new(dogstatsd.Metric)
		err = p.parser.Metric(line, a.Metric)
	}
	if err != nil {
		a = answer{Packet: p.packet, Line: p.lineNo, Error: err.(*dogstatsd.SyntaxError)}
	}
	return p.out.Encode(a)
}
