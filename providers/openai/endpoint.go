package openai

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"parley/providers/filter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// An endpoint is what both wire formats share: the way to the server, and what
// it has taught so far.
type endpoint struct {
	format  format
	path    string // behind the base URL
	o       Options
	client  sdk.Client
	told    llm.Notices         // those the user has seen
	learned *wire.LearnedLimits // request fields this server refused; see heal
}

// A format is what sets them apart.
type format interface {
	// compile writes req as the body of a request, and what of it had to be left
	// out, for the user to see.
	compile(req llm.Request) (body map[string]any, notices []string)
	// cure finds what the server complains about in body.
	cure(fault *llm.Error, body map[string]any) (remedy, bool)
	// explain makes plainer what an error says about body.
	explain(fault *llm.Error, body map[string]any)
	// read turns the body of a response to req into events, and reports whether
	// there were any that show something.
	read(req llm.Request, body io.Reader, out *llm.Out) (shown bool, err error)
	// salvage finds in an error what the model wrote, where the server could make
	// nothing of it.
	salvage(fault *llm.Error, req llm.Request, out *llm.Out) bool
}

// dial returns the endpoint at path behind the base URL. Nothing is sent.
func dial(o Options, path string, f format) *endpoint {
	if o.HTTP == nil {
		o.HTTP = wire.Client(wire.Options{Provider: o.Provider, URL: o.BaseURL, Key: o.KeyName, Secrets: []string{o.Key}})
	}
	key := o.Key
	if key == "" {
		key = "none" // the SDK sends no request without one
	}
	// The literal keeps out what sdk.NewClient reads from the environment: a
	// base URL, keys and headers that are OpenAI's, not this server's.
	opts := []option.RequestOption{
		option.WithBaseURL(o.BaseURL),
		option.WithAPIKey(key),
		option.WithMaxRetries(0),
		option.WithHTTPClient(o.HTTP),
	}
	if official(o.BaseURL) {
		if id := os.Getenv("OPENAI_ORG_ID"); id != "" {
			opts = append(opts, option.WithOrganization(id))
		}
		if id := os.Getenv("OPENAI_PROJECT_ID"); id != "" {
			opts = append(opts, option.WithProject(id))
		}
	}
	for name, value := range o.Headers {
		opts = append(opts, option.WithHeader(name, value))
	}
	learned := o.Learned
	if learned == nil {
		learned = &wire.LearnedLimits{}
	}
	return &endpoint{format: f, path: path, o: o, client: sdk.Client{Options: opts}, learned: learned}
}

// official reports whether a base URL is OpenAI's own.
func official(base string) bool {
	u, err := url.Parse(base)
	return err == nil && u.Hostname() == "api.openai.com"
}

// Body returns exactly what Stream would send for req.
func (e *endpoint) Body(req llm.Request) ([]byte, error) {
	body, _ := e.format.compile(req)
	return marshal(body)
}

// stream answers req. Models that are not known to be clean may leave thinking,
// calls and tokens of their template in their text.
func (e *endpoint) stream(ctx context.Context, req llm.Request, clean bool) llm.Stream {
	s := llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := e.ask(ctx, req, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return e.named(err)
	})
	if clean {
		return s
	}
	return filter.Calls(req)(filter.Think(filter.ThinkOptions{})(filter.Ends(s)))
}

// attempts bounds how often a request is sent that the server keeps refusing,
// each time without something else.
const attempts = 4

// ask sends req, again where the server can be humoured, and reads the answer.
func (e *endpoint) ask(ctx context.Context, req llm.Request, out *llm.Out) error {
	if req.Misread {
		cool := coolest
		if t := req.Temperature; t != nil {
			cool = min(*t, cool)
		}
		req.Temperature = &cool
	}
	for attempt := 1; !out.Stopped(); attempt++ {
		body, notices := e.format.compile(req)
		e.told.Tell(out, notices...)
		shown, err := e.once(ctx, req, body, out)
		if err == nil || shown || ctx.Err() != nil {
			return err
		}
		fault := e.named(err)
		if misspelled[fault.Code] {
			if e.format.salvage(fault, req, out) {
				return nil
			}
			fault.Mistake = true
			return fault
		}
		notice, ok := e.heal(fault, body)
		if !ok || attempt == attempts {
			e.format.explain(fault, body)
			return fault
		}
		e.told.Tell(out, notice)
	}
	return nil
}

// misspelled are Groq's codes for a call, or an answer by a schema, that it could
// not read.
var misspelled = map[string]bool{"tool_use_failed": true, "json_validate_failed": true}

// coolest is the temperature for another attempt at what was misspelled: models
// spell better at a lower one.
const coolest = 0.2

// once sends body and reads the answer. Shown reports whether the user has seen
// any of it.
func (e *endpoint) once(ctx context.Context, req llm.Request, body map[string]any, out *llm.Out) (shown bool, err error) {
	res, err := e.post(ctx, body)
	if err != nil {
		return false, err
	}
	defer res.Body.Close()
	return e.format.read(req, res.Body, out)
}

// post sends body. The caller closes the response's.
func (e *endpoint) post(ctx context.Context, body map[string]any) (*http.Response, error) {
	data, err := marshal(body)
	if err != nil {
		return nil, &llm.Error{Fault: llm.InvalidRequest, Message: err.Error()}
	}
	var res *http.Response
	err = e.client.Post(ctx, e.path, data, &res)
	return res, err
}

// named fills in who failed.
func (e *endpoint) named(err error) *llm.Error {
	return wire.Named(err, wire.Options{Provider: e.o.Provider, URL: e.o.BaseURL, Key: e.o.KeyName})
}
