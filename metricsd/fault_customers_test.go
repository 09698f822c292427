package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A sender is a customer that posts while the intake is killed.
type sender struct {
	name, key          string
	acknowledged, sent atomic.Int64
}

// TestKilledIntakeKeepsCustomersApart kills the intake, with its queue and index, repeatedly. Two
// customers post the same names under the same idempotency keys, and names of their own; so does
// the operator. In the end each customer has every point that was acknowledged to it, once, and
// nobody sees another's.
func TestKilledIntakeKeepsCustomersApart(t *testing.T) {
	const enough = 60 // points of a customer, for the test to show something
	kills := 3
	if testing.Short() {
		kills = 1
	}
	senders := []*sender{{name: "acme", key: "4f1cd2c0a9b84b2a9d0a6c1f3e5b7d90"},
		{name: "globex", key: "0d3b1f9c5e7a4c2d8b6f1a3e5c7d9b0f"}, {name: "default", key: "the-operators-own-token"}}
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	if err := os.WriteFile(keys, []byte("acme "+senders[0].key+"\nglobex "+senders[1].key), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"intake", "-intake.http=" + intakeAddress, "-intake.flush=1", "-intake.pending=100",
		"-intake.customers=" + keys, "-intake.token=" + senders[2].key,
		"-intake.queue.dir=" + filepath.Join(dir, "queue"), "-intake.index.dir=" + filepath.Join(dir, "index")}
	cmd := program(t, args...)
	healthy(t)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, s := range senders {
		running.Go(func() { s.post(ctx) })
	}
	for i := range kills {
		cmd = killed(t, cmd, args, &senders[i%2].acknowledged, enough, time.Duration(70*i)*time.Millisecond)
	}
	for _, s := range senders {
		least := max(enough, s.acknowledged.Load()+20)
		eventually(t, s.name+" has posted", func() bool { return s.acknowledged.Load() >= least })
	}
	stop()
	running.Wait()
	for _, s := range senders {
		eventually(t, "all of "+s.name+" are counted", func() bool {
			return s.points(t, "app", "killed") >= s.acknowledged.Load()
		})
	}
	time.Sleep(2500 * time.Millisecond) // two writings, which would show double counts
	for _, s := range senders {
		s.complete(t, senders)
		t.Logf("%s: %d acknowledged, %d sent", s.name, s.acknowledged.Load(), s.sent.Load())
	}
}

// post posts one point after another, each until it is acknowledged, as an agent does: the even
// ones under a name that all customers have, the odd ones under one of this customer's.
func (s *sender) post(ctx context.Context) {
	for i := 0; ctx.Err() == nil; i++ {
		metric, now := fmt.Sprintf("killed.shared.n%d", i%50), time.Now().Unix()
		if i%2 == 1 {
			metric = "killed.only_" + s.name
		}
		s.sent.Add(1)
		for !postOne(metric, fmt.Sprint("request ", i), now, s.key) {
			s.sent.Add(1)
			time.Sleep(10 * time.Millisecond)
		}
		s.acknowledged.Add(1)
	}
}

// complete checks everything that the index has of a customer.
func (s *sender) complete(t *testing.T, all []*sender) {
	t.Helper()
	want := s.acknowledged.Load()
	if got := s.points(t, "app", "killed"); got != want {
		t.Errorf("%s: %d points acknowledged, %d counted", s.name, want, got)
	}
	if got := s.points(t, "metric", "killed.only_"+s.name); got != want/2 {
		t.Errorf("%s: %d points of its own name, want %d", s.name, got, want/2)
	}
	for path, complete := range map[string]bool{"/api/names?limit=1000": true, "/api/entries?limit=1000": true,
		"/api/names?contains=only": true, "/api/top?limit=1000": false, "/api/overview?limit=100": false} {
		text := s.get(t, path)
		if complete && !strings.Contains(text, "only_"+s.name) {
			t.Errorf("%s does not see its own name at %s", s.name, path)
		}
		if i := slices.IndexFunc(all, func(other *sender) bool {
			return other != s && strings.Contains(text, "only_"+other.name)
		}); i >= 0 {
			t.Errorf("%s sees what is %s's at %s", s.name, all[i].name, path)
		}
	}
}

// points returns how many points a customer has under a name.
func (s *sender) points(t *testing.T, kind, name string) int64 {
	t.Helper()
	var entries []struct{ Points int64 }
	if err := json.Unmarshal([]byte(s.get(t, "/api/entries?kind="+kind+"&name="+name)), &entries); err != nil {
		t.Fatal(err)
	}
	if len(entries) == 0 {
		return 0
	}
	return entries[0].Points
}

// get asks with the customer's key.
func (s *sender) get(t *testing.T, path string) string {
	t.Helper()
	request, _ := http.NewRequest("GET", "http://"+intakeAddress+path, nil)
	request.Header.Set("DD-API-KEY", s.key)
	resp, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s at %s: %s %s", s.name, path, resp.Status, text)
	}
	return string(text)
}
