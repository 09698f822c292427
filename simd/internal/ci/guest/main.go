//go:build linux

// Guest is the init of the machine that avx512.sh emulates. It runs the test
// binaries of /tests with the flags of the file /flags, one a line, says what
// came out and turns the machine off.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/beagle-go/beagle/simd"
)

func main() {
	fmt.Println("tier", simd.Tier())
	if err := runAll("/tests", "/flags"); err != nil {
		fmt.Println("guest:", err)
	} else {
		fmt.Println("guest: all passed")
	}
	time.Sleep(time.Second) // for the serial port to send it
	fmt.Println("guest:", syscall.Reboot(syscall.LINUX_REBOOT_CMD_POWER_OFF))
	select {} // an init that ends has the machine start again
}

// runAll runs every file of a directory and returns the first failure.
func runAll(dir, flagFile string) error {
	text, err := os.ReadFile(flagFile)
	if err != nil {
		return err
	}
	tests, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(tests) == 0 {
		return fmt.Errorf("no tests in %s: %v", dir, err)
	}
	var failed error
	for _, name := range tests {
		cmd := exec.Command(name, strings.Fields(string(text))...)
		// There is no /dev to open a null device from.
		cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stdout
		start := time.Now()
		err := cmd.Run()
		fmt.Printf("guest: %s: %v after %.1f s of the emulated clock\n", name, result(err), time.Since(start).Seconds())
		if err != nil && failed == nil {
			failed = fmt.Errorf("%s: %v", name, err)
		}
	}
	return failed
}

func result(err error) string {
	if err != nil {
		return err.Error()
	}
	return "passed"
}
