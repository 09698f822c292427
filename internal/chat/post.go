package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

const (
	maxError = 64 << 10 // bytes of an error's body
	maxReply = 64 << 20 // bytes of an event of a stream, or of a reply in one piece
)

// post sends one request and returns the server's answer, whose status is of
// the 200s. The caller closes its body.
func (s Server) post(ctx context.Context, url string, own http.Header, body any) (*http.Response, error) {
	var data bytes.Buffer
	encoder := json.NewEncoder(&data)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(body); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, &data)
	if err != nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	maps.Copy(req.Header, s.Header)
	maps.Copy(req.Header, own)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "beagle")
	client := s.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 200 || res.StatusCode > 299 {
		defer res.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(res.Body, maxError)) // half of its words are better than none
		return nil, &StatusError{Status: res.StatusCode, Header: res.Header, Body: said}
	}
	return res, nil
}

// A bodyReader yields the events of an answer's body.
type bodyReader func(body io.Reader, yield func(Event, error) bool)

// events yields what post returned: its error, or the events of the answer,
// streamed or in one piece.
func events(res *http.Response, err error, streamed, inOne bodyReader, yield func(Event, error) bool) {
	if err != nil {
		yield(Event{}, err)
		return
	}
	defer res.Body.Close()
	if isOneJSON(res) {
		inOne(res.Body, yield)
		return
	}
	streamed(res.Body, yield)
}

// isOneJSON reports whether an answer is JSON in one piece. Servers that cannot
// stream send one.
func isOneJSON(res *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	return kind == "application/json"
}

// readWhole reads an answer in one piece.
func readWhole(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxReply+1))
	if err == nil && len(data) > maxReply {
		err = ErrTooLong
	}
	return data, err
}

// A count is a number of tokens. Some servers write it as 12.0 or "12".
type count int64

// UnmarshalJSON reads a count; any other value leaves 0.
func (c *count) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	n, err := strconv.ParseInt(text, 10, 64)
	if f, e := strconv.ParseFloat(text, 64); err != nil && e == nil && math.Abs(f) < 1<<53 {
		n = int64(f)
	}
	*c = count(n)
	return nil
}

// decode reads JSON. A field of a type that the protocol does not have is left
// at zero, since some servers differ in fields that nothing here needs. Values
// that are no objects and broken JSON are errors.
func decode(data []byte, into any) error {
	err := json.Unmarshal(data, into)
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) && mismatch.Field != "" {
		return nil
	}
	return err
}
