//go:build !unix || aix || solaris

package rt

import "errors"

// mapCounts refuses: without shared memory the counts would be lost at exit.
func mapCounts(string, int) ([]uint64, error) {
	return nil, errors.New("not offered on this system")
}
