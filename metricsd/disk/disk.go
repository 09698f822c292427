// Package disk keeps programs off the end of a disk.
//
// A store that meets a full disk in the middle of a write often cannot go on: the
// embedded queue takes no more writes until it is opened again, the embedded index
// would end the process had it no ballast. So both ask first, and refuse what would use the
// last bytes, as etcd and Elasticsearch do.
//
// # Limits
//
// Between asking and writing somebody else may take what is left; the reserve is there
// to make that unlikely. A quota that the file system does not show is not seen.
package disk

import (
	"errors"
	"fmt"
)

// ErrFull says that a disk has less than its reserve free.
var ErrFull = errors.New("the disk is full")

// Room returns an error that wraps [ErrFull] when the file system of dir has less than reserve
// bytes free. Where the system does not report it, there is room.
func Room(dir string, reserve int64) error {
	if reserve <= 0 {
		return nil
	}
	free, err := Free(dir)
	if err != nil || free >= reserve {
		return nil
	}
	return fmt.Errorf("%w: %s has %d bytes free and %d are to stay free; make room, move the directory or lower the "+
		"reserve", ErrFull, dir, free, reserve)
}
