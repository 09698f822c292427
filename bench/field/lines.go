package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// readLines hands each JSON line of a file to f; a file that is not there has none.
// A line that was cut off when the process died is left out.
func readLines(path string, f func([]byte) error) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for r := bufio.NewReader(file); ; {
		line, err := r.ReadBytes('\n')
		if err != nil {
			return nil
		}
		if !json.Valid(line) {
			continue
		}
		if err := f(line); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
}

// appendLine adds an object to a file of JSON lines.
func appendLine(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if end, err := file.Seek(0, io.SeekEnd); err == nil && end > 0 { // finish a line that was cut off
		last := make([]byte, 1)
		if _, err := file.ReadAt(last, end-1); err == nil && last[0] != '\n' {
			text = append([]byte("\n"), text...)
		}
	}
	_, err = file.Write(append(text, '\n'))
	return err
}
