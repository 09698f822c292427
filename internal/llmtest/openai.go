package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// content reads a message's text: a string, or a list of parts.
func content(raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", fmt.Errorf("content: %w", err)
	}
	return textOf(v)
}

func textOf(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case []any:
		var b strings.Builder
		for _, p := range v {
			part, ok := p.(map[string]any)
			text, isText := part["text"].(string)
			if !ok || part["text"] != nil && !isText {
				return "", fmt.Errorf("content: a part is %v", p)
			}
			b.WriteString(text)
		}
		return b.String(), nil
	}
	return "", fmt.Errorf("content: a string or a list of parts is wanted")
}

// turns reads a list of messages; those of the system go before all others.
func turns(raw json.RawMessage, c *Call) error {
	var list []struct {
		Role    string
		Content any
	}
	if err := json.Unmarshal(raw, &list); err != nil || len(list) == 0 {
		return fmt.Errorf("messages: a list of messages is wanted: %v", err)
	}
	for _, m := range list {
		text, err := textOf(m.Content)
		if err != nil {
			return err
		}
		if m.Role == "system" || m.Role == "developer" {
			c.System += text
		} else {
			c.Turns = append(c.Turns, Turn{m.Role, text})
		}
	}
	return nil
}

func bearer(h http.Header) string { return strings.TrimPrefix(h.Get("Authorization"), "Bearer ") }

// chat is OpenAI's chat completions.
type chat struct{}

func (chat) name() string                 { return "chat" }
func (chat) key(h http.Header) string     { return bearer(h) }
func (chat) fault(f fault, _ *Server) any { return f.asOpenAI() }
func (chat) begin(c *Call, _ usage) []event {
	return []event{{data: chatChunk(c, map[string]any{"role": "assistant", "content": ""}, nil)}}
}
func (chat) piece(c *Call, text string) event {
	return event{data: chatChunk(c, map[string]any{"content": text}, nil)}
}

func (chat) read(body map[string]json.RawMessage, c *Call) error {
	defer delete(body, "messages")
	return turns(body["messages"], c)
}

func chatID(c *Call) string { return fmt.Sprintf("chatcmpl-%d", c.Number) }

func chatChunk(c *Call, delta map[string]any, finish any) map[string]any {
	return map[string]any{"id": chatID(c), "object": "chat.completion.chunk", "created": 1, "model": c.Model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
}

func chatUsage(u usage) map[string]any {
	return map[string]any{"prompt_tokens": u.in, "completion_tokens": u.out, "total_tokens": u.in + u.out}
}

func chatStop(r *Reply) string {
	switch r.Stop {
	case "length":
		return "length"
	case "refusal":
		return "content_filter"
	}
	return "stop"
}

func (chat) end(c *Call, r *Reply, u usage) []event {
	out := []event{{data: chatChunk(c, map[string]any{}, chatStop(r))}}
	options, _ := c.Options["stream_options"].(map[string]any)
	if wanted, _ := options["include_usage"].(bool); wanted && !r.NoUsage {
		out = append(out, event{
			data: map[string]any{
				"id":      chatID(c),
				"object":  "chat.completion.chunk",
				"created": 1,
				"model":   c.Model,
				"choices": []any{},
				"usage":   chatUsage(u),
			},
		})
	}
	return append(out, event{data: "[DONE]"})
}

func (chat) answer(c *Call, r *Reply, u usage) any {
	out := map[string]any{"id": chatID(c), "object": "chat.completion", "created": 1, "model": c.Model,
		"choices": []any{
			map[string]any{
				"index":         0,
				"message":       map[string]any{"role": "assistant", "content": r.Text, "refusal": nil},
				"finish_reason": chatStop(r),
				"logprobs":      nil,
			},
		}}
	if !r.NoUsage {
		out["usage"] = chatUsage(u)
	}
	return out
}

// responses is OpenAI's newer protocol.
type responses struct{}

func (responses) name() string                 { return "responses" }
func (responses) key(h http.Header) string     { return bearer(h) }
func (responses) fault(f fault, _ *Server) any { return f.asOpenAI() }

func (responses) read(body map[string]json.RawMessage, c *Call) error {
	defer delete(body, "input")
	var text string
	if raw, ok := body["instructions"]; ok && string(raw) != "null" {
		if err := json.Unmarshal(raw, &c.System); err != nil {
			return fmt.Errorf("instructions: %w", err)
		}
	}
	if json.Unmarshal(body["input"], &text) == nil {
		c.Turns = []Turn{{"user", text}}
		return nil
	}
	return turns(body["input"], c)
}

func response(c *Call, r *Reply, u usage, status string) map[string]any {
	out := map[string]any{"id": fmt.Sprintf("resp_%d", c.Number), "object": "response", "created_at": 1,
		"model": c.Model, "status": status,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": map[string]any{}, "output": []any{},
		"parallel_tool_calls": true, "tool_choice": "auto", "tools": []any{}, "temperature": 1, "top_p": 1}
	if status == "in_progress" {
		return out
	}
	if r.Stop == "length" {
		out["status"], out["incomplete_details"] = "incomplete", map[string]any{"reason": "max_output_tokens"}
	}
	out["output"] = []any{map[string]any{"id": fmt.Sprintf("msg_%d", c.Number), "type": "message", "role": "assistant",
		"status":  "completed",
		"content": []any{map[string]any{"type": "output_text", "text": r.Text, "annotations": []any{}}}}}
	if !r.NoUsage {
		out["usage"] = map[string]any{"input_tokens": u.in, "output_tokens": u.out, "total_tokens": u.in + u.out,
			"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{
				"reasoning_tokens": 0,
			}}
	}
	return out
}

func (responses) answer(c *Call, r *Reply, u usage) any { return response(c, r, u, "completed") }

func (responses) begin(c *Call, u usage) []event {
	return []event{
		{"response.created", map[string]any{
			"type":            "response.created",
			"sequence_number": 0,
			"response":        response(c, nil, u, "in_progress"),
		}},
	}
}

func (responses) piece(c *Call, text string) event {
	return event{"response.output_text.delta",
		map[string]any{
			"type":            "response.output_text.delta",
			"sequence_number": 1,
			"item_id":         fmt.Sprintf("msg_%d", c.Number),
			"output_index":    0,
			"content_index":   0,
			"delta":           text,
		}}
}

func (responses) end(c *Call, r *Reply, u usage) []event {
	return []event{
		{"response.completed", map[string]any{
			"type":            "response.completed",
			"sequence_number": 2,
			"response":        response(c, r, u, "completed"),
		}},
	}
}
