//go:build !unix

package inplace

import "errors"

func makePipe(string) error {
	return errors.New("versions of several functions are timed by named pipes, which this system lacks; " +
		"use Linux or macOS")
}
