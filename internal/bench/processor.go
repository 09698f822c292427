package bench

import (
	"os"
	"runtime"
	"strings"
)

// Processor returns the model of the processor, on which every measurement depends. It is the
// architecture where the system does not tell the model.
func Processor() string {
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
