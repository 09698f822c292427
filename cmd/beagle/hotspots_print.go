package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/hotspots"
	"github.com/beagle-go/beagle/internal/tail"
)

// clean drops what could steer a terminal: names in a profile come from
// outside.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, s)
}

// A painter prints lines, with colour on a terminal only.
type painter struct {
	io.Writer
	colour bool
}

func newPainter(w io.Writer) painter {
	return painter{w, isTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

func (p painter) paint(code, text string) string {
	if !p.colour {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p painter) heading(text string) { fmt.Fprintf(p, "\n%s\n", p.paint("1", text)) }

// printHotspots prints the summary, the ranking, and what has no entry.
func printHotspots(w io.Writer, t *hotspots.Table) {
	p := newPainter(w)
	for line := range strings.SplitSeq(summary(t), "\n") {
		fmt.Fprintln(p, clean(line))
	}
	fmt.Fprintln(p, intervals(t))
	// Print the ranking, then the time outside of it.
	printTable(p, t)
	p.heading("The rest")
	for _, r := range t.Rest {
		fmt.Fprintf(p, "%7s  %s\n", percent(r.Share), r.What)
	}
	// Print the most expensive functions without an entry, with the reason.
	if len(t.Dropped) > 0 {
		p.heading(fmt.Sprintf("Without an entry (the costliest of %d; beagle hotspots --why FUNC explains any)",
			t.DroppedCount))
		explained := map[string]bool{}
		for _, d := range t.Dropped {
			// One explanation of a reason is enough in a list.
			if explained[d.Reason] {
				d.Reason, _, _ = strings.Cut(d.Reason, ": ")
			}
			explained[d.Reason] = true
			fmt.Fprintf(p, "%7s flat %7s cum  %s\n    %s\n", percent(d.Flat), percent(d.Cum), clean(d.Function),
				clean(dropReason(d)))
		}
	}
	if len(t.Advice) > 0 {
		p.heading("Advice: no rewrite of one function changes this")
		for _, a := range t.Advice {
			fmt.Fprintf(p, "%7s of %s  %s: %s\n", percent(a.Share), a.Of, clean(a.Function), a.Text)
		}
	}
	printDiff(p, t.Diff)
	for _, text := range t.Warnings {
		fmt.Fprintf(p, "\n%s %s\n", p.paint("33", "warning:"), clean(text))
	}
}

// summary states the subject of the ranking, its price and its scale.
func summary(t *hotspots.Table) string {
	var b strings.Builder
	if t.Service != "" {
		fmt.Fprintf(&b, "%s: ", t.Service)
	}
	// Print the total of the profiles.
	fmt.Fprintf(&b, "%.4g %s of %s in %d samples of %s.", t.Total, t.Unit, t.Kind, t.Samples,
		tail.Plural(ranked(t), "profile"))
	if t.Kind != hotspots.CPU {
		return b.String()
	}
	if t.Cores > 0 && t.Cores != t.Total {
		fmt.Fprintf(&b, " The service keeps %.4g cores busy, as given.", t.Cores)
	}
	// Print the price, or what is missing for one.
	switch {
	case t.Price == nil:
		b.WriteString(" No price: give --price, or price in beagle.yaml.")
	case t.Cores == 0:
		b.WriteString(" The profiles do not say how many cores are busy: give --cores for money.")
	default:
		fmt.Fprintf(&b, " An hour of a core costs %.4g %s (%s", t.Price.Amount, t.Price.Currency, t.Price.Source)
		if t.Price.AsOf != "" {
			fmt.Fprintf(&b, ", as of %s", t.Price.AsOf)
		}
		b.WriteString(").")
	}
	if t.Price != nil && t.Cores > 0 {
		fmt.Fprintf(&b, "\nScaling: %s.", t.Autoscaling.Reason)
	}
	return b.String()
}

// intervals describes what the intervals hold. Samples tell how well the shares of one time are
// known, and nothing of another time.
func intervals(t *hotspots.Table) string {
	const drift = "how far shares drift with the load"
	n := ranked(t)
	switch {
	case t.Spread > 0:
		return fmt.Sprintf("The intervals come from the spread between %s: they hold %s.",
			tail.Plural(t.Spread, "profile"), drift)
	case n == 1:
		return "The intervals come from the number of samples: one profile does not show " + drift + "."
	}
	return fmt.Sprintf("The intervals come from the number of samples: %d profiles do not show %s.", n, drift)
}

// ranked returns the number of profiles that were ranked.
func ranked(t *hotspots.Table) (n int) {
	for _, u := range t.Profiles {
		if u.Kind == t.Kind {
			n++
		}
	}
	return n
}

// printTable prints the hot spots, with money if there is a price.
func printTable(p painter, t *hotspots.Table) {
	if len(t.Hotspots.Hotspots) == 0 {
		fmt.Fprintf(p, "\nNo function of your own code has %.3g %% of the whole.\n", 100*t.Least)
		return
	}
	// Only processor time has a price, and only where the service's cores are known.
	money := t.Price != nil && t.Cores > 0 && t.Kind == hotspots.CPU
	head := fmt.Sprintf("%8s %17s %7s %7s %6s  ", "net", "95 %", "flat", "cum", "gc")
	if money {
		head = fmt.Sprintf("%11s %11s ", "cost/year", "saves most") + head
	}
	fmt.Fprintln(p)
	fmt.Fprintln(p, p.paint("1", head+"function"))
	for _, h := range t.Hotspots.Hotspots {
		if money {
			fmt.Fprintf(p, "%11s %11s ", amount(h.CostYear), amount(h.SaveYear))
		}
		fmt.Fprintf(p, "%8s %17s %7s %7s %6s  %s%s\n", percent(h.Net),
			fmt.Sprintf("%s to %s", percent(h.NetLow), percent(h.NetHigh)),
			percent(h.Flat), percent(h.Cum), percent(h.GC), p.paint("36", clean(h.Target)), clean(place(h)))
		if h.SaveNote != "" && t.Autoscaling.Fraction > 0 {
			fmt.Fprintf(p, "%s %s\n", strings.Repeat(" ", 12), h.SaveNote)
		}
	}
	if t.More > 0 {
		fmt.Fprintf(p, "%d more: --limit %d lists them.\n", t.More, t.More+len(t.Hotspots.Hotspots))
	}
}

// place returns a hot spot's file and line, and the time of a call, where they are known.
func place(h beagle.Hotspot) string {
	out := ""
	if h.File != "" {
		out = fmt.Sprintf("  %s:%d", h.File, h.Line)
	}
	if h.NanosCall > 0 {
		out += fmt.Sprintf("  %.4g ns a call", h.NanosCall)
	}
	return out
}

// dropReason names why a function has no entry, and the entries that it counts for.
func dropReason(d beagle.DroppedFunction) string {
	text := d.Reason
	if len(d.CountsFor) == 0 {
		return text
	}
	var for_ []string
	for _, c := range d.CountsFor {
		for_ = append(for_, fmt.Sprintf("%s (%s)", c.What, percent(c.Share)))
	}
	return text + "; it counts for " + strings.Join(for_, ", ")
}

// printDiff prints the functions whose share moved, fallen shares in green and risen ones in red.
func printDiff(p painter, d *beagle.HotspotDiff) {
	if d == nil {
		return
	}
	p.heading(fmt.Sprintf("What moved (%d samples before, %d now)", d.OldSamples, d.Samples))
	for _, m := range d.Moves {
		code := "32"
		if m.Change > 0 {
			code = "31"
		}
		fmt.Fprintf(p, "%s  %s -> %s (95 %%: %s to %s)  %s\n", p.paint(code, signed(m.Change)), percent(m.Old),
			percent(m.New),
			signed(m.Low), signed(m.High), clean(m.Target))
		if m.Note != "" {
			fmt.Fprintf(p, "         %s\n", clean(m.Note))
		}
	}
	// Say how many functions are not listed, so that no line is no claim that nothing moved.
	switch {
	case len(d.Moves) == 0:
		fmt.Fprintf(p, "No function of %s moved more than chance would.\n", tail.Plural(d.Unclear, "function"))
	case d.Unclear > 0:
		fmt.Fprintf(p, "%s moved no more than chance would.\n", tail.Plural(d.Unclear, "other function"))
	}
}

// printWhy answers for one function.
func printWhy(w io.Writer, t *hotspots.Table, name string, asJSON bool) (int, error) {
	dropped, entries, err := t.Why(name)
	if err != nil {
		return exitNo, err
	}
	if asJSON {
		return exitOK, printJSON(w, beagle.HotspotWhy{Hotspots: entries, Dropped: dropped})
	}
	// A name may fit several functions, some of them listed and some not: answer for each.
	for _, h := range entries {
		fmt.Fprintf(w,
			"%s is a hot spot: net %s (%s to %s), flat %s, cum %s, %s of it in Go's runtime and %s in garbage "+
				"collection.\n",
			clean(h.Target), percent(h.Net), percent(h.NetLow), percent(h.NetHigh), percent(h.Flat), percent(h.Cum),
			percent(h.Runtime), percent(h.GC))
		if len(h.Callees) > 0 {
			fmt.Fprintf(w, "  It pays for %s.\n", clean(strings.Join(h.Callees, ", ")))
		}
		if h.SaveNote != "" {
			fmt.Fprintf(w, "  A saving: %s.\n", h.SaveNote)
		}
	}
	for _, d := range dropped {
		fmt.Fprintf(w, "%s has no entry: flat %s, cum %s.\n  %s.\n", clean(d.Function), percent(d.Flat), percent(d.Cum),
			clean(dropReason(d)))
	}
	return exitOK, nil
}

// percent spells a share in percent, with more digits for small ones.
func percent(share float64) string {
	switch v := 100 * share; {
	case v != 0 && math.Abs(v) < 0.1:
		return fmt.Sprintf("%.2f %%", v)
	default:
		return fmt.Sprintf("%.1f %%", v)
	}
}

func signed(share float64) string { return fmt.Sprintf("%+.1f", 100*share) }

// amount prints money with as many digits as are worth reading.
func amount(v float64) string {
	switch {
	case v == 0:
		return "0"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	// Separate thousands by commas.
	digits := fmt.Sprintf("%.0f", v)
	var b strings.Builder
	for i, r := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	return b.String()
}
