package corpus

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// A header is a line of a corpus file that is no record: it says where records come from.
type header struct {
	Provenance []string `json:"provenance"`
}

// provenance returns a line's statement of the file's origin, and nil for any other line.
func provenance(line []byte) []string {
	if !bytes.HasPrefix(bytes.TrimSpace(line), []byte(`{"provenance"`)) {
		return nil
	}
	var h header
	if json.Unmarshal(line, &h) != nil {
		return nil
	}
	return append([]string{}, h.Provenance...)
}

// Provenance returns the statements of a corpus file about its origin, a line each.
func Provenance(path string) (sources []string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadBytes('\n')
		sources = append(sources, provenance(line)...)
		if err == io.EOF {
			return sources, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// WriteProvenance writes the line that Provenance reads. It stands before the records.
func WriteProvenance(w io.Writer, sources []string) error {
	line, err := json.Marshal(header{sources})
	if err == nil {
		_, err = fmt.Fprintf(w, "%s\n", line)
	}
	return err
}
