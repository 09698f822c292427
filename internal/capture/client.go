package capture

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/probe/wire"
)

// A Client talks to the probe of one process.
type Client struct {
	Address string // path of a Unix socket, or URL of a handler
	token   string
	absent  error // why there is no process to talk to; Do returns it
}

// requestTime bounds one request.
const requestTime = 10 * time.Second

// New makes clients for addresses. token is the path of the file with their common token; "" means
// the one that BEAGLE_PROBE_TOKEN names.
func New(addresses []string, token string) ([]*Client, error) {
	if len(addresses) == 0 {
		return nil, &beagle.UsageError{What: "no process is named",
			Remedy: "give --at with the path of its socket or the URL of its handler"}
	}
	if token == "" {
		token = os.Getenv("BEAGLE_PROBE_TOKEN")
	}
	if token == "" {
		return nil, &beagle.UsageError{What: "no token is given",
			Remedy: "name the file that holds it with --token or BEAGLE_PROBE_TOKEN"}
	}
	text, err := os.ReadFile(token)
	if err != nil {
		return nil, &beagle.UsageError{What: "token: " + err.Error(), Remedy: "name the file that holds the token"}
	}
	var all []*Client
	for _, at := range addresses {
		all = append(all, &Client{Address: strings.TrimPrefix(at, "unix:"), token: strings.TrimSpace(string(text))})
	}
	return all, nil
}

// Do carries out one request. A refusal of the probe is a *Refused. Each error names the process.
func (c *Client) Do(ctx context.Context, q wire.Request) (*wire.Reply, []byte, error) {
	if c.absent != nil {
		return nil, nil, c.absent
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	q.Token = c.token
	body, err := json.Marshal(q)
	if err != nil {
		return nil, nil, err
	}
	send, place := c.overSocket, "socket"
	if strings.HasPrefix(c.Address, "http://") || strings.HasPrefix(c.Address, "https://") {
		send, place = c.overHTTP, "handler"
	}
	in, err := send(ctx, body)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w: check that the service runs, and this is its %s", c.Address, err, place)
	}
	defer in.Close()
	r, payload, err := readReply(in)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", c.Address, err)
	}
	if r.Error != "" {
		return r, nil, &Refusal{c.Address, r.Error}
	}
	return r, payload, nil
}

// A Refusal is a probe's refusal of a request.
type Refusal struct{ Address, Why string }

func (r *Refusal) Error() string { return r.Address + ": " + r.Why }

// overSocket sends a request to a Unix socket and returns the reply's reader.
func (c *Client) overSocket(ctx context.Context, body []byte) (io.ReadCloser, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", c.Address)
	if err != nil {
		return nil, err
	}
	if t, ok := ctx.Deadline(); ok {
		conn.SetDeadline(t)
	}
	if _, err := conn.Write(append(body, '\n')); err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// overHTTP sends a request to a probe's handler and returns the reply's reader.
func (c *Client) overHTTP(ctx context.Context, body []byte) (io.ReadCloser, error) {
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, c.Address, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	if r.StatusCode != http.StatusOK {
		r.Body.Close()
		return nil, fmt.Errorf("the server answers %s", r.Status)
	}
	return r.Body, nil
}

// readReply reads a reply and the payload that follows it.
func readReply(r io.Reader) (*wire.Reply, []byte, error) {
	in := bufio.NewReader(io.LimitReader(r, wire.MaxReply+wire.MaxPull))
	line, err := in.ReadBytes('\n')
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("the process hung up: its probe has too many controllers, or is not a probe")
		}
		return nil, nil, err
	}
	var reply wire.Reply
	if err := json.Unmarshal(line, &reply); err != nil {
		return nil, nil, fmt.Errorf("the reply is not a probe's: %w", err)
	}
	if reply.Payload < 0 || reply.Payload > wire.MaxPull+wire.MaxRequest {
		return nil, nil, fmt.Errorf("the reply announces %d bytes", reply.Payload)
	}
	payload := make([]byte, reply.Payload)
	_, err = io.ReadFull(in, payload)
	return &reply, payload, err
}
