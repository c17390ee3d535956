package openai

import (
	"context"
	"errors"
	"io"
	"maps"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
	"parley/providers/adapter/openaiclient"
	"parley/providers/filter"
	"parley/providers/llm"
	"parley/tools/lazy"
)

// An endpoint is what both wire formats share: the connection to a server, and its learned limits.
type endpoint struct {
	format  format
	path    string // after the base URL
	o       Options
	client  sdk.Client
	notices llm.Notices // those the user has seen

	multipleChoices bool // one request may ask for several answers
}

// A format is what differs between the two wire formats.
type format interface {
	// compile writes req as the body of a request, and what of it had to be left
	// out, for the user to see; see adapter.Sender.
	compile(req llm.Request, whole bool) (body map[string]any, notices []string)
	// findDowngrade finds what the server complains about in body.
	findDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool)
	// explain makes plainer what an error says about body.
	explain(fault *llm.Error, body map[string]any)
	// read turns the body of a response to req into events, and reports whether
	// there were any that show something.
	read(req llm.Request, body io.Reader, out *llm.Out) (shown bool, err error)
	// salvage finds in an error what the model wrote, where the server could make
	// nothing of it.
	salvage(fault *llm.Error, req llm.Request, out *llm.Out) bool
}

// newEndpoint returns the endpoint at path below the base URL. Nothing is sent.
func newEndpoint(o Options, path string, f format) *endpoint {
	o = o.WithDefaults()
	return &endpoint{format: f, path: path, o: o, client: sdk.Client{Options: openaiclient.Options(o)}}
}

// stream answers req. Models that are not known to be clean may leave thinking,
// calls and tokens of their template in their text.
func (e *endpoint) stream(ctx context.Context, req llm.Request, clean bool) llm.Stream {
	s := e.o.Produce(ctx, func(ctx context.Context, out *llm.Out) error { return e.sendWithDowngrades(ctx, req, out) })
	if clean {
		return s
	}
	return filter.Calls(req)(filter.Think(filter.ThinkOptions{})(filter.Harmony(e.o.Model)(s)))
}

// maxAttempts bounds how often a request is sent that the server keeps refusing,
// each time without something else.
const maxAttempts = 4

// sendWithDowngrades sends req, repeats it without optional fields that the server refuses, and
// reads the answer.
func (e *endpoint) sendWithDowngrades(ctx context.Context, req llm.Request, out *llm.Out) error {
	if req.AfterMistake {
		cool := retryTemperature
		if t := req.Temperature; t != nil {
			cool = min(*t, cool)
		}
		req.Temperature = &cool
	}
	return adapter.Sender{
		Options: e.o, Notices: &e.notices, Attempts: maxAttempts, Extra: req.Options, Downgrade: e.downgrade, Explain: e.format.explain,
		Compile: func(whole bool) (map[string]any, []string) { return e.format.compile(req, whole) },
		Send: func(body map[string]any) error {
			shown, err := e.attempt(ctx, req, body, out)
			switch {
			case err == nil || ctx.Err() != nil:
				return err
			case shown:
				return adapter.Final{Err: err}
			}
			fault := e.o.WithProvider(err)
			if notice, ok := e.shouldAskAlone(err, fault); ok {
				e.notices.SendOnce(out, notice)
				return adapter.ErrAgain
			}
			if !unreadableCodes[fault.Code] {
				return err
			}
			if e.format.salvage(fault, req, out) {
				return nil
			}
			fault.Mistake = true
			return adapter.Final{Err: fault}
		},
	}.Do(ctx, out)
}

// unreadableCodes holds Groq's codes for a call, or an answer by a schema, that it could
// not read.
var unreadableCodes = map[string]bool{"tool_use_failed": true, "json_validate_failed": true}

// retryTemperature is the temperature for another attempt at what was misspelled: models
// spell better at a lower one.
const retryTemperature = 0.2

// attempt sends body and reads the answer. Shown reports whether the user has seen
// any of it.
func (e *endpoint) attempt(ctx context.Context, req llm.Request, body map[string]any, out *llm.Out) (shown bool, err error) {
	var answers io.ReadCloser
	shared, err := e.share(ctx, body)
	switch {
	case err != nil:
		return false, err
	case shared != nil:
		answers = shared
	default:
		if answers, err = e.post(ctx, body); err != nil {
			return false, err
		}
	}
	defer answers.Close()
	return e.format.read(req, answers, out)
}

// post sends body, and returns that of the response.
func (e *endpoint) post(ctx context.Context, body map[string]any) (io.ReadCloser, error) {
	data, err := adapter.EncodeBody(body, false)
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	put := func(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		data.PutInto(r)
		return next(r)
	}
	var res *http.Response
	var left openaiclient.Unclosed
	if err = e.client.Post(ctx, e.path, []byte{}, &res, left.Option(), option.WithMiddleware(put)); err != nil {
		left.Close()
		return nil, err
	}
	return res.Body, nil
}

// share sends body together with the candidates that ask for the same, and
// returns the response to all; nil if this answer is to be asked for alone.
func (e *endpoint) share(ctx context.Context, body map[string]any) (*llm.SharedBody, error) {
	candidate := llm.CandidateOf(ctx)
	if _, fixed := body[adapter.LimitCandidates]; candidate == nil || fixed || !e.multipleChoices || e.o.Learned.Has(adapter.LimitCandidates) {
		candidate.Leave()
		return nil, nil
	}
	data, err := adapter.EncodeBody(body, false)
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	shared, err := candidate.Share(ctx, e.o.BaseURL+"\x00"+string(data.Bytes()), func(ctx context.Context, n int) (io.ReadCloser, error) {
		wanted := maps.Clone(body)
		wanted[adapter.LimitCandidates] = n
		return e.post(ctx, wanted)
	})
	if err != nil && ctx.Err() == nil {
		err = sharedError{err}
	}
	return shared, err
}

// A sharedError is why a request for several answers got none.
type sharedError struct{ error }

func (e sharedError) Unwrap() error { return e.error }

// errFewer ends an answer that was asked for with others, and did not come with
// them.
var errFewer = errors.New("the server gave fewer answers than it was asked for")

// shouldAskAlone reports whether an answer that was asked for with others, which failed
// with err, is to be asked for alone, and what to tell the user of it. A refusal
// may be about several answers although it does not say so.
func (e *endpoint) shouldAskAlone(err error, fault *llm.Error) (notice string, ok bool) {
	fewer := errors.Is(err, errFewer)
	if !fewer && !(errors.As(err, &sharedError{}) && adapter.MayBlameField(fault)) {
		return "", false
	}
	if !fewer && fault.Param != adapter.LimitCandidates && !refusesSeveral.MatchString(fault.Message) {
		return "", true
	}
	e.o.Learned.Learn(adapter.LimitCandidates, "", true)
	return e.o.Model + " gives one answer to a request; the others are asked for by themselves, and the prompt is paid for in each", true
}

// refusesSeveral matches what servers say that do not give several answers: "n must be 1 when
// using greedy sampling" (vLLM), "Only one completion choice is allowed"
// (llama.cpp), "'n' : number must be at most 1" (Groq).
var refusesSeveral = lazy.NewRegexp(`(?i)(^|[^a-z0-9_])n['"` + "`" + `]? ?(:|=|>|must|should|is|has|not|greater|larger|cannot|can only)|only one (completion )?choice|multiple (completions|choices|answers)`)
