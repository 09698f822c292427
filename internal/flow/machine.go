package flow

import (
	"context"
	"os"
	"runtime"
	"strings"
	"unicode"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/bench"
	"github.com/beagle-go/beagle/internal/harness"
)

// ThisMachine returns the kind of machine that measurements of a module are valid for: this one,
// with the toolchain that the go command chooses in the module's directory. An empty dir is the
// current directory.
func ThisMachine(dir string) beagle.Machine {
	m := beagle.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: bench.Processor(), Cores: runtime.NumCPU()}
	var env settings
	if err := harness.GoEnv(context.Background(), dir, &env); err == nil {
		m.Go, m.Build = env.GOVERSION, env.build(m.Arch, os.Getenv("GODEBUG"))
	}
	return m
}

// settings are the go command's that decide which machine code it makes of a text.
type settings struct{ GOVERSION, GOAMD64, GOARM64, GOEXPERIMENT, GOFLAGS string }

// build lists the settings that are not the default. godebug is how the programs behave that are
// built.
func (s settings) build(arch, godebug string) string {
	var set []string
	add := func(name, value, usual string) {
		if value != usual {
			set = append(set, name+"="+value)
		}
	}
	switch arch {
	case "amd64":
		add("GOAMD64", s.GOAMD64, "v1")
	case "arm64":
		add("GOARM64", s.GOARM64, "v8.0")
	}
	add("GOEXPERIMENT", s.GOEXPERIMENT, "")
	add("GOFLAGS", s.GOFLAGS, "")
	add("GODEBUG", godebug, "")
	return strings.Join(set, " ")
}

// MachineKind names a kind of machine by the processor's model and the system, as in
// "intel-xeon-processor-2.90ghz-linux". Machines of one kind may share measurements.
func MachineKind(m beagle.Machine) string {
	word := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '.' }
	return strings.Join(append(strings.FieldsFunc(strings.ToLower(m.CPU), word), m.OS), "-")
}
