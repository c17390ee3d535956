package openai

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/tools/lazy"
)

// KindResponses is the kind of services with the Responses API.
const KindResponses = "openai-responses"

// ResponsesFamily is the Responses API.
var ResponsesFamily = adapter.Family{
	Kinds: []string{KindResponses},
	New:   func(o Options) llm.Model { return NewResponses(o) },
	Traits: func(o Options) adapter.Traits {
		return adapter.Traits{
			Origin: responsesOrigin(o.Model), Files: filesOf(responsesEncoder(!isXAI(o.Model), "")), SearchesWeb: true, HasSchema: true,
		}
	},
}

// Responses is a model at a Responses endpoint: OpenAI's, Azure's, xAI's, LM Studio's. The server
// stores nothing. The state it needs to continue, mainly encrypted reasoning, comes with each
// answer and goes back with each request.
type Responses struct {
	*endpoint
	model        Rules
	origin       string // replaces its own origin if not ""; see Grok
	known        bool   // model is known, not guessed
	histories    adapter.Histories[*inputWriter]
	mu           sync.Mutex
	refusedItems map[string]bool // items that the server refused back, by hash
}

// NewResponses returns the model that o describes. It sends nothing. In o.Body, lists are appended
// to those of the request and objects merged into them, so that the provider's own tools can be
// added to parley's.
func NewResponses(o Options) *Responses {
	r := &Responses{refusedItems: map[string]bool{}}
	r.model, r.known = familyOf(o.Model)
	r.endpoint = newEndpoint(o, "responses", r)
	return r
}

// Origin names the wire format and the model, since no other model can read its reasoning.
func (r *Responses) Origin() string { return cmp.Or(r.origin, responsesOrigin(r.o.Model)) }

func responsesOrigin(model string) string { return "responses/" + model }

// Stream implements llm.Model.
func (r *Responses) Stream(ctx context.Context, req llm.Request) llm.Stream {
	return r.stream(ctx, req, r.model.CleanText)
}

func (r *Responses) read(req llm.Request, body io.Reader, out *llm.Out) (bool, error) {
	o := responsesAnswer{answerState: answerState{out: out}, names: adapter.NamesOf(req.Tools, adapter.WireName)}
	err := adapter.Read(body, out, &o)
	return o.blocks > 0, err
}

func (r *Responses) salvage(*llm.Error, llm.Request, *llm.Out) bool { return false }

// A Grok is a model of xAI, which searches the web only through Responses: chat completions refuse
// it with status 410. Each format can read the other's history.
type Grok struct {
	*Chat
	web *Responses
}

// NewGrok returns the model that o describes. It sends nothing.
func NewGrok(o Options, d Dialect) *Grok {
	g := &Grok{Chat: New(o, d), web: NewResponses(o)}
	g.web.origin = g.Chat.Origin()
	return g
}

// Stream implements llm.Model.
func (g *Grok) Stream(ctx context.Context, req llm.Request) llm.Stream {
	if req.Web {
		return g.web.Stream(ctx, req)
	}
	return g.Chat.Stream(ctx, req)
}

// isXAI reports whether the model is xAI's, whose Responses API differs slightly.
func (r *Responses) isXAI() bool { return isXAI(r.o.Model) }

func isXAI(model string) bool { return strings.HasPrefix(baseModel(model), "grok") }

// responsesOptional lists the fields that can be dropped, inner ones before their objects.
var responsesOptional = []string{
	"reasoning.summary", "reasoning.effort", "reasoning", "text.verbosity", "text.format", "text",
	"parallel_tool_calls", "max_output_tokens", "prompt_cache_key", "safety_identifier", "tool_choice",
	"temperature", "top_p", "include", "store", "user",
}

// unverifiedNotices holds the notices for fields that OpenAI allows only to verified organizations.
var unverifiedNotices = map[string]string{
	"reasoning.summary": "does not sum up its thinking for this account; sent again without asking for it",
	"stream":            "does not stream for this account; its answers come whole",
}

// downgradeItems is the downgrade for refused items.
const downgradeItems = "input: items"

// itemsRefused matches errors about the server's own items: they were encrypted for another
// organization or with an old key, or a required neighbor is missing.
var itemsRefused = lazy.NewRegexp(`(?i)encrypted.content.*(could not|cannot|can't|failed|invalid|unable)` +
	`|(invalid|decrypt|verify).*encrypted.content` +
	`|without its required` +
	`|item with id .*not found` +
	`|items are not persisted when`)

// noEncryptedReasoning matches the error of models without reasoning.
var noEncryptedReasoning = lazy.NewRegexp(`(?i)encrypted.content is not supported`)

func (r *Responses) findDowngrade(fault *llm.Error, body map[string]any) (downgrade, bool) {
	if field := refusedItemField(fault, body); field != "" {
		return downgrade{downgradeItemField + field, "", "does not take the " + field + " of its items back; sent again without it"}, true
	}
	if r.refusesItems(fault) {
		return downgrade{downgradeItems, "", "did not take its earlier reasoning back; sent again without it"}, r.refuseItems(body)
	}
	if notice, ok := unverifiedNotices[fault.Param]; ok && fault.Status == http.StatusBadRequest {
		_, sent := adapter.Field(body, fault.Param)
		return downgrade{field: fault.Param, notice: notice}, sent
	}
	if r, ok := webDowngrade(fault, body); ok || !adapter.MayBlameField(fault) {
		return r, ok
	}
	if _, sent := body["instructions"]; sent && adapter.IsAbout(fault, "instructions") {
		return downgrade{"instructions", "", "does not take instructions; sent again with a system message"}, true
	}
	if _, sent := body["include"]; sent && noEncryptedReasoning.MatchString(fault.Message) {
		return downgrade{field: "include", notice: "does not think, so that there is no reasoning to ask for"}, true
	}
	if better, ok := effortDowngrade(fault, body, "reasoning.effort"); ok {
		return better, true
	}
	if name, ok := blamedField(fault, body, responsesOptional); ok {
		return downgrade{field: name}, true
	}
	name, ok := thinkingField(fault, body, "reasoning")
	return downgrade{field: name}, ok
}

// downgradeItemField begins the names of downgrades for refused fields of items.
const downgradeItemField = "input: the items' "

// itemFieldBlamed matches errors about a field of an item: "Unknown parameter: 'input[3].status'"
// (github.com/BerriAI/litellm issue 13420), "Invalid 'input[2].id': string too long"
// (github.com/can1357/oh-my-pi issue 284).
var itemFieldBlamed = lazy.NewRegexp(`\binput\[\d+\]\.([a-z_]+)(?:[^a-z_.\[]|$)`)

// itemEssentials lists the fields of an item that cannot be dropped.
var itemEssentials = []string{"type", "role", "content", "summary", "encrypted_content", "call_id", "name", "arguments"}

// refusedItemField returns the field of earlier items that the server refuses; "" for none.
func refusedItemField(fault *llm.Error, body map[string]any) string {
	found := itemFieldBlamed.FindStringSubmatch(fault.Param + " " + fault.Message)
	if found == nil || !adapter.MayBlameField(fault) || slices.Contains(itemEssentials, found[1]) {
		return ""
	}
	list, _ := body["input"].([]any)
	for _, item := range list {
		if own, ok := item.(rawItem); ok && len(own.without([]string{found[1]})) < len(own) {
			return found[1]
		}
	}
	return ""
}

func (r *Responses) refusesItems(fault *llm.Error) bool {
	if fault.Status != http.StatusBadRequest && fault.Status != http.StatusNotFound || fault.Param == "include" {
		return false
	}
	return fault.Code == "invalid_encrypted_content" || itemsRefused.MatchString(fault.Message)
}

// refuseItems remembers all items in body that came from the server, so that they do not go back
// again, and reports whether any of them is new. Later items are not affected.
func (r *Responses) refuseItems(body map[string]any) bool {
	list, _ := body["input"].([]any)
	r.mu.Lock()
	defer r.mu.Unlock()
	before := len(r.refusedItems)
	for _, item := range list {
		if own, ok := item.(rawItem); ok {
			r.refusedItems[adapter.Hash(string(own))] = true
		}
	}
	r.o.Learned.Forget(downgradeItems) // later items may be refused too
	return len(r.refusedItems) > before
}

// explain adds likely reasons to the error for a missing endpoint.
func (r *Responses) explain(fault *llm.Error, body map[string]any) {
	markNoTools(fault, body)
	if fault.Status == http.StatusNotFound && fault.Fault == llm.InvalidRequest && fault.Param == "" && !r.o.IsHost(adapter.OpenAI) {
		fault.Message += ` (a server without the Responses API needs kind = "openai")`
	}
}
