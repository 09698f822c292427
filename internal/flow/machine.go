package flow

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/harness"
)

// ThisMachine is the kind of machine that measurements of a module are valid
// for: this one, with the toolchain that the go command chooses in the module's
// directory. An empty dir is the current directory.
func ThisMachine(dir string) beagle.Machine {
	m := beagle.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU()}
	var env struct{ GOVERSION string }
	if err := harness.GoEnv(context.Background(), dir, &env); err == nil {
		m.Go = env.GOVERSION
	}
	return m
}

// cpuModel is the processor's own name, where the system tells it.
func cpuModel() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(text)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// Class is the name of a class of machines among which measurements may be
// moved: the processor's model and the system, as in
// "intel-xeon-processor-2.90ghz-linux".
func Class(m beagle.Machine) string {
	word := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' }
	return strings.Join(append(strings.FieldsFunc(strings.ToLower(m.CPU), word), m.OS), "-")
}

// settleMachine files the session's results under the run's kind of machine.
// Programs are built here and run there, so the toolchains must be the same.
func (x *session) settleMachine() error {
	m := x.ready.Machine
	if m == nil {
		return nil
	}
	here := x.machine
	if m.Go != here.Go || m.OS != here.OS || m.Arch != here.Arch {
		return fmt.Errorf("run %s is for %s on %s/%s, and this machine has %s on %s/%s: a worker must have the same toolchain", x.run, m.Go, m.OS, m.Arch, here.Go, here.OS, here.Arch)
	}
	x.machine = *m
	return nil
}

// kind identifies the toolchain and the machine in cache keys.
func kind(m beagle.Machine) string { return beagle.HashOf("machine", m) }
