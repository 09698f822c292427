package llmtest

import (
	"maps"
	"slices"
	"time"
)

// A fault is an error of a provider.
type fault struct {
	status     int
	kind       string // Anthropic's type; OpenAI's where it has the same
	openai     string // OpenAI's type
	code       string // OpenAI's code
	param      string
	message    string // OpenAI's words
	anthropic  string // Anthropic's, when they differ
	own        int    // Anthropic's status, when it differs
	retryAfter time.Duration
}

// faults are the errors that a script can ask for. MODEL and KEY stand for the
// call's.
var faults = map[string]fault{
	"bad-key": {status: 401, kind: "authentication_error", openai: "invalid_request_error", code: "invalid_api_key",
		message: "Incorrect API key provided: KEY. You can find your API key at " +
			"https://platform.openai.com/account/api-keys.",
		anthropic: "invalid x-api-key"},
	"forbidden": {status: 403, kind: "permission_error", openai: "invalid_request_error",
		code:    "unsupported_country_region_territory",
		message: "Your key does not have the permission to use the model MODEL."},
	"unknown-model": {status: 404, kind: "not_found_error", openai: "invalid_request_error", code: "model_not_found",
		message: "The model `MODEL` does not exist or you do not have access to it.", anthropic: "model: MODEL"},
	"context-too-long": {status: 400, kind: "invalid_request_error", openai: "invalid_request_error",
		code: "context_length_exceeded", param: "messages",
		message: "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 " +
			"tokens. Please reduce the length of the messages.",
		anthropic: "prompt is too long: 210000 tokens > 200000 maximum"},
	"too-large": {status: 413, kind: "request_too_large", openai: "invalid_request_error",
		message: "Request exceeds the maximum size"},
	"rate-limited": {status: 429, kind: "rate_limit_error", openai: "requests", code: "rate_limit_exceeded",
		message: "Rate limit reached for MODEL on requests per min (RPM): Limit 3, Used 3, Requested 1."},
	"unpaid": {status: 429, own: 400, kind: "invalid_request_error", openai: "insufficient_quota",
		code:    "insufficient_quota",
		message: "You exceeded your current quota, please check your plan and billing details.",
		anthropic: "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to " +
			"upgrade or purchase credits."},
	"server": {status: 500, kind: "api_error", openai: "server_error",
		message:   "The server had an error while processing your request. Sorry about that!",
		anthropic: "Internal server error"},
	"bad-gateway": {status: 502, kind: "api_error", openai: "server_error", message: "Bad gateway"},
	"overloaded": {status: 503, own: 529, kind: "overloaded_error", openai: "server_error",
		message: "The engine is currently overloaded, please try again later", anthropic: "Overloaded"},
	"refused": {status: 400, kind: "invalid_request_error", openai: "invalid_request_error",
		code: "content_policy_violation", message: "Your request was rejected as a result of our safety system."},
	"max_tokens": {status: 400, kind: "invalid_request_error", openai: "invalid_request_error",
		code: "unsupported_parameter", param: "max_tokens",
		message: "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' " +
			"instead."},
	"temperature": {status: 400, kind: "invalid_request_error", openai: "invalid_request_error",
		code: "unsupported_value", param: "temperature",
		message: "Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) " +
			"value is supported.",
		anthropic: "`temperature` is deprecated for this model."},
	"stream_options": {status: 400, kind: "invalid_request_error", openai: "invalid_request_error",
		param: "stream_options", message: "Unrecognized request argument supplied: stream_options"},
}

// Faults returns the names of the errors that a script can ask for.
func Faults() []string { return slices.Sorted(maps.Keys(faults)) }

func (f fault) asOpenAI() any {
	kind := f.openai
	if kind == "" {
		kind = f.kind
	}
	return map[string]any{
		"error": map[string]any{"message": f.message, "type": kind, "param": orNull(f.param), "code": orNull(f.code)},
	}
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (f fault) asAnthropic() any {
	message := f.anthropic
	if message == "" {
		message = f.message
	}
	return map[string]any{
		"type":       "error",
		"error":      map[string]any{"type": f.kind, "message": message},
		"request_id": "req_llmtest",
	}
}
