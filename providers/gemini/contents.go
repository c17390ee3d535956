package gemini

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// Roles of the API. Tool results have the user role.
const (
	roleUser  = "user"
	roleModel = "model"
)

// skipValidator is the documented signature for calls of other models. Clients disagree on its
// form: gemini-cli sends the word itself, LiteLLM its base64 form. The word is tried first.
const (
	skipValidator   = "skip_thought_signature_validator"
	skipValidator64 = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
)

var (
	skipSignature   = json.RawMessage(`"` + skipValidator + `"`)
	skipSignature64 = json.RawMessage(`"` + skipValidator64 + `"`)
)

// A content is one turn.
type content struct {
	Role  string `json:"role"`
	Parts []any  `json:"parts"`
}

// history is a list of turns being encoded.
type history struct {
	traits
	origin      string
	downgrades  map[string]string
	list        []content         // turns not yet settled
	closed      bool              // the last turn has function responses and accepts nothing else
	sameOrigin  bool              // the last assistant message has this origin
	names       map[string]string // names of its calls by id
	textCalls   map[string]bool   // ids of the calls sent as text
	omitted     []string          // descriptions of the files that were left out
	currentTurn bool              // encoding the current turn, whose signatures are checked
}

// isRefused reports whether the server refused the named feature; see downgrade.
func (h *history) isRefused(what string) bool {
	_, refused := h.downgrades[what]
	return refused
}

// contents encodes messages. If first is not "", it precedes them as text of the user.
func (m *Model) contents(messages []llm.Message, first string, learned map[string]string, whole bool) (list any, h *history) {
	fresh := func() *history {
		h := &history{traits: m.traits, origin: m.Origin(), downgrades: learned}
		if first != "" {
			h.add(roleUser, textPart(first))
		}
		return h
	}
	current := 0 // start of the current turn: everything after the last user message
	for i, m := range messages {
		if m.Role == llm.RoleUser {
			current = i
		}
	}
	kept, h := m.histories.Write(fmt.Sprintf("%v %s", learned, first), messages, current, whole, fresh)
	return adapter.ListOf(nil, kept, itemsOf(h.list)), h
}

// itemsOf converts turns to items of a list.
func itemsOf(turns []content) []any {
	list := make([]any, len(turns))
	for i, c := range turns {
		list[i] = c
	}
	return list
}

// Write implements adapter.Writer. Late messages belong to the current turn.
func (h *history) Write(messages []llm.Message, i int, late bool) (varies bool) {
	h.currentTurn = late
	switch m := messages[i]; m.Role {
	case llm.RoleUser:
		h.add(roleUser, h.userParts(m.Parts)...)
	case llm.RoleAssistant:
		return h.addAssistant(m)
	case llm.RoleTool:
		h.addResults(m.Parts)
	}
	return false
}

// Settle implements adapter.Writer.
func (h *history) Settle() []any {
	front, last := adapter.CutLast(h.list)
	h.list = last
	return itemsOf(front)
}

// Clone implements adapter.Writer.
func (h *history) Clone() *history {
	c := *h
	c.list, c.omitted = slices.Clone(h.list), slices.Clip(h.omitted)
	for i := range c.list {
		c.list[i].Parts = adapter.CloneItems(c.list[i].Parts)
	}
	c.names, c.textCalls = maps.Clone(h.names), maps.Clone(h.textCalls)
	return &c
}

// add appends parts to the last turn if it has this role, otherwise to a new one. The first turn
// must be the user's. A turn of function responses accepts nothing else: with text in it, Gemini 3
// returns an empty answer. The prompt after it is a separate turn; two turns of the same role are
// accepted (google/adk-go#1302, anomalyco/opencode#43479, NousResearch/hermes-agent#68863).
func (h *history) add(role string, parts ...any) {
	if len(parts) == 0 {
		return
	}
	n := len(h.list)
	switch {
	case n == 0 && role == roleModel:
		h.list = append(h.list, content{roleUser, []any{textPart("(The beginning of the conversation is left out.)")}}, content{role, parts})
	case n > 0 && h.list[n-1].Role == role && !h.closed:
		h.list[n-1].Parts = append(h.list[n-1].Parts, parts...)
	default:
		h.list = append(h.list, content{role, parts})
	}
	h.closed = false
}

func textPart(text string) map[string]any { return map[string]any{"text": text} }

// userParts encodes the parts of a user message.
func (h *history) userParts(list []llm.Part) []any {
	var out []any
	for _, p := range list {
		switch {
		case p.Kind == llm.Text && p.Text != "":
			out = append(out, textPart(p.Text))
		case p.Kind == llm.Media:
			out = append(out, h.media(p))
		}
	}
	return out
}

// addAssistant adds an assistant message, each part with its own signature. Varies means that a
// call has no signature: such calls have another form in the current turn.
func (h *history) addAssistant(m llm.Message) (varies bool) {
	h.sameOrigin, h.names, h.textCalls = m.Origin == h.origin, map[string]string{}, map[string]bool{}
	signed := !h.currentTurn || !h.isGemini3() // a call of this step has a signature, or needs none
	checked := !h.isGemini3()                  // it has one, or would not need one in the current turn either
	var list []any
	for _, p := range m.Parts {
		state := h.state(p)
		var part map[string]any
		switch {
		case p.Kind == llm.Text && (p.Text != "" || state != nil):
			part = textPart(p.Text)
		case p.Kind == llm.Thinking && state != nil: // thinking without State is a summary, which does not go back
			part = map[string]any{"text": p.Text, "thought": true}
		case p.Kind == llm.Media:
			part = h.media(p)
		case p.Kind == llm.Call && !p.Remote:
			varies = varies || state == nil && !checked
			checked = true
			if state == nil && !signed {
				state = h.signatureStandIn()
			}
			if state == nil && !signed {
				list = append(list, h.callAsText(p))
				continue
			}
			part = h.encodeCall(p)
			signed = true
		case p.Kind == llm.Opaque && state != nil:
			list = append(list, state)
			continue
		default:
			continue
		}
		if state != nil {
			part["thoughtSignature"] = state
		}
		list = append(list, part)
	}
	h.add(roleModel, list...)
	return varies
}

// state returns the data that goes back to the service with a part; nil for none.
func (h *history) state(p llm.Part) json.RawMessage {
	if !h.sameOrigin || h.isRefused(downgradeSignatures) || !json.Valid(p.State) {
		return nil
	}
	if object := p.State[0] == '{'; object != (p.Kind == llm.Opaque) {
		return nil
	}
	return p.State
}

// signatureStandIn returns the accepted form of skipValidator; nil for none.
func (h *history) signatureStandIn() json.RawMessage {
	switch {
	case !h.isRefused(downgradeStandIn):
		return skipSignature
	case !h.isRefused(downgradeStandIn64):
		return skipSignature64
	}
	return nil
}

// callAsText encodes a call as text; its result will be text too.
func (h *history) callAsText(p llm.Part) map[string]any {
	h.names[p.ID], h.textCalls[p.ID] = p.Name, true
	return textPart(fmt.Sprintf("[used the tool %s: %s]", p.Name, p.Input))
}

// encodeCall encodes a call. It omits empty arguments, as the API does.
func (h *history) encodeCall(p llm.Part) map[string]any {
	h.names[p.ID] = p.Name
	call := map[string]any{"name": wireName(p.Name)}
	if args := adapter.CallInput(p); string(args) != "{}" {
		call["args"] = args
	}
	h.addID(call, p.ID)
	return map[string]any{"functionCall": call}
}

// addID adds the id of a call, if this model generated it.
func (h *history) addID(part map[string]any, id string) {
	if h.sameOrigin && h.isGemini3() && id != "" && !strings.HasPrefix(id, generatedIDPrefix) && !h.isRefused(downgradeIDs) {
		part["id"] = id
	}
}

// addResults adds one turn with the results of all calls of the step. Images are part of their
// result if the model accepts that, otherwise they follow in a separate turn.
func (h *history) addResults(list []llm.Part) {
	var turn, behind []any
	inside := h.isGemini3() && !h.isRefused(downgradeResultImages)
	functions := map[string]map[string]any{} // responses by call id
	for _, p := range list {
		switch p.Kind {
		case llm.Result:
			if h.textCalls[p.ID] {
				outcome := "Returned by"
				if p.Failed {
					outcome = "Error of"
				}
				behind = append(behind, textPart(fmt.Sprintf("%s the tool %s:\n%s", outcome, h.toolName(p), p.Text)))
				continue
			}
			response := h.encodeResult(p)
			functions[p.ID] = response
			turn = append(turn, map[string]any{"functionResponse": response})
		case llm.Media:
			picture := h.media(p)
			response := functions[p.ID]
			if _, blob := picture["inlineData"]; blob && inside && response != nil {
				shown, _ := response["parts"].([]any)
				response["parts"] = append(shown, picture)
				continue
			}
			behind = append(behind, textPart("Returned by the tool "+h.toolName(p)+":"), picture)
		}
	}
	if len(turn) > 0 {
		h.closed = true
		h.add(roleUser, turn...)
		h.closed = true
	}
	h.add(roleUser, behind...)
}

// encodeResult encodes a result. It stays a string, even if it is JSON: the API would interpret an
// object such as {"$ref": …}.
func (h *history) encodeResult(p llm.Part) map[string]any {
	outcome := "output"
	if p.Failed {
		outcome = "error"
	}
	response := map[string]any{"name": wireName(h.toolName(p)), "response": map[string]any{outcome: p.Text}}
	h.addID(response, p.ID)
	return response
}

// toolName returns the name of the tool that returned a result.
func (h *history) toolName(p llm.Part) string {
	if name := h.names[p.ID]; name != "" {
		return name
	}
	if p.Name != "" && p.Kind == llm.Result {
		return p.Name
	}
	return "tool"
}

// imageTypes are the image formats that models accept.
var imageTypes = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

// files lists the accepted file types besides text and images.
var files = []string{"application/pdf", "audio/", "video/"}

// isReadable reports whether models accept files of this type.
func isReadable(kind string) bool {
	return slices.Contains(imageTypes, kind) || llm.Endpoint{Files: files}.Accepts(kind) && !strings.HasPrefix(kind, "image/")
}

// media encodes an image or another file; nil if models do not accept it.
func (h *history) media(p llm.Part) map[string]any {
	kind := adapter.MIMEType(p)
	switch {
	case len(p.Data) > 0 && isReadable(kind):
		return map[string]any{"inlineData": map[string]any{"mimeType": kind, "data": p.Data}}
	case len(p.Data) == 0 && p.URL != "":
		file := map[string]any{"fileUri": p.URL}
		if kind != "" {
			file["mimeType"] = kind
		}
		return map[string]any{"fileData": file}
	}
	return textPart(adapter.FileText(p, kind, &h.omitted))
}
