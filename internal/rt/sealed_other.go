//go:build !unix || aix || solaris

package rt

import "errors"

func newPages(int) ([]byte, error) { return nil, errors.New("not offered on this system") }

func protect([]byte, bool) error { return errors.New("not offered on this system") }
