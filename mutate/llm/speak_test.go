package llm_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

// TestReplyInOnePiece checks servers that cannot stream: they send the reply in one piece, by
// either protocol.
func TestReplyInOnePiece(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "done", Whole: true, In: 9, Out: 1}))
		got, err := client(t, s, protocol).Ask(t.Context(), question())
		if err != nil || got.Text != "done" || got.Stop != llm.StopEnd || got.Usage != (llm.Usage{In: 9, Out: 1}) {
			t.Errorf("%+v %v", got, err)
		}
	})
}

// TestRefusalInPieces checks a model that declines in pieces of a refusal, and ends as if all were
// well.
func TestRefusalInPieces(t *testing.T) {
	s := llmtest.New(t,
		llmtest.Always(llmtest.Reply{ContentType: "text/event-stream",
			Raw: `data: {"choices":[{"delta":{"refusal":"I can't "}}]}

data: {"choices":[{"delta":{"refusal":"help."}}]}

data: {"choices":[{"delta":{},"finish_reason":"stop"}]}

data: [DONE]

`}))
	got, err := client(t, s, llm.OpenAI).Ask(t.Context(), question())
	if err != nil || got.Stop != llm.StopRefusal || got.Text != "I can't help." {
		t.Errorf("%+v %v", got, err)
	}
}

// TestCachedTokens checks that tokens of the prompt cache count as tokens of the prompt.
func TestCachedTokens(t *testing.T) {
	raw := func(in, read, out int) llmtest.Script {
		return llmtest.Always(llmtest.Reply{ContentType: "text/event-stream", Raw: fmt.Sprintf(`event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":%d,"cache_creation_input_tokens":1000,"cache_read_input_tokens":%d,"output_tokens":1}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"done"}}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":%d,"output_tokens":%d}}

event: message_stop
data: {"type":"message_stop"}

`, in, read, in, out)})
	}
	bound := llm.Usage{In: question().Bound().In, Out: question().Bound().Out, Estimated: true}
	for _, x := range []struct {
		in, read, out int
		want          llm.Usage
	}{
		{9, 20000, 4, llm.Usage{In: 21009, Out: 4}},
		{-9, 20000, 4, bound},
		{9, 1 << 62, 4, bound},
		{99_999_000, 99_999_000, 4, bound}, // each is possible, but the sum is not
		{9, 20000, -4, bound},
	} {
		got, err := client(t, llmtest.New(t, raw(x.in, x.read, x.out)), llm.Anthropic).Ask(t.Context(), question())
		if err != nil || got.Usage != x.want {
			t.Errorf("%+v: %+v %v", x, got.Usage, err)
		}
	}
}

// TestRequestID checks that errors name the attempt as the server's operators know it.
func TestRequestID(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Fault: "refused"}))
		_, err := client(t, s, protocol).Ask(t.Context(), question())
		want := "400 Bad Request (request req_llmtest): Your request was rejected"
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Error(err)
		}
	})
}

// TestStreamErrorInPlainWords checks that the client asks again if a server breaks off in plain
// words, since that refuses nothing.
func TestStreamErrorInPlainWords(t *testing.T) {
	broken := llmtest.Reply{ContentType: "text/event-stream", Raw: "event: error\ndata: out of memory\n\n"}
	s := llmtest.New(t, llmtest.InTurn(broken, llmtest.Reply{Text: "done"}))
	got, err := client(t, s, llm.Anthropic).Ask(t.Context(), question())
	if err != nil || got.Attempts != 2 {
		t.Errorf("%+v %v", got, err)
	}
}

// TestEndlessRefusal checks that the client cuts off a server whose refusal never ends.
func TestEndlessRefusal(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		gone := make(chan struct{}, 8)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			for req.Context().Err() == nil {
				w.Write([]byte(strings.Repeat("no ", 1000)))
			}
			gone <- struct{}{}
		}))
		defer s.Close()
		m, err := llm.ParseModel(protocol + ":tester@" + s.URL)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&llm.Client{Models: []llm.Model{m}, Keys: noKeys{}}).Ask(t.Context(), question())
		var e *llm.Error
		if !errors.As(err, &e) || e.Status != http.StatusBadRequest || e.Attempts != 1 {
			t.Errorf("%+v", err)
		}
		<-gone
	})
}
