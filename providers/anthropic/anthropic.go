// Package anthropic implements Anthropic Messages, for Anthropic's own API and for the services
// that copy it.
//
//	llm.Request ──► body (thinking by generation, messages, cache marks) ──► POST v1/messages
//	server-sent events, or one JSON body ──► blocks ──► llm.Events
//
// Signed, encrypted and unknown data stays JSON text from the wire to Part.State and back, byte for
// byte. Therefore the package does not use the types of Anthropic's SDK, which take blocks apart
// and rebuild them. If a server refuses an optional field or its own thinking, the request is sent
// again without it. A model's features follow from its id; unknown ids are treated like the newest.
// Errors are *llm.Error.
package anthropic

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"sync"

	"parley/providers/adapter"
	"parley/providers/filter"
	"parley/providers/llm"
)

// Family is the Messages API.
var Family = adapter.Family{
	Kinds: []string{"anthropic"},
	New:   func(o Options) llm.Model { return New(o) },
	Traits: func(o Options) adapter.Traits {
		t := adapter.Traits{Origin: origin(o.Model), SearchesWeb: searchesWeb(o)}
		if factsOf(o).claude {
			t.Files = []string{"application/pdf"}
		}
		return t
	},
	Headers: headers,
}

// apiVersion is the version of the API: https://platform.claude.com/docs/en/api/versioning
const apiVersion = "2023-06-01"

// Options describe a Model and its service. BaseURL has no "messages" at the end; a final "v1"
// makes no difference. A header "anthropic-beta" is added to parley's, and "tools" in Body are
// added to those of the request.
type Options = adapter.Options

// A Model is a model at an endpoint for Messages.
type Model struct {
	o           Options
	facts       facts
	onAnthropic bool // the host is Anthropic's
	onVertex    bool // Google serves it; see isVertex
	client      adapter.Client
	notices     llm.Notices // notices already shown to the user
	histories   adapter.Histories[*history]

	mu              sync.Mutex
	maxOutput       int               // largest output limit that the server accepts, in tokens; 0 if unknown
	refusedThinking map[[32]byte]bool // thinking that the server refused back
}

// New returns the model that o describes. It sends nothing.
func New(o Options) *Model {
	o = o.WithDefaults()
	return &Model{
		o:               o,
		facts:           factsOf(o),
		onAnthropic:     o.IsHost(anthropicHost),
		onVertex:        isVertex(o.BaseURL),
		client:          adapter.Client{HTTP: o.HTTP, Headers: headers(o)},
		refusedThinking: map[[32]byte]bool{},
	}
}

// headers returns the headers of every request to the service of o.
func headers(o Options) map[string]string {
	own := []string{"X-Api-Key"}
	if !o.IsHost(anthropicHost) { // gateways expect the key in either header
		own = append(own, "Authorization")
	}
	headers := o.RequestHeaders(own...)
	headers["Anthropic-Version"] = cmp.Or(headers["Anthropic-Version"], apiVersion)
	return headers
}

// anthropicHost is Anthropic's own host.
const anthropicHost = "api.anthropic.com"

// Origin names the wire format and the model: thinking is valid only for the model that wrote it,
// on any server.
func (m *Model) Origin() string { return origin(m.o.Model) }

// origin returns the origin of the model with this id.
func origin(model string) string { return "anthropic/" + factsOf(Options{Model: model}).name }

// Stream implements llm.Model.
func (m *Model) Stream(ctx context.Context, req llm.Request) llm.Stream {
	s := m.o.Produce(ctx, func(ctx context.Context, out *llm.Out) error { return m.answer(ctx, req, out) })
	if m.facts.claude {
		return s
	}
	return filter.Calls(req)(filter.Think(filter.Harmony(m.o.Model)(s)))
}

// maxPauses bounds how often a paused answer is continued.
const maxPauses = 16

// answer reads one answer, sending it back each time the server pauses to work with its own tools.
func (m *Model) answer(ctx context.Context, req llm.Request, out *llm.Out) error {
	a := &answer{out: out, names: adapter.NamesOf(req.Tools, adapter.WireName), needsSignature: m.facts.claude}
	var t attemptState
	for range maxPauses {
		res, err := m.sendWithDowngrades(ctx, req, &t, out)
		if err != nil || res == nil {
			return err
		}
		err = adapter.Read(io.LimitReader(res.Body, maxAnswer), out, a)
		res.Body.Close()
		if err != nil || !a.isPaused() {
			return err
		}
		t.pausedBlocks = slices.Concat(t.pausedBlocks, a.nextRound())
	}
	a.sendUsage()
	return &llm.Error{Fault: llm.Server, Code: stopPause, Message: "the answer paused again and again"}
}

// maxAttempts bounds how often a request is sent if the server refuses another field each time.
const maxAttempts = 5

// sendWithDowngrades sends req, and resends it with the downgrades that the server requires. The
// caller closes the response body; res is nil once the consumer has left.
func (m *Model) sendWithDowngrades(ctx context.Context, req llm.Request, t *attemptState, out *llm.Out) (res *http.Response, err error) {
	err = adapter.Sender{
		Options: m.o, Notices: &m.notices, Attempts: maxAttempts, Extra: req.Options,
		Compile: func(whole bool) (map[string]any, []string) { return m.compile(req, *t, whole) },
		Send: func(body map[string]any) (err error) {
			res, err = m.post(ctx, body)
			return err
		},
		Downgrade: func(fault *llm.Error, body map[string]any) (string, bool) { return m.downgrade(fault, body, t) },
	}.Do(ctx, out)
	return res, err
}

// post sends body. The caller closes the response body.
func (m *Model) post(ctx context.Context, body map[string]any) (*http.Response, error) {
	var more map[string]string
	if betas := m.betas(body); betas != "" {
		more = map[string]string{"Anthropic-Beta": betas}
	}
	return m.client.Post(ctx, m.requestURL, body, more)
}
