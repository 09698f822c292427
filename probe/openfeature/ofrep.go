package openfeature

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	of "github.com/open-feature/go-sdk/openfeature"
)

// OFREP is a provider of OpenFeature that asks a server by the OpenFeature Remote Evaluation
// Protocol, such as `beagle rollout start --listen`. Each evaluation is a request.
type OFREP struct {
	Address string // such as http://beagle:9110
	Token   string // sent as a bearer token when it is not empty
	Timeout time.Duration
}

// Metadata implements [of.FeatureProvider].
func (*OFREP) Metadata() of.Metadata { return of.Metadata{Name: "beagle-ofrep"} }

// Hooks implements [of.FeatureProvider].
func (*OFREP) Hooks() []of.Hook { return nil }

// maxReply bounds what a server may answer.
const maxReply = 1 << 20

// evaluate asks for one flag.
func (p *OFREP) evaluate(ctx context.Context, flag string, flat of.FlattenedContext) (v any,
	d of.ProviderResolutionDetail) {
	failed := func(err of.ResolutionError) (any, of.ProviderResolutionDetail) {
		return nil, of.ProviderResolutionDetail{ResolutionError: err, Reason: of.ErrorReason}
	}
	status, body, err := p.post(ctx, flag, flat)
	if err != nil {
		return failed(of.NewGeneralResolutionError(err.Error()))
	}
	var reply struct {
		Value   any
		Variant string
		Reason  of.Reason
		Details string `json:"errorDetails"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return failed(of.NewParseErrorResolutionError("the server answers no JSON of OFREP: " + err.Error()))
	}
	switch {
	case status == http.StatusNotFound:
		return failed(of.NewFlagNotFoundResolutionError(reply.Details))
	case status == http.StatusBadRequest:
		return failed(of.NewInvalidContextResolutionError(reply.Details))
	case status != http.StatusOK:
		return failed(of.NewGeneralResolutionError(fmt.Sprintf("the server answers %d: %s", status, reply.Details)))
	}
	return reply.Value, of.ProviderResolutionDetail{Reason: reply.Reason, Variant: reply.Variant}
}

// post asks the service for a flag. It returns the status and the body.
func (p *OFREP) post(ctx context.Context, flag string, flat of.FlattenedContext) (int, []byte, error) {
	timeout := p.Timeout
	if timeout == 0 {
		timeout = 2 * time.Second
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	body, err := json.Marshal(map[string]any{"context": flat})
	if err != nil {
		return 0, nil, err
	}
	at := p.Address + "/ofrep/v1/evaluate/flags/" + url.PathEscape(flag)
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, at, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	q.Header.Set("Content-Type", "application/json")
	if p.Token != "" {
		q.Header.Set("Authorization", "Bearer "+p.Token)
	}
	r, err := http.DefaultClient.Do(q)
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close()
	body, err = io.ReadAll(io.LimitReader(r.Body, maxReply))
	return r.StatusCode, body, err
}

// value returns an evaluation of one type.
func value[T any](p *OFREP, ctx context.Context, flag string, std T,
	flat of.FlattenedContext) of.GenericResolutionDetail[T] {
	v, d := p.evaluate(ctx, flag, flat)
	out := of.GenericResolutionDetail[T]{Value: std, ProviderResolutionDetail: d}
	if d.Error() != nil {
		return out
	}
	typed, ok := v.(T)
	if !ok {
		out.ResolutionError = of.NewTypeMismatchResolutionError(fmt.Sprintf("the flag's value is a %T", v))
		out.Reason = of.ErrorReason
		return out
	}
	out.Value = typed
	return out
}

// StringEvaluation implements [of.FeatureProvider].
func (p *OFREP) StringEvaluation(ctx context.Context, flag, std string,
	flat of.FlattenedContext) of.StringResolutionDetail {
	return value(p, ctx, flag, std, flat)
}

// BooleanEvaluation implements [of.FeatureProvider].
func (p *OFREP) BooleanEvaluation(ctx context.Context, flag string, std bool,
	flat of.FlattenedContext) of.BoolResolutionDetail {
	return value(p, ctx, flag, std, flat)
}

// FloatEvaluation implements [of.FeatureProvider].
func (p *OFREP) FloatEvaluation(ctx context.Context, flag string, std float64,
	flat of.FlattenedContext) of.FloatResolutionDetail {
	return value(p, ctx, flag, std, flat)
}

// IntEvaluation implements [of.FeatureProvider]. JSON has no integers of its own.
func (p *OFREP) IntEvaluation(ctx context.Context, flag string, std int64,
	flat of.FlattenedContext) of.IntResolutionDetail {
	d := value(p, ctx, flag, float64(std), flat)
	out := of.IntResolutionDetail{Value: int64(d.Value), ProviderResolutionDetail: d.ProviderResolutionDetail}
	if float64(out.Value) != d.Value {
		out.Value, out.Reason = std, of.ErrorReason
		out.ResolutionError = of.NewTypeMismatchResolutionError("the flag's value has a fraction")
	}
	return out
}

// ObjectEvaluation implements [of.FeatureProvider].
func (p *OFREP) ObjectEvaluation(ctx context.Context, flag string, std any,
	flat of.FlattenedContext) of.InterfaceResolutionDetail {
	return value(p, ctx, flag, std, flat)
}
