// Package gemini speaks the Gemini API in its own words.
//
//	llm.Request ──► body (contents, tools, generationConfig) ──► models/ID:streamGenerateContent
//	server-sent events, or one JSON body ──► chunk ──► answer ──► llm.Events
//
// There is no SDK in it; send says why. What models differ in, thinking above
// all, is a table, read off the model's id. Thought signatures stay on the very part that
// brought them and go back as they came. A server that refuses an optional
// field gets the request once more without it, and never again with it. Errors
// are *llm.Error.
package gemini

import (
	"context"
	"encoding/json"
	"net/http"

	"parley/providers/llm"
	"parley/providers/wire"
)

// Kind is what the configuration calls this family.
const Kind = "gemini"

// Options say whom a Model talks to.
type Options struct {
	Provider string              // as configured, for errors
	Model    string              // id on the wire, with or without "models/"
	BaseURL  string              // with the version, such as ".../v1beta"; without one, v1beta is added; "" is Google's own
	Key      string              // never printed; may be empty for servers that want none
	KeyName  string              // where the key comes from, such as "GEMINI_API_KEY"
	Headers  map[string]string   // go with every request
	HTTP     *http.Client        // its transport turns what is not an answer into *llm.Error
	NoStream bool                // ask for whole answers
	Body     map[string]any      // extra request fields: objects are merged into those of the request, lists added to them, the rest wins
	Learned  *wire.LearnedLimits // what the server taught so far; nil is the model's own
}

// A Model is a model behind the Gemini API.
type Model struct {
	o       Options
	traits  traits
	notices llm.Notices // those the user has seen
}

// New returns the model that o describes. Nothing is sent before Stream.
func New(o Options) *Model {
	if o.BaseURL == "" {
		o.BaseURL = googleURL
	}
	if o.HTTP == nil {
		o.HTTP = wire.Client(wire.Options{Provider: o.Provider, URL: o.BaseURL, Key: o.KeyName, Secrets: []string{o.Key}})
	}
	if o.Learned == nil {
		o.Learned = &wire.LearnedLimits{}
	}
	return &Model{o: o, traits: traitsOf(o.Model)}
}

// Origin names the wire format and the generation of the model: signatures are
// good for their own generation.
func (m *Model) Origin() string { return Origin(m.o.Model) }

// Origin is that of a model with this id.
func Origin(model string) string { return "gemini/" + traitsOf(model).generation() }

// Body returns exactly what Stream would send for req.
func (m *Model) Body(req llm.Request) ([]byte, error) {
	body, _ := m.compile(req)
	return json.Marshal(body) // as send does
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return llm.Produce(ctx, func(ctx context.Context, out *llm.Out) error {
		err := m.ask(ctx, req, out)
		if err == nil || ctx.Err() != nil {
			return err
		}
		return m.withProvider(err)
	})
}

const (
	maxAttempts      = 5  // how often a request is sent that the server keeps refusing, each time without something else
	maxContinuations = 32 // how many requests one long answer may take
)

// ask sends req and reads the answer, in as many requests as it takes.
func (m *Model) ask(ctx context.Context, req llm.Request, out *llm.Out) error {
	a := answer{out: out, names: originalNames(req.Tools)}
	token := ""
	for leg := 1; !out.Stopped(); leg++ {
		res, err := m.post(ctx, req, token, out)
		if err == nil {
			err = a.readBody(res.Body)
			res.Body.Close()
		}
		flaw := a.mistake()
		switch {
		case err != nil:
			a.sendUsage()
			return err
		case a.continuation != "" && leg < maxContinuations:
			token = a.continuation
			a.nextRequest()
		case flaw == nil:
			return a.finishAnswer()
		default:
			a.sendUsage()
			return flaw
		}
	}
	return nil
}

// post sends req, or, with a token, what makes the answer to it go on. A field
// that the server refuses is left out, once and for all. The caller closes the
// body of the response.
func (m *Model) post(ctx context.Context, req llm.Request, token string, out *llm.Out) (*http.Response, error) {
	for attempt := 1; ; attempt++ {
		known := m.o.Learned.Revision()
		body, notices := m.compile(req)
		m.notices.SendOnce(out, notices...)
		if token != "" {
			body["continuationToken"] = token
		}
		res, err := m.send(ctx, body)
		if err == nil || ctx.Err() != nil || out.Stopped() {
			return res, err
		}
		fault := m.withProvider(err)
		notice, resend := "", false
		m.o.Learned.Judge(known, func(changed bool) {
			if changed && fault.Status == http.StatusBadRequest {
				resend = true // a request beside this one was refused as well, and learned from it
				return
			}
			notice, resend = m.downgrade(fault, body)
		})
		if !resend || attempt == maxAttempts {
			markNoTools(fault, body)
			return nil, fault
		}
		m.notices.SendOnce(out, notice)
	}
}

// withProvider fills in who failed.
func (m *Model) withProvider(err error) *llm.Error {
	return wire.WithProvider(err, wire.Options{Provider: m.o.Provider, URL: m.o.BaseURL, Key: m.o.KeyName})
}
