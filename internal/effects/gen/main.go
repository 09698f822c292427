// Command gen prints the table of effects of the standard library for the toolchain in use.
package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/beagle-go/beagle/internal/effects"
	"github.com/beagle-go/beagle/internal/effects/derive"
)

func main() {
	reviewed, err := effects.Reviewed()
	if err == nil {
		var lines []string
		if lines, err = derive.Table(reviewed); err == nil {
			_, err = fmt.Println(strings.Join(lines, "\n"))
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
