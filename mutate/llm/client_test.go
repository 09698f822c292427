package llm_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/beagle-go/beagle"
	"github.com/beagle-go/beagle/internal/llmtest"
	"github.com/beagle-go/beagle/mutate/llm"
)

const secret = "sk-test-0123456789abcdefghijklmnopqrstuvwxyz"

type noKeys struct{}

func (noKeys) Key(llm.Model) (llm.Key, error) { return llm.Key{}, nil }

// client returns a client that asks a server of the test by one of the protocols.
func client(t *testing.T, s *llmtest.Server, protocol string) *llm.Client {
	t.Helper()
	url := s.URL()
	if protocol == llm.OpenAI {
		url += "/v1"
	}
	m, err := llm.ParseModel(protocol + ":tester@" + url)
	if err != nil {
		t.Fatal(err)
	}
	return &llm.Client{Models: []llm.Model{m}, Keys: noKeys{}, Backoff: time.Millisecond}
}

// bothWays runs a test with either protocol.
func bothWays(t *testing.T, f func(t *testing.T, protocol string)) {
	for _, p := range []string{llm.OpenAI, llm.Anthropic} {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

func question() llm.Request {
	return llm.Request{Model: "tester", System: "Be brief.", User: "Make it faster.", MaxTokens: 500,
		Limit: time.Minute}
}

func TestAsk(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := llmtest.New(t,
			llmtest.Always(llmtest.Reply{Text: "é " + strings.Repeat("func f() {}\n", 40), In: 321, Out: 123}))
		q := question()
		q.History = []llm.Turn{{Role: "user", Text: "Hello."}, {Role: "assistant", Text: "Hello!"}}
		q.Temperature, q.Seed, q.Once = 0.5, 7, "this run's"
		got, err := client(t, s, protocol).Ask(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		if got.Text != "é "+strings.Repeat("func f() {}\n", 40) || got.Stop != llm.StopEnd ||
			got.Usage != (llm.Usage{In: 321, Out: 123}) || got.Attempts != 1 || got.Wasted != (llm.Usage{}) {
			t.Errorf("%+v", got)
		}
		c := s.Calls()[0]
		if c.System != "Be brief." || len(c.Turns) != 3 ||
			c.Turns[1] != (llmtest.Turn{Role: "assistant", Text: "Hello!"}) || c.Question() != "Make it faster." ||
			c.Options["temperature"] != 0.5 || c.Options["max_tokens"] != 500.0 || !c.Stream {
			t.Errorf("%+v", c)
		}
		if protocol == llm.OpenAI && c.Options["seed"] != 7.0 {
			t.Errorf("%+v", c)
		}
	})
}

// TestIdempotencyKeys checks that attempts with an unknown outcome share an idempotency key, in any
// client, so that a server that knows the key answers once. An attempt after an answer has another
// key, and so has a question of another run.
func TestIdempotencyKeys(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := llmtest.New(t,
			llmtest.InTurn(llmtest.Reply{Fault: "bad-gateway"}, llmtest.Reply{Text: "func f() {}", Break: "close"},
				llmtest.Reply{
					Fault: "overloaded",
				}, llmtest.Reply{Raw: "<html>Welcome</html>", ContentType: "text/html"}, llmtest.Reply{Text: "func"}))
		for _, once := range []string{"one", "one", "two", ""} {
			q := question()
			q.Once = once
			if _, err := client(t, s, protocol).Ask(t.Context(), q); err != nil {
				t.Fatal(err)
			}
		}
		var keys []string
		for _, c := range s.Calls() {
			keys = append(keys, c.Header.Get("Idempotency-Key"))
		}
		if len(keys) != 8 || keys[0] == "" || keys[7] != "" {
			t.Fatalf("%q", keys)
		}
		// Five attempts of the first call, then a call each.
		for i, same := range []bool{true, true, false, false} {
			if (keys[i+1] == keys[i]) != same {
				t.Errorf("attempt %d: the key of the one before: %v", i+2, !same)
			}
		}
		if keys[4] == keys[0] || keys[5] != keys[0] || keys[6] == keys[0] {
			t.Errorf("%q", keys)
		}
	})
}

// TestKeptFailures checks the client with a server that stores failures like answers. The next
// attempt must not get the failure of the first one.
func TestKeptFailures(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := &llmtest.Server{Idempotent: true, KeepFaults: true,
			Script: llmtest.InTurn(llmtest.Reply{Fault: "server"}, llmtest.Reply{Fault: "overloaded"}, llmtest.Reply{
				Text: "func",
			})}
		s.StartFor(t)
		for range 2 { // the second one stands for another process that asks the same
			q := question()
			q.Once = "run"
			got, err := client(t, s, protocol).Ask(t.Context(), q)
			if err != nil || got.Text != "func" || got.Attempts != 3 {
				t.Fatalf("%+v %v", got, err)
			}
		}
		if st := s.Stats(); st.Paid != 1 || st.Calls != 6 {
			t.Errorf("%+v", st)
		}
	})
}

// TestHalted checks a call that its caller ends while it waits. It says that nothing is under way,
// and what it has cost. A call that is being answered does not.
func TestHalted(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		cause := errors.New("enough")
		ask := func(c *llm.Client, q llm.Request, when func()) error {
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				when()
				cancel(cause)
			}()
			_, err := c.Ask(ctx, q)
			if !errors.Is(err, cause) {
				t.Errorf("%v", err)
			}
			return err
		}
		for name, hold := range map[string]func(c *llm.Client){
			"a slot":       func(c *llm.Client) { c.InFlight = full(t) },
			"the budget":   func(c *llm.Client) { c.Budget = held(t, question().Bound()) },
			"the next try": func(c *llm.Client) { c.InFlight, c.Backoff = llm.NewLimiter(1), time.Hour },
		} {
			s := llmtest.New(t, llmtest.Always(llmtest.Reply{Fault: "overloaded"}))
			c := client(t, s, protocol)
			hold(c)
			sent := 0
			if name == "the next try" {
				sent = 1
			}
			err := ask(c, question(), func() {
				// until the client has read the refusal too
				for s.Stats().Refused < sent || sent > 0 && c.InFlight.Busy() > 0 {
					time.Sleep(time.Millisecond)
				}
			})
			var h *llm.Halted
			if !errors.As(err, &h) || h.Attempts != sent || h.Wasted != (llm.Usage{}) {
				t.Errorf("waiting for %s: %v, %+v", name, err, h)
			}
		}
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "late", After: llmtest.Duration(time.Hour)}))
		err := ask(client(t, s, protocol), question(), func() {
			for s.Stats().Busy == 0 {
				time.Sleep(time.Millisecond)
			}
		})
		if h := (*llm.Halted)(nil); errors.As(err, &h) {
			t.Errorf("it was sent: %+v", h)
		}
	})
}

// full returns a limiter without a free slot.
func full(t *testing.T) *llm.Limiter {
	l := llm.NewLimiter(1)
	if _, err := l.Take(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

// held returns a budget without tokens left while a call runs.
func held(t *testing.T, bound llm.Usage) *llm.Budget {
	worst := llm.Spent{Tokens: int64(bound.In + bound.Out)}
	b := llm.NewBudget(llm.Caps{Tokens: worst.Tokens}, llm.Spent{})
	if _, err := b.Reserve(t.Context(), worst); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLostAnswerIsGivenAgain checks a server that knows idempotency keys: it makes an answer once,
// and sends it again to a client that lost it.
func TestLostAnswerIsGivenAgain(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		number, cutOff := 0, make(chan struct{})
		s := &llmtest.Server{Idempotent: true, Script: func(llmtest.Call) *llmtest.Reply {
			number++
			<-cutOff
			return &llmtest.Reply{Text: fmt.Sprintf("answer %d %s", number, strings.Repeat("x", 4000))}
		}}
		s.StartFor(t)
		q := question()
		q.Once = "run"
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			for s.Stats().Busy == 0 {
				time.Sleep(time.Millisecond)
			}
			cancel()
		}()
		if _, err := client(t, s, protocol).Ask(ctx, q); err == nil {
			t.Fatal("it was to be cut off")
		}
		close(cutOff)
		got, err := client(t, s, protocol).Ask(t.Context(), q)
		if err != nil || !strings.HasPrefix(got.Text, "answer 1 ") {
			t.Errorf("%.20q %v", got.Text, err)
		}
		if st := s.Stats(); st.Paid != 1 || st.Calls != 2 {
			t.Errorf("%+v", st)
		}
	})
}

func TestAskStops(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		for _, stop := range []string{llm.StopLength, llm.StopRefusal} {
			s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "func", Stop: stop}))
			got, err := client(t, s, protocol).Ask(t.Context(), question())
			if err != nil || got.Stop != stop || got.Text != "func" {
				t.Errorf("%+v %v", got, err)
			}
		}
	})
}

// TestFaults asks for every error of the providers. It checks the error's kind, the number of
// tries, and the remedy.
func TestFaults(t *testing.T) {
	for fault, want := range map[string]struct {
		kind   llm.ErrorKind
		tries  int
		remedy string
	}{
		"bad-key":          {llm.BadKey, 1, "BEAGLE_KEY_TESTER"},
		"forbidden":        {llm.BadKey, 1, "BEAGLE_KEY_TESTER"},
		"unknown-model":    {llm.UnknownModel, 1, "ends in /v1"},
		"context-too-long": {llm.ContextTooLong, 1, "longer context"},
		"too-large":        {llm.ContextTooLong, 1, "longer context"},
		"unpaid":           {llm.Unpaid, 1, "money"},
		"refused":          {llm.Refused, 1, ""},
		"rate-limited":     {llm.RateLimited, 3, "in flight"},
		"server":           {llm.Unavailable, 3, "Start the server"},
		"bad-gateway":      {llm.Unavailable, 3, "Start the server"},
		"overloaded":       {llm.Unavailable, 3, "Start the server"},
	} {
		t.Run(fault, func(t *testing.T) {
			bothWays(t, func(t *testing.T, protocol string) {
				s := llmtest.New(t, llmtest.Always(llmtest.Reply{Fault: fault}))
				c := client(t, s, protocol)
				c.Attempts = 3
				_, err := c.Ask(t.Context(), question())
				var e *llm.Error
				if !errors.As(err, &e) {
					t.Fatal(err)
				}
				if e.Kind != want.kind || e.Attempts != want.tries || s.Stats().Calls != want.tries ||
					e.Model != "tester" || !strings.Contains(e.Remedy, want.remedy) {
					t.Errorf("%+v after %d calls", e, s.Stats().Calls)
				}
				if paid := fault == "bad-gateway"; paid != (e.Wasted != llm.Usage{}) {
					t.Errorf("wasted %+v", e.Wasted)
				}
				if strings.Contains(e.Error(), "\n\n") || e.Message == "" {
					t.Errorf("%q", e.Error())
				}
			})
		})
	}
}

// TestRetry lets the second or third attempt succeed.
func TestRetry(t *testing.T) {
	good := llmtest.Reply{Text: "done, and this is some text to be broken"}
	for _, breaks := range []string{"close", "error", "garbage", "end"} {
		t.Run(breaks, func(t *testing.T) {
			bothWays(t, func(t *testing.T, protocol string) {
				bad := good
				bad.Break, bad.Piece = breaks, 4
				s := llmtest.New(t, llmtest.InTurn(bad, bad, good))
				got, err := client(t, s, protocol).Ask(t.Context(), question())
				if err != nil || got.Text != good.Text || got.Attempts != 3 || s.Stats().Calls != 3 {
					t.Fatalf("%+v %v", got, err)
				}
				// The attempts that broke off may have been paid for, so they cost twice the worst
				// case.
				bound := question().Bound()
				if got.Wasted != (llm.Usage{In: 2 * bound.In, Out: 2 * bound.Out, Estimated: true}) {
					t.Errorf("wasted %+v", got.Wasted)
				}
			})
		})
	}
	for _, fault := range []string{"rate-limited", "server", "overloaded"} {
		t.Run(fault, func(t *testing.T) {
			bothWays(t, func(t *testing.T, protocol string) {
				s := llmtest.New(t, llmtest.InTurn(llmtest.Reply{Fault: fault}, good))
				got, err := client(t, s, protocol).Ask(t.Context(), question())
				if err != nil || got.Attempts != 2 || got.Wasted != (llm.Usage{}) {
					t.Fatalf("%+v %v", got, err)
				}
			})
		})
	}
}

// TestRetryAfter has the server say how long to wait. The client waits that long, or not at all if
// the call's limit is shorter. On a busy machine some calls come late, so the test repeats until
// two came too soon.
func TestRetryAfter(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := &llmtest.Server{
			Script: llmtest.Say("done"),
			Limit:  llmtest.RateLimit{Calls: 1, Per: 300 * time.Millisecond},
		}
		s.StartFor(t)
		c := client(t, s, protocol)
		for s.Stats().Refused < 2 {
			got, err := c.Ask(t.Context(), question())
			if err != nil {
				t.Fatal(err)
			}
			if got.Attempts > 2 {
				t.Errorf("%d attempts: one that came early was refused once more", got.Attempts)
			}
		}
	})
	t.Run("too long", func(t *testing.T) {
		s := llmtest.New(t,
			llmtest.Always(llmtest.Reply{Fault: "rate-limited", RetryAfter: llmtest.Duration(time.Hour)}))
		_, err := client(t, s, llm.OpenAI).Ask(t.Context(), question())
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.RateLimited || s.Stats().Calls != 1 || e.Wait != time.Hour ||
			!strings.Contains(e.Message, "1h0m0s") {
			t.Errorf("%+v", err)
		}
	})
}

// TestLimit tries servers that never finish: silent from the start, silent in the middle, and one
// that sends a byte now and then for ever.
func TestLimit(t *testing.T) {
	long := strings.Repeat("x", 1<<16)
	for name, reply := range map[string]llmtest.Reply{
		"silent": {Text: "x", After: llmtest.Duration(time.Hour)},
		"stall":  {Text: long, Break: "stall"},
		"drip":   {Text: long, Piece: 1, Every: llmtest.Duration(10 * time.Millisecond)},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, protocol string) {
				s := llmtest.New(t, llmtest.Always(reply))
				q := question()
				var e *llm.Error
				// Double the limit until the client can send within it.
				for q.Limit = 200 * time.Millisecond; s.Stats().Calls == 0; q.Limit *= 10 {
					_, err := client(t, s, protocol).Ask(t.Context(), q)
					if !errors.As(err, &e) || e.Kind != llm.Timeout || !strings.Contains(e.Message, "time limit") {
						t.Fatalf("%+v", err)
					}
				}
				if e.Wasted != q.Bound() {
					t.Errorf("%+v", e)
				}
				waitIdle(t, s)
			})
		})
	}
	t.Run("stall and again", func(t *testing.T) {
		s := llmtest.New(t, llmtest.InTurn(llmtest.Reply{Text: long, Break: "stall"}, llmtest.Reply{Text: "done"}))
		c := client(t, s, llm.OpenAI)
		c.Stall = time.Second
		got, err := c.Ask(t.Context(), question())
		if err != nil || got.Text != "done" || got.Attempts < 2 { // more attempts if the machine stalls too
			t.Fatalf("%+v %v", got, err)
		}
	})
	t.Run("caller", func(t *testing.T) {
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: long, Break: "stall"}))
		why := errors.New("the user has gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
		if _, err := client(t, s, llm.OpenAI).Ask(ctx, question()); !errors.Is(err, why) {
			t.Fatal(err)
		}
		waitIdle(t, s)
	})
}

// waitIdle waits until the server has nothing under way: a call that the client gave up must not go
// on.
func waitIdle(t *testing.T, s *llmtest.Server) {
	t.Helper()
	for range 6000 {
		if s.Stats().Busy == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Error("the call goes on at the server")
}

// TestHuge has a server send 50 MB. The reply ends at the client's limit, and so does the reading.
func TestHuge(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := llmtest.New(t,
			llmtest.Always(llmtest.Reply{Text: strings.Repeat("a b ", 1<<12), Repeat: 3200, Piece: 1 << 14}))
		q := question()
		got, err := client(t, s, protocol).Ask(t.Context(), q)
		if err != nil || got.Stop != llm.StopOversize || len(got.Text) != llm.MaxReply ||
			got.Usage.Out != q.MaxTokens || !got.Usage.Estimated {
			t.Fatalf("%d bytes, %q, %+v, %v", len(got.Text), got.Stop, got.Usage, err)
		}
		waitIdle(t, s)
		if st := s.Stats(); st.Whole != 0 {
			t.Errorf("all of it was read: %+v", st)
		}
	})
	for name, reply := range map[string]llmtest.Reply{
		"one line":  {Text: strings.Repeat("a", 50<<20), Piece: 64 << 20},
		"one piece": {Text: strings.Repeat("a", 70<<20), Whole: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, llmtest.Always(reply))
			got, err := client(t, s, llm.OpenAI).Ask(t.Context(), question())
			if err != nil || got.Stop != llm.StopOversize || len(got.Text) > llm.MaxReply {
				t.Fatalf("%d bytes, %q, %v", len(got.Text), got.Stop, err)
			}
		})
	}
}

// TestPlainServers tries servers that do less than they should.
func TestPlainServers(t *testing.T) {
	for name, x := range map[string]struct {
		replies []llmtest.Reply
		usage   llm.Usage
	}{
		"no stream":         {[]llmtest.Reply{{Text: "done", Whole: true, In: 9, Out: 1}}, llm.Usage{In: 9, Out: 1}},
		"no usage":          {[]llmtest.Reply{{Text: "done", NoUsage: true}}, llm.Usage{In: question().Bound().In, Out: 4, Estimated: true}},
		"no max_tokens":     {[]llmtest.Reply{{Fault: "max_tokens"}, {Text: "done", In: 9, Out: 1}}, llm.Usage{In: 9, Out: 1}},
		"no temperature":    {[]llmtest.Reply{{Fault: "temperature"}, {Text: "done", In: 9, Out: 1}}, llm.Usage{In: 9, Out: 1}},
		"no stream_options": {[]llmtest.Reply{{Fault: "stream_options"}, {Text: "done"}}, llm.Usage{In: question().Bound().In, Out: 4, Estimated: true}},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, llmtest.InTurn(x.replies...))
			c, q := client(t, s, llm.OpenAI), question()
			q.Temperature = 0.7
			for range 2 { // the client keeps what it learned
				got, err := c.Ask(t.Context(), q)
				if err != nil || got.Text != "done" || got.Usage != x.usage || got.Wasted != (llm.Usage{}) {
					t.Fatalf("%+v %v", got, err)
				}
			}
			if n := s.Stats().Calls; n != len(x.replies)+1 {
				t.Errorf("%d calls", n)
			}
			last := s.Calls()[s.Stats().Calls-1]
			param := strings.TrimPrefix(name, "no ")
			if _, sent := last.Options[param]; sent && param != "usage" {
				t.Errorf("%s is sent again: %v", param, last.Options)
			}
			if name == "no max_tokens" && last.Options["max_completion_tokens"] != 500.0 {
				t.Errorf("%v", last.Options)
			}
		})
	}
}

func TestStrangeServers(t *testing.T) {
	for name, x := range map[string]struct {
		reply llmtest.Reply
		kind  llm.ErrorKind
		says  string
	}{
		"web page":     {llmtest.Reply{Raw: "<html>Welcome</html>", ContentType: "text/html"}, llm.Malformed, "text/html"},
		"no JSON":      {llmtest.Reply{Raw: "{", ContentType: "application/json"}, llm.Malformed, "protocol"},
		"empty stream": {llmtest.Reply{Raw: "data: [DONE]\n\n", ContentType: "text/event-stream"}, llm.Unavailable, "broke off"},
		"bare error":   {llmtest.Reply{Raw: "no healthy upstream", ContentType: "text/plain", Status: 503}, llm.Unavailable, "no healthy upstream"},
		"vllm":         {llmtest.Reply{Raw: `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, ContentType: "application/json", Status: 400}, llm.ContextTooLong, "4096"},
		"ollama":       {llmtest.Reply{Raw: `{"error":"model 'x' not found, try pulling it first"}`, ContentType: "application/json", Status: 404}, llm.UnknownModel, "pulling"},
		"control":      {llmtest.Reply{Raw: "a\x1b[31m\x00\r\n\u0085b", ContentType: "text/plain", Status: 400}, llm.Refused, "a [31m b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, llmtest.Always(x.reply))
			c := client(t, s, llm.OpenAI)
			c.Attempts = 2
			_, err := c.Ask(t.Context(), question())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != x.kind || !strings.Contains(e.Message, x.says) {
				t.Errorf("%+v", err)
			}
		})
	}
	t.Run("nobody", func(t *testing.T) {
		bothWays(t, func(t *testing.T, protocol string) {
			c := client(t, llmtest.New(t, llmtest.Say("x")), protocol)
			// Port 1 has no listener. Another process could take a port that was just given up.
			address, err := url.Parse(c.Models[0].URL)
			if err != nil {
				t.Fatal(err)
			}
			address.Host = "127.0.0.1:1"
			c.Models[0].URL = address.String()
			c.Attempts = 2
			_, err = c.Ask(t.Context(), question())
			var e *llm.Error
			if !errors.As(err, &e) || e.Kind != llm.Unavailable || e.Wasted != (llm.Usage{}) || e.Attempts != 2 {
				t.Errorf("%#v", err)
			}
		})
	})
}

// TestKeys checks that the key reaches its server and nothing else.
func TestKeys(t *testing.T) {
	bothWays(t, func(t *testing.T, protocol string) {
		s := &llmtest.Server{Script: llmtest.Say("done"), Key: secret}
		s.StartFor(t)
		c := client(t, s, protocol)
		c.Keys, c.Attempts = nil, 1
		t.Setenv("OPENAI_API_KEY", "sk-of-another-server-00000000")
		t.Setenv("ANTHROPIC_API_KEY", "sk-of-another-server-00000000")
		_, err := c.Ask(t.Context(), question())
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.BadKey {
			t.Fatal(err)
		}
		t.Setenv("BEAGLE_KEY_TESTER", secret)
		got, err := c.Ask(t.Context(), question())
		if err != nil {
			t.Fatal(err)
		}
		for i, call := range s.Calls() {
			for name, values := range call.Header {
				v := strings.Join(values, " ")
				if strings.Contains(v, "another-server") {
					t.Errorf("%s: the provider's own key went to another address", name)
				}
				if i == 1 && strings.Contains(v, secret) && name != "Authorization" && name != "X-Api-Key" {
					t.Errorf("the key is in %s", name)
				}
			}
			if strings.Contains(call.Body, secret) {
				t.Error("the key is in the request's body")
			}
		}
		if all := fmt.Sprintf("%+v %v", got, encode(t, got)); strings.Contains(all, secret) {
			t.Error("the key is in the reply")
		}
	})
}

func encode(t *testing.T, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestEchoedKey tries servers whose errors repeat the key: as it is, masked, in other spellings, in
// pieces.
func TestEchoedKey(t *testing.T) {
	t.Setenv("BEAGLE_KEY_TESTER", secret)
	pieces := secret[:20] + "\n" + secret[20:]
	for name, reply := range map[string]llmtest.Reply{
		"fault":  {Fault: "bad-key", Text: "Incorrect API key provided: " + secret + "."},
		"masked": {Fault: "bad-key", Text: "Incorrect API key provided: sk-test-************************wxyz."},
		"body":   {Raw: "Authorization: Bearer " + secret, ContentType: "text/plain", Status: 400},
		"pieces": {Raw: pieces, ContentType: "text/plain", Status: 400},
		"base64": {Raw: "c2stdGVzdC0wMTIzNDU2Nzg5YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo=", ContentType: "text/plain", Status: 500},
		"json":   {Raw: `{"error":{"message":{"headers":"x-api-key: ` + secret + `"}}}`, ContentType: "application/json", Status: 422},
		"stream": {Raw: "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"api_error\",\"message\":\"bad " + secret + "\"}}\n\n", ContentType: "text/event-stream"},
		"syntax": {Raw: "event: content_block_delta\ndata: " + secret + "\n\n", ContentType: "text/event-stream"},
		"type":   {Raw: secret, ContentType: secret},
	} {
		t.Run(name, func(t *testing.T) {
			bothWays(t, func(t *testing.T, protocol string) {
				s := llmtest.New(t, llmtest.Always(reply))
				c := client(t, s, protocol)
				c.Keys, c.Attempts = llm.EnvKeys(), 1
				_, err := c.Ask(t.Context(), question())
				if err == nil {
					t.Fatal("no error")
				}
				all := fmt.Sprintf("%v %+v %#v %s", err, err, err, encode(t, err))
				for i := 0; i+8 <= len(secret); i++ {
					if strings.Contains(all, secret[i:i+8]) {
						t.Fatalf("%q of the key is in %s", secret[i:i+8], all)
					}
				}
				if strings.Contains(all, "c2stdGVzdC0w") || strings.Contains(all, "wxyz") {
					t.Error(all)
				}
			})
		})
	}
}

// TestRedirect has a server redirect to another one, which must not get the key.
func TestRedirect(t *testing.T) {
	t.Setenv("BEAGLE_KEY_TESTER", secret)
	thief := llmtest.New(t, llmtest.Say("thank you"))
	redirect := httptest.NewServer(http.RedirectHandler(thief.URL()+"/v1/chat/completions?key="+secret,
		http.StatusTemporaryRedirect))
	defer redirect.Close()
	m, err := llm.ParseModel("tester@" + redirect.URL + "/v1")
	if err != nil {
		t.Fatal(err)
	}
	c := &llm.Client{Models: []llm.Model{m}, Attempts: 1}
	_, err = c.Ask(t.Context(), question())
	var e *llm.Error
	if !errors.As(err, &e) || thief.Stats().Calls != 0 || !strings.Contains(e.Message, thief.URL()) ||
		strings.Contains(e.Message, secret) {
		t.Errorf("%+v, %d calls", err, thief.Stats().Calls)
	}
}

func TestOffline(t *testing.T) {
	s := llmtest.New(t, llmtest.Say("done"))
	c := client(t, s, llm.OpenAI)
	c.Offline = true
	t.Setenv("HTTP_PROXY", "http://192.0.2.1:3128")
	if _, err := c.Ask(t.Context(), question()); err != nil {
		t.Error("a server on this machine is not outside:", err)
	}
	far, err := llm.ParseModel("tester@https://192.0.2.1/v1")
	if err != nil {
		t.Fatal(err)
	}
	c = &llm.Client{Models: []llm.Model{far}, Keys: noKeys{}, Offline: true}
	_, err = c.Ask(t.Context(), question())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.Refused || e.Attempts != 0 {
		t.Errorf("%+v", err)
	}
}

func TestKeyInTheClear(t *testing.T) {
	t.Setenv("BEAGLE_KEY_TESTER", secret)
	m, err := llm.ParseModel("tester@http://192.0.2.1/v1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&llm.Client{Models: []llm.Model{m}}).Ask(t.Context(), question())
	var e *llm.Error
	if !errors.As(err, &e) || e.Kind != llm.BadKey || !strings.Contains(e.Remedy, "https") || e.Attempts != 0 {
		t.Errorf("%+v", err)
	}
}

func TestUnknownName(t *testing.T) {
	s := llmtest.New(t, llmtest.Say("done"))
	_, err := client(t, s, llm.OpenAI).Ask(t.Context(), llm.Request{Model: "other", User: "x"})
	var u *beagle.UsageError
	if !errors.As(err, &u) || !strings.Contains(err.Error(), "tester") {
		t.Error(err)
	}
}

func TestKeyFile(t *testing.T) {
	dir := t.TempDir()
	write := func(text string, mode os.FileMode) string {
		path := filepath.Join(dir, "keys")
		os.Remove(path)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	home, _ := llm.ParseModel("gpt-5")
	claude, _ := llm.ParseModel("claude-opus-5")
	far, _ := llm.ParseModel("tester@https://models.example/v1")
	t.Setenv("OPENAI_API_KEY", "")
	t.Setenv("ANTHROPIC_API_KEY", "sk-env")
	for _, x := range []struct {
		text  string
		mode  os.FileMode
		ask   []llm.Model
		fails string
	}{
		{secret + "\n", 0o600, []llm.Model{home, home}, ""},
		{secret + "\n", 0o400, []llm.Model{home, claude}, "one bare key"},
		{secret + "\n", 0o400, []llm.Model{home, claude}, "ANTHROPIC_API_KEY=… for https://api.anthropic.com"},
		{secret + "\n", 0o400, []llm.Model{claude, far}, "BEAGLE_KEY_TESTER=… for https://models.example/v1"},
		{"# mine\nexport OPENAI_API_KEY=\"" + secret + "\"\nBEAGLE_KEY_TESTER=" + secret + "\n", 0o600, []llm.Model{home, claude, far}, ""},
		{"ANTHROPIC_API_KEY=" + secret, 0o600, []llm.Model{home}, "no key"},
		{secret, 0o644, nil, "chmod 600"},
		{secret, 0o640, nil, "can be read by others"},
		{"", 0o600, nil, "holds no key"},
		{"A=1\nwhat is this\n", 0o600, nil, "keys:2"},
		{strings.Repeat("x", 1<<17), 0o600, nil, "small regular file"},
		{"OPENAI_API_KEY=a b", 0o600, []llm.Model{home}, "spaces or control"},
	} {
		path := write(x.text, x.mode)
		keys, err := llm.FileKeys(path, x.ask...)
		if err == nil && strings.Contains(x.fails, "key") && len(x.ask) > 1 {
			t.Errorf("%q: several servers are not refused at once", x.fails)
		}
		for _, m := range x.ask {
			if err == nil {
				var k llm.Key
				if k, err = keys.Key(m); err == nil && !k.Known() {
					t.Errorf("%s has no key", m.Name)
				}
			}
		}
		if x.fails == "" && err != nil ||
			x.fails != "" &&
				(err == nil || !strings.Contains(err.Error(), x.fails) || strings.Contains(err.Error(), secret)) {
			t.Errorf("%q %o: %v", x.text[:min(len(x.text), 50)], x.mode, err)
		}
	}
	if _, err := llm.FileKeys(dir); err == nil {
		t.Error("a directory is not a key file")
	}
}

func TestKeyIsNotPrinted(t *testing.T) {
	t.Setenv("BEAGLE_KEY_TESTER", secret)
	m, _ := llm.ParseModel("tester@https://models.example/v1")
	k, err := llm.EnvKeys().Key(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{k, &k, []llm.Key{k}, map[string]llm.Key{"a": k}, struct{ K llm.Key }{k}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			if s := fmt.Sprintf(verb, v); strings.Contains(s, secret[:8]) ||
				strings.Contains(s, fmt.Sprintf("%x", secret[:8])) {
				t.Errorf("%s of %T: %s", verb, v, s)
			}
		}
		if s := encode(t, v); strings.Contains(s, secret[:8]) {
			t.Errorf("%T as JSON: %s", v, s)
		}
	}
}

// TestInFlight tries many callers and few slots.
func TestInFlight(t *testing.T) {
	var mu sync.Mutex
	busy, most := 0, 0
	count := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		busy += n
		most = max(most, busy)
	}
	// count here, because the server ends calls later than the client
	s := llmtest.New(t, func(llmtest.Call) *llmtest.Reply {
		count(1)
		defer count(-1)
		time.Sleep(20 * time.Millisecond)
		return &llmtest.Reply{Text: "done"}
	})
	c := client(t, s, llm.OpenAI)
	c.InFlight = llm.NewLimiter(3)
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() {
			if _, err := c.Ask(t.Context(), question()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := s.Stats().Calls; most > 3 || n != 12 {
		t.Errorf("%d at once, %d calls", most, n)
	}
	if c.InFlight.Busy() != 0 {
		t.Error("slots are not given back")
	}
}

// TestBudget lets callers run into each cap at once. The spending never exceeds the cap, and the
// budget books every payment to the last millionth.
func TestBudget(t *testing.T) {
	q := question()
	price := llm.Price{In: 3, Out: 15, AsOf: "given"}
	worst, each := price.Cost(q.Bound()), price.Cost(llm.Usage{In: 40, Out: 10})
	for name, x := range map[string]struct {
		caps llm.Caps
		most int // calls that fit
	}{
		"money":  {llm.Caps{Money: worst + 5*each}, 6},
		"tokens": {llm.Caps{Tokens: int64(q.Bound().In+q.Bound().Out) + 5*50}, 6},
		"calls":  {llm.Caps{Calls: 6}, 6},
	} {
		t.Run(name, func(t *testing.T) {
			s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "done", In: 40, Out: 10}))
			c := client(t, s, llm.OpenAI)
			c.Models[0].Price = price
			c.Budget = llm.NewBudget(x.caps, llm.Spent{})
			var wg sync.WaitGroup
			for range 10 {
				wg.Go(func() {
					_, err := c.Ask(t.Context(), q)
					var e *llm.Error
					if err != nil && (!errors.As(err, &e) || e.Kind != llm.OverBudget || e.Attempts != 0) {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			spent := c.Budget.Spent()
			if n := s.Stats().Calls; n != x.most || spent.Calls != int64(n) || spent.Money != llm.Micros(n)*each ||
				spent.Tokens != int64(n)*50 || c.Budget.Reserved() != (llm.Spent{}) {
				t.Errorf("%d calls, %+v", n, spent)
			}
		})
	}
	t.Run("time", func(t *testing.T) {
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "done", After: llmtest.Duration(time.Hour)}))
		c := client(t, s, llm.OpenAI)
		// Raise the limit until it is long enough for a call.
		for most := 200 * time.Millisecond; s.Stats().Calls == 0; most *= 10 {
			c.Budget = llm.NewBudget(llm.Caps{Time: most}, llm.Spent{})
			for range 2 {
				_, err := c.Ask(t.Context(), q)
				var e *llm.Error
				if !errors.As(err, &e) || e.Kind != llm.Timeout && e.Kind != llm.OverBudget {
					t.Error(err)
				}
			}
		}
		if n := s.Stats().Calls; n != 1 {
			t.Errorf("%d calls", n)
		}
	})
	t.Run("broken", func(t *testing.T) {
		s := llmtest.New(t, llmtest.Always(llmtest.Reply{Text: "done and done", Break: "close"}))
		c := client(t, s, llm.OpenAI)
		c.Models[0].Price, c.Attempts = price, 3
		c.Budget = llm.NewBudget(llm.Caps{Money: 2*worst + 1}, llm.Spent{})
		if _, err := c.Ask(t.Context(), q); err == nil {
			t.Error("no error")
		}
		// The third attempt would no longer fit.
		if n, spent := s.Stats().Calls, c.Budget.Spent(); n != 2 || spent.Money != 2*worst {
			t.Errorf("%d calls, %+v", n, spent)
		}
	})
	t.Run("price", func(t *testing.T) {
		s := llmtest.New(t, llmtest.Say("done"))
		c := client(t, s, llm.OpenAI)
		c.Models[0].Price = llm.Price{}
		c.Budget = llm.NewBudget(llm.Caps{Money: 1e6}, llm.Spent{})
		_, err := c.Ask(t.Context(), q)
		var e *llm.Error
		if !errors.As(err, &e) || e.Kind != llm.OverBudget || !strings.Contains(e.Remedy, "--price-in") ||
			s.Stats().Calls != 0 {
			t.Error(err)
		}
	})
}
