//go:build !unix || aix || solaris

package rt

import (
	"errors"
	"sync/atomic"
)

// mapWord refuses: without shared memory a crash does not say where.
func mapWord(string) (*atomic.Int64, error) {
	return nil, errors.New("not offered on this system")
}
