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
	"net/http"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// Family is the Gemini API.
var Family = adapter.Family{
	Kinds: []string{"gemini"},
	New:   func(o Options) llm.Model { return New(o) },
	Traits: func(o Options) adapter.Traits {
		return adapter.Traits{Origin: origin(o.BaseURL, o.Model), Files: files, SearchesWeb: !traitsOf(o.Model).gemma, HasSchema: true}
	},
	Headers: headers,
	BaseURL: withVersion,
}

// Options say whom a Model talks to. Model may begin with "models/"; BaseURL has the
// version, such as ".../v1beta", which is added if it has none, and "" is Google's own;
// of Body, objects are merged into those of the request, lists added to them, and the
// rest wins.
type Options = adapter.Options

// A Model is a model at the Gemini API.
type Model struct {
	o         Options
	traits    traits
	histories adapter.Histories[*history]
	notices   llm.Notices // those the user has seen
}

// New returns the model that o describes. Nothing is sent before Stream.
func New(o Options) *Model {
	if o.BaseURL == "" {
		o.BaseURL = googleURL
	}
	return &Model{o: o.WithDefaults(), traits: traitsOf(o.Model), histories: adapter.Histories[*history]{EscapeHTML: true}}
}

// Origin names the wire format and the generation of the model: signatures are
// good for their own generation.
func (m *Model) Origin() string { return origin(m.o.BaseURL, m.o.Model) }

// origin returns the origin of a model with this id at a base URL. Signatures of Vertex AI
// and of the Gemini API are not good for each other.
func origin(base, model string) string {
	if isVertex(base) {
		return "gemini-vertex/" + traitsOf(model).generation()
	}
	return "gemini/" + traitsOf(model).generation()
}

// isVertex reports whether a base URL is of the form in which Vertex AI has models of Google's.
func isVertex(base string) bool {
	return strings.HasSuffix(strings.TrimRight(base, "/"), "/publishers/google")
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return m.o.Produce(ctx, func(ctx context.Context, out *llm.Out) error { return m.ask(ctx, req, out) })
}

const (
	maxAttempts      = 5  // how often a request is sent that the server keeps refusing, each time without something else
	maxContinuations = 32 // how many requests one long answer may take
)

// ask sends req and reads the answer, in as many requests as it takes.
func (m *Model) ask(ctx context.Context, req llm.Request, out *llm.Out) error {
	a := answer{out: out, names: adapter.NamesOf(req.Tools, wireName), grounded: grounded{onePrice: !m.traits.isGemini3()}}
	token := ""
	for n := 1; !out.Stopped(); n++ {
		res, err := m.post(ctx, req, token, out)
		if err == nil && res == nil {
			return nil
		}
		if err == nil {
			err = a.readBody(res.Body)
			res.Body.Close()
		}
		flaw := a.mistake()
		switch {
		case err != nil:
			a.sendUsage()
			return err
		case a.continuation != "" && n < maxContinuations:
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
// body of the response; there is none once the consumer has left.
func (m *Model) post(ctx context.Context, req llm.Request, token string, out *llm.Out) (res *http.Response, err error) {
	err = adapter.Sender{
		Options: m.o, Notices: &m.notices, Attempts: maxAttempts, Extra: req.Options, Downgrade: m.downgrade, Explain: markNoTools,
		Compile: func(whole bool) (map[string]any, []string) {
			body, notices := m.compile(req, whole)
			if token != "" {
				body["continuationToken"] = token
			}
			return body, notices
		},
		Send: func(body map[string]any) (err error) {
			res, err = m.send(ctx, body)
			return err
		},
	}.Do(ctx, out)
	return res, err
}
