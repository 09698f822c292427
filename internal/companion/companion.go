// Package companion finds the programs that beagle starts instead of linking their code.
package companion

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/beagle-go/beagle"
)

// Find returns the absolute path of a program, since an agent starts it from another directory. It
// takes the variable's path, then looks beside this program, then on the PATH. need begins the
// message if there is none, as in "--temporal".
func Find(name, variable, need string) (string, error) {
	remedy := fmt.Sprintf("install it from a checkout of Beagle: go install ./cmd/%s\nor name it with %s=/path/to/%s",
		name, variable, name)
	if named := os.Getenv(variable); named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", &beagle.UsageError{What: fmt.Sprintf("%s names no program: %v", variable, err), Remedy: remedy}
		}
		return filepath.Abs(found)
	}
	file := name
	if runtime.GOOS == "windows" {
		file += ".exe"
	}
	if self, err := os.Executable(); err == nil {
		beside := filepath.Join(filepath.Dir(self), file)
		if info, err := os.Stat(beside); err == nil && info.Mode().IsRegular() {
			return beside, nil
		}
	}
	if found, err := exec.LookPath(file); err == nil {
		return found, nil
	}
	return "", &beagle.UsageError{
		What:   fmt.Sprintf("%s needs the program %s, which is neither beside beagle nor on the PATH", need, name),
		Remedy: remedy,
	}
}

// Ready is the line that such a program prints when it can begin: empty, or the reason why it
// cannot.
type Ready struct {
	What   string `json:"what,omitempty"`
	Remedy string `json:"remedy,omitempty"`
}
