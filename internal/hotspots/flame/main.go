package flame

import (
	"fmt"
	"io"
	"strconv"

	"github.com/google/pprof/profile"
)

// Main is the program beagle-flame. Its arguments are a title, a unit and a scale, as [HTML] takes
// them. It reads a profile, writes the page, and returns its exit status.
func Main(args []string, in io.Reader, out, errs io.Writer) int {
	if len(args) != 3 {
		fmt.Fprintln(errs, "beagle-flame is started by 'beagle hotspots --html'")
		return 2
	}
	if err := draw(args[0], args[1], args[2], in, out); err != nil {
		fmt.Fprintln(errs, err)
		return 1
	}
	return 0
}

func draw(title, unit, scale string, in io.Reader, out io.Writer) error {
	factor, err := strconv.ParseFloat(scale, 64)
	if err != nil {
		return err
	}
	p, err := profile.Parse(in)
	if err != nil {
		return err
	}
	page, err := HTML(p, title, unit, factor)
	if err != nil {
		return err
	}
	_, err = out.Write(page)
	return err
}
