package tail

import "io/fs"

// FileError returns the text of an error about a file as "FILE: REASON", without the name of the
// operation that failed.
func FileError(err error) string {
	if e, ok := err.(*fs.PathError); ok {
		return e.Path + ": " + e.Err.Error()
	}
	return err.Error()
}
