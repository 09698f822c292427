package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/beagle-go/beagle/internal/capture"
	"github.com/beagle-go/beagle/probe/wire"
)

// printStatus prints a process, its sites, and whether a capture is armed.
func printStatus(w io.Writer, address string, st *wire.Status) {
	// The process, with what matters to those who read its captures.
	p := st.Process
	fmt.Fprintf(w, "%s: %s, process %d on %s, %s", address, p.Program, p.PID, p.Host, p.Go)
	if p.Build != "" {
		fmt.Fprintf(w, ", build %s", p.Build)
	}
	if p.Raw {
		fmt.Fprint(w, ", allows raw text")
	}
	fmt.Fprintln(w)
	for _, s := range st.Sites {
		fmt.Fprintf(w, "  %s\n", describeSite(s))
		printSiteCounts(w, s)
	}
	// The capture under way, or why there is none.
	switch {
	case st.Session != nil:
		fmt.Fprintf(w, "  armed for %.0f s, for %.0f s more; %d calls wait\n", st.Session.Age, st.Session.Left,
			st.Session.Waiting)
	case st.Disarmed != "":
		fmt.Fprintf(w, "  not armed: the last capture ended because %s\n", st.Disarmed)
	default:
		fmt.Fprintln(w, "  not armed")
	}
}

// describeSite writes a site as a Go function.
func describeSite(s wire.Site) string {
	list := func(types []wire.Type) string {
		var all []string
		for _, t := range types {
			all = append(all, t.Name+" "+t.Type)
		}
		return strings.Join(all, ", ")
	}
	text := s.Name + "(" + list(s.Params) + ")"
	if len(s.Results) > 0 {
		text += " (" + list(s.Results) + ")"
	}
	if s.Note != "" {
		text += ": arguments only, since " + s.Note
	}
	return text
}

// printSiteCounts prints how many calls of an armed site were taken and recorded.
func printSiteCounts(w io.Writer, s wire.Site) {
	if !s.Armed || s.Counts == nil {
		return
	}
	c := s.Counts
	fmt.Fprintf(w, "    %d calls taken, %d recorded, %d panicked, of about %.0f\n", c.Taken, c.Recorded,
		c.Panicked, c.Calls)
}

// recorded returns how many calls the armed sites of all processes recorded.
func recorded(all []capture.Pulled) (n int) {
	for _, p := range all {
		for _, s := range p.Status.Sites {
			if s.Armed && s.Counts != nil {
				n += int(s.Counts.Recorded)
			}
		}
	}
	return n
}

// printCounts prints what the armed sites of a process took, and what the process dropped.
func printCounts(w io.Writer, p capture.Pulled) {
	fmt.Fprintf(w, "%s:\n", p.Address)
	for _, s := range p.Status.Sites {
		if s.Armed {
			fmt.Fprintf(w, "  %s\n", s.Name)
			printSiteCounts(w, s)
		}
	}
	if s := p.Status.Session; s != nil && s.Dropped.Total() > 0 {
		fmt.Fprintf(w, "  dropped: %s\n", capture.DescribeDrops(s.Dropped))
	}
}

// printCost prints the cost of the capture, once a window has counted the calls.
func printCost(w io.Writer, all []capture.Pulled) {
	for _, p := range all {
		for _, s := range p.Status.Sites {
			if !s.Armed || s.Counts == nil {
				continue
			}
			// Uprobes have a cost for each hit, probes only for recorded calls.
			c, rate := s.Counts, float64(p.Status.Session.Start.Rate)
			if c.Rate == 0 {
				fmt.Fprintf(w, "%s %s: no call yet\n", p.Address, s.Name)
				continue
			}
			if c.Hit > 0 {
				pays, seen := "each", 1.0
				if c.Seen > 0 {
					pays, seen = fmt.Sprintf("in turns %.2g %% of them", 100*c.Seen), c.Seen
				}
				fmt.Fprintf(w, "%s %s: %.0f calls a second; %s pays %.2f µs, a recorded one %.2f µs more: "+
					"%.2f %% of a core\n", p.Address, s.Name, c.Rate, pays, c.Hit/1000, c.Nanos/1000,
					(c.Rate*c.Hit*seen+min(rate, c.Rate)*c.Nanos)/1e7)
				continue
			}
			fmt.Fprintf(w, "%s %s: %.0f calls a second; recording %.0f of them takes about %.3f %% of a core\n",
				p.Address,
				s.Name, c.Rate, min(rate, c.Rate), min(rate, c.Rate)*c.Nanos/1e7)
		}
	}
}

// printBlind lists what a capture with these options cannot show.
func printBlind(w io.Writer, address string, s wire.Site, q wire.Start, outside bool) {
	if s.Note != "" && q.Results {
		s.Note = "" // the note asks for this very option
	}
	fmt.Fprintf(w, "%s: %s\n", address, describeSite(s))
	for _, what := range s.Unseen {
		fmt.Fprintf(w, "  not seen  %s\n", what)
	}
	for _, t := range s.Params {
		for _, what := range capture.Blind(t, q, outside) {
			fmt.Fprintf(w, "  not seen  %s: %s\n", t.Name, what)
		}
	}
	if !s.Returns && !q.Results {
		return
	}
	for _, t := range s.Results {
		for _, what := range capture.Blind(t, q, outside) {
			fmt.Fprintf(w, "  no result %s: %s\n", t.Name, what)
		}
	}
}
