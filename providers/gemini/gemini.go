// Package gemini implements the Gemini API.
//
//	llm.Request ──► body (contents, tools, generationConfig) ──► models/ID:streamGenerateContent
//	server-sent events, or one JSON body ──► chunk ──► answer ──► llm.Events
//
// It does not use Google's SDK; send explains why. Differences between models, mainly in thinking,
// are a table, selected by the model's id. Thought signatures stay on the part they came with and
// go back unchanged. If a server refuses an optional field, the request is sent again without it,
// and later requests omit it. Errors are *llm.Error.
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

// Options describe a Model and its service. Model may begin with "models/". BaseURL contains the
// version, such as ".../v1beta", which is added if missing; "" is Google's own. Of Body, objects
// are merged into those of the request, lists are appended, and other values replace them.
type Options = adapter.Options

// A Model is a model at the Gemini API.
type Model struct {
	o         Options
	traits    traits
	histories adapter.Histories[*history]
	notices   llm.Notices // notices already shown to the user
}

// New returns the model that o describes. It sends nothing.
func New(o Options) *Model {
	if o.BaseURL == "" {
		o.BaseURL = googleURL
	}
	return &Model{o: o.WithDefaults(), traits: traitsOf(o.Model), histories: adapter.Histories[*history]{EscapeHTML: true}}
}

// Origin names the wire format and the generation of the model: signatures are valid within their
// generation.
func (m *Model) Origin() string { return origin(m.o.BaseURL, m.o.Model) }

// origin returns the origin of the model with this id at a base URL. Vertex AI and the Gemini API
// do not accept each other's signatures.
func origin(base, model string) string {
	if isVertex(base) {
		return "gemini-vertex/" + traitsOf(model).generation()
	}
	return "gemini/" + traitsOf(model).generation()
}

// isVertex reports whether a base URL has Vertex AI's form for Google's models.
func isVertex(base string) bool {
	return strings.HasSuffix(strings.TrimRight(base, "/"), "/publishers/google")
}

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return m.o.Produce(ctx, func(ctx context.Context, out *llm.Out) error { return m.ask(ctx, req, out) })
}

const (
	maxAttempts      = 5  // number of times a request is sent if the server refuses another field each time
	maxContinuations = 32 // number of requests for one long answer
)

// ask sends req and reads the answer, in as many requests as necessary.
func (m *Model) ask(ctx context.Context, req llm.Request, out *llm.Out) error {
	a := answer{out: out, names: adapter.NamesOf(req.Tools, wireName), grounded: grounded{onePrice: !m.traits.isGemini3()}}
	token := ""
	for n := 1; !out.Stopped(); n++ {
		res, err := m.post(ctx, req, token, out)
		if err == nil && res == nil {
			return nil
		}
		if err == nil {
			err = adapter.Read(res.Body, out, &a)
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
			a.finishAnswer()
			return nil
		default:
			a.sendUsage()
			return flaw
		}
	}
	return nil
}

// post sends req or, if token is not "", the request that continues the answer. Fields that the
// server refuses are omitted from then on. The caller closes the response body; res is nil once the
// consumer has left.
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
