package llmtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// post sends a request and returns the status and the body.
func post(t *testing.T, s *Server, path, body string, header ...string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("POST", s.URL()+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

const (
	chatBody      = `{"model":"m","messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text","text":"hi"}]}],"temperature":0.5}`
	responsesBody = `{"model":"m","instructions":"be brief","input":"hi"}`
	messagesBody  = `{"model":"m","max_tokens":9,"system":[{"type":"text","text":"be brief"}],"messages":[{"role":"user","content":"hi"}]}`
)

// TestProtocols asks each protocol for a whole answer and for a stream, and
// finds the same text in both.
func TestProtocols(t *testing.T) {
	const text = "Grüße, and a text of more than sixty-four bytes, so that it comes in two pieces."
	for path, x := range map[string]struct{ body, whole, piece, last string }{
		"/v1/chat/completions": {chatBody, "choices.0.message.content", "choices.0.delta.content", "[DONE]"},
		"/v1/responses":        {responsesBody, "output.0.content.0.text", "delta", `"response.completed"`},
		"/v1/messages":         {messagesBody, "content.0.text", "delta.text", `"message_stop"`},
	} {
		t.Run(path, func(t *testing.T) {
			s := New(t, Say(text))
			status, body := post(t, s, path, x.body, "Anthropic-Version", "2023-06-01")
			if got := dig(t, body, x.whole); status != 200 || got != text {
				t.Errorf("%d %s", status, body)
			}
			_, body = post(t, s, path, strings.Replace(x.body, "{", `{"stream":true,`, 1),
				"Anthropic-Version", "2023-06-01")
			got, last := "", ""
			for line := range strings.Lines(body) {
				if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
					if last = data; data != "[DONE]" {
						got += dig(t, data, x.piece)
					}
				}
			}
			if got != text || !strings.Contains(last, x.last) {
				t.Errorf("%q, last %s", got, last)
			}
			c := s.Calls()[1]
			if c.System != "be brief" || c.Question() != "hi" || c.Model != "m" || !c.Stream || c.Number != 2 {
				t.Errorf("%+v", c)
			}
			if st := s.Stats(); st.Calls != 2 || st.Whole != 2 || st.Busy != 0 || st.TokensOut != 2*tokens(len(text)) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// dig finds a text in JSON by a path, "" when there is none.
func dig(t *testing.T, text, path string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	for part := range strings.SplitSeq(path, ".") {
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			if len(x) == 0 {
				return ""
			}
			v = x[0]
		}
	}
	s, _ := v.(string)
	return s
}

func TestBadRequests(t *testing.T) {
	s := New(t, Say("x"))
	for _, x := range []struct{ path, body, says string }{
		{"/v1/chat/completions", "{", "parse"},
		{"/v1/chat/completions", `{"messages":[]}`, "model"},
		{"/v1/chat/completions", `{"model":"m","messages":[]}`, "messages"},
		{"/v1/chat/completions", `{"model":7}`, "model"},
		{"/v1/messages", messagesBody, "anthropic-version"},
	} {
		if status, body := post(t, s, x.path, x.body); status != 400 || !strings.Contains(body, x.says) {
			t.Errorf("%s: %d %s", x.body, status, body)
		}
	}
	if status, _ := post(t, s, "/v1/messages", `{"model":"m","messages":[]}`, "Anthropic-Version",
		"2023-06-01"); status != 400 {
		t.Error("max_tokens is not asked for")
	}
}

func TestKeyAndModels(t *testing.T) {
	s := &Server{Script: Say("x"), Key: "sk-secret-key-of-the-test", Models: []string{"a", "b"}}
	s.StartFor(t)
	status, body := post(t, s, "/v1/chat/completions", chatBody, "Authorization", "Bearer sk-wrong-key-given-here")
	if status != 401 || !strings.Contains(body, "sk-wrong***") || !strings.Contains(body, "invalid_api_key") {
		t.Errorf("%d %s", status, body)
	}
	if status, _ = post(t, s, "/v1/chat/completions", chatBody, "Authorization", "Bearer "+s.Key); status != 200 {
		t.Error(status)
	}
	res, err := http.Get(s.URL() + "/v1/models")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, _ := io.ReadAll(res.Body)
	if !strings.Contains(string(data), `"id":"b"`) {
		t.Errorf("%s", data)
	}
}

// TestRules reads a script file and asks it in turn.
func TestRules(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("big.txt", "from a file")
	script, err := Load(write("script.json", `{"rules": [
		{"call": 1, "replies": [{"text": "first"}]},
		{"contains": "sum", "times": 2, "replies": [{"text": "a"}, {"text": "b", "after": "1ms"}]},
		{"model": "n", "replies": [{"file": "big.txt"}]},
		{"from": 6, "every": 2, "replies": [{"text": "even"}]},
		{"from": 6, "replies": [{"text": "odd"}]}
	]}`))
	if err != nil {
		t.Fatal(err)
	}
	ask := func(n int, model, prompt string) string {
		r := script(Call{Number: n, Model: model, Turns: []Turn{{"user", prompt}}})
		return r.Text + r.Fault
	}
	var got []string
	got = append(got, ask(1, "m", "sum"), ask(2, "m", "sum"), ask(3, "m", "the sum of"), ask(4, "n", "sum"),
		ask(5, "m", "sum")[:7])
	for n := 6; n < 10; n++ {
		got = append(got, ask(n, "m", "x"))
	}
	if want := "first a b from a file no rule odd even odd even"; strings.Join(got, " ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	for name, text := range map[string]string{
		"a": `{"rules":[{}]}`,
		"b": `{"rule":[]}`,
		"c": `{"rules":[{"replies":[{"file":"none"}]}]}`,
		"d": `{"rules":[{"replies":[{"after":"soon"}]}]}`,
	} {
		if _, err := Load(write(name, text)); err == nil {
			t.Errorf("%s was taken", text)
		}
	}
}

// TestBreaks sees each way in which a stream breaks from the outside.
func TestBreaks(t *testing.T) {
	for how, says := range map[string]string{"error": "overloaded", "garbage": `half a mes`, "end": ""} {
		s := New(t, Always(Reply{Text: strings.Repeat("word ", 50), Break: how}))
		_, body := post(t, s, "/v1/chat/completions", strings.Replace(chatBody, "{", `{"stream":true,`, 1))
		if !strings.Contains(body, says) || strings.Contains(body, "[DONE]") || strings.Count(body, "word") > 30 {
			t.Errorf("%s: %s", how, body)
		}
	}
	s := New(t, Always(Reply{Text: strings.Repeat("word ", 50), Break: "close"}))
	res, err := http.Post(s.URL()+"/v1/chat/completions", "application/json",
		strings.NewReader(strings.Replace(chatBody, "{", `{"stream":true,`, 1)))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, bufio.NewReader(res.Body)); err == nil {
		t.Error("the connection was not cut")
	}
}

func TestFaultsHaveBothForms(t *testing.T) {
	for _, name := range Faults() {
		s := New(t, Always(Reply{Fault: name, RetryAfter: Duration(1500e6)}))
		for path, body := range map[string]string{"/v1/chat/completions": chatBody, "/v1/messages": messagesBody} {
			status, answer := post(t, s, path, body, "Anthropic-Version", "2023-06-01")
			if status < 400 || dig(t, answer, "error.message") == "" || dig(t, answer, "error.type") == "" ||
				strings.Contains(answer, "MODEL") ||
				bytes.Contains([]byte(answer), []byte("KEY")) && name != "bad-key" {
				t.Errorf("%s: %d %s", name, status, answer)
			}
		}
	}
}
