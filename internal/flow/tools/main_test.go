package tools

import (
	"os"
	"testing"

	"github.com/beagle-go/beagle/internal/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	os.Exit(m.Run())
}
