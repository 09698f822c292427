package flow

import (
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/beagle-go/beagle"
)

// thisMachine is the kind of machine that measurements are valid for.
func thisMachine() beagle.Machine {
	m := beagle.Machine{OS: runtime.GOOS, Arch: runtime.GOARCH, CPU: cpuModel(), Cores: runtime.NumCPU()}
	if out, err := exec.Command("go", "env", "GOVERSION").Output(); err == nil {
		m.Go = strings.TrimSpace(string(out))
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

// kind identifies the toolchain and the machine in cache keys.
func kind(m beagle.Machine) string { return beagle.HashOf("machine", m) }
