package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/llmtest"
)

// TestServe starts the command, asks it and ends it.
func TestServe(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.json")
	if err := os.WriteFile(script, []byte(`{"rules":[{"replies":[{"text":"hello"}]}]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--script", script, "--models", "a,b"}, w)
		w.Close()
	}()
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		t.Fatal(<-done)
	}
	url := lines.Text()
	res, err := http.Post(url+"/v1/chat/completions", "application/json",
		strings.NewReader(`{"model":"a","messages":[{"role":"user","content":"hi"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	res.Body.Close()
	if !strings.Contains(string(body), `"hello"`) {
		t.Errorf("%s", body)
	}
	cancel()
	var stats llmtest.Stats
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &stats) != nil || stats.Calls != 1 || stats.Whole != 1 {
		t.Errorf("%q", lines.Text())
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestServeUsage(t *testing.T) {
	for _, args := range [][]string{{}, {"--script", "a", "--recorded", "b"},
		{"--script", "/nonexistent"}, {"--what"}} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("%q was taken", args)
		}
	}
}
