package openai

import (
	"cmp"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/adapter"
	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/llm/share"
	"parley/tools/lazy"
)

// An endpoint is the part shared by both wire formats: the connection to a server and its learned
// limits.
type endpoint struct {
	format  format
	path    string // relative to the base URL
	o       Options
	client  sdk.Client
	notices llm.Notices // notices already shown to the user

	multipleChoices bool // a request can ask for several answers
}

// A format is one of the two wire formats.
type format interface {
	// compile encodes req as a request body. The notices say what was omitted; see adapter.Sender.
	compile(req llm.Request, whole bool) (body map[string]any, notices []string)
	// findDowngrade returns the downgrade for the part of body that the error is about.
	findDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool)
	// explain clarifies the message of an error about body.
	explain(fault *llm.Error, body map[string]any)
	// read decodes the response to req into events, and reports whether any of them shows content.
	read(req llm.Request, body io.Reader, out *llm.Out) (shown bool, err error)
	// salvage recovers the model's output from an error of a server that could not parse it.
	salvage(fault *llm.Error, req llm.Request, out *llm.Out) bool
}

// newEndpoint returns the endpoint at path below the base URL. It sends nothing.
func newEndpoint(o Options, path string, f format) *endpoint {
	o = o.WithDefaults()
	return &endpoint{format: f, path: path, o: o, client: sdk.Client{Options: clientOptions(o)}}
}

// clientOptions returns the options for an SDK client made as a literal, to send requests to the server
// of o, whose client must be set. The literal avoids sdk.NewClient, which reads a base URL, keys
// and headers from the environment that belong to OpenAI, not to this server.
func clientOptions(o Options) []option.RequestOption {
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithAPIKey(cmp.Or(o.Key, "none")), // the SDK requires a key
		option.WithMaxRetries(0),
		option.WithHTTPClient(o.HTTP),
	}
	if o.KeyHeader != "" {
		opts = append(opts, option.WithHeaderDel("Authorization"))
	}
	for name, value := range o.RequestHeaders("") {
		opts = append(opts, option.WithHeader(name, value))
	}
	return opts
}

// stream answers req. If clean is false, the model may leave thinking, calls and template tokens in
// its text, which are filtered.
func (e *endpoint) stream(ctx context.Context, req llm.Request, clean bool) llm.Stream {
	s := e.o.Produce(ctx, func(ctx context.Context, out *llm.Out) error { return e.sendWithDowngrades(ctx, req, out) })
	if clean {
		return s
	}
	return filter.Calls(req)(filter.Think(filter.Harmony(e.o.Model)(s)))
}

// maxAttempts bounds how often a request is sent if the server refuses another field each time.
const maxAttempts = 4

// sendWithDowngrades sends req, resends it without the optional fields that the server refuses, and
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

// unreadableCodes holds Groq's error codes for a call or a structured answer that it could not
// parse.
var unreadableCodes = map[string]bool{"tool_use_failed": true, "json_validate_failed": true}

// retryTemperature is the temperature for a retry after malformed output: models make fewer
// mistakes at a low one.
const retryTemperature = 0.2

// attempt sends body and reads the answer. Shown reports whether the user has seen any of it.
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

// post sends body and returns the response body.
func (e *endpoint) post(ctx context.Context, body map[string]any) (io.ReadCloser, error) {
	data, err := adapter.EncodeBody(body, false)
	if err != nil {
		return nil, adapter.Unsendable(err)
	}
	var res, arrived *http.Response
	put := func(r *http.Request, next option.MiddlewareNext) (_ *http.Response, err error) {
		data.PutInto(r)
		arrived, err = next(r)
		return arrived, err
	}
	if err = e.client.Post(ctx, e.path, []byte{}, &res, option.WithMiddleware(put)); err != nil {
		if arrived != nil && arrived.Body != nil { // up to 3.78, the SDK leaves it open if ctx ends just as it arrives
			arrived.Body.Close()
		}
		return nil, err
	}
	return res.Body, nil
}

// share sends body together with the candidates that send the same request, and returns the
// response to all; nil if this answer must be requested alone.
func (e *endpoint) share(ctx context.Context, body map[string]any) (*share.Body, error) {
	candidate := share.CandidateOf(ctx)
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

// A sharedError is the error of a request for several answers.
type sharedError struct{ error }

func (e sharedError) Unwrap() error { return e.error }

// errFewer ends an answer that was requested together with others but did not arrive.
var errFewer = errors.New("the server gave fewer answers than it was asked for")

// shouldAskAlone reports whether to request an answer alone after the request for several failed
// with err, and returns a notice for the user. A refusal may be about several answers without
// saying so.
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

// refusesSeveral matches errors of servers that do not give several answers: "n must be 1 when
// using greedy sampling" (vLLM), "Only one completion choice is allowed" (llama.cpp), "'n' : number
// must be at most 1" (Groq).
var refusesSeveral = lazy.NewRegexp(`(?i)(^|[^a-z0-9_])n['"` + "`" + `]? ?(:|=|>|must|should|is|has|not|greater|larger|cannot|can only)|only one (completion )?choice|multiple (completions|choices|answers)`)
