package gemini

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
)

// The roles of the API. Results of tools are the user's.
const (
	roleUser  = "user"
	roleModel = "model"
)

// The documented signature for calls that this model did not write. Clients do
// not agree on its form: gemini-cli sends the word itself, LiteLLM its base64
// form. The word goes first.
const skipValidator = "skip_thought_signature_validator"

var (
	standIn   = json.RawMessage(`"` + skipValidator + `"`)
	standIn64 = json.RawMessage(`"` + base64.StdEncoding.EncodeToString([]byte(skipValidator)) + `"`)
)

// A content is one turn.
type content struct {
	Role  string `json:"role"`
	Parts []any  `json:"parts"`
}

// history is a list of turns being written.
type history struct {
	traits
	origin string
	cures  map[string]string
	list   []content
	closed bool              // the last turn takes no more parts
	own    bool              // the last assistant message is of this origin
	names  map[string]string // its calls by id
	spoken map[string]bool   // ids of those that are told as text
	now    bool              // the current turn is being written, whose signatures are checked
}

// refused reports whether the server refused something; see heal.
func (h *history) refused(what string) bool {
	_, refused := h.cures[what]
	return refused
}

// write adds messages behind what is there.
func (h *history) write(messages []llm.Message) []content {
	current := 0 // everything behind the last message of the user's
	for i, m := range messages {
		if m.Role == llm.RoleUser {
			current = i
		}
	}
	for i, m := range messages {
		h.now = i >= current
		switch m.Role {
		case llm.RoleUser:
			h.add(roleUser, parts(m.Parts)...)
		case llm.RoleAssistant:
			h.assistant(m)
		case llm.RoleTool:
			h.results(m.Parts)
		}
	}
	return h.list
}

// add adds parts to the last turn, if it is of this role, or else opens a new
// one. The first turn has to be the user's.
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

// parts writes what the user says.
func parts(list []llm.Part) []any {
	var out []any
	for _, p := range list {
		switch {
		case p.Kind == llm.Text && p.Text != "":
			out = append(out, textPart(p.Text))
		case p.Kind == llm.Media:
			out = append(out, media(p))
		}
	}
	return out
}

// assistant adds what a model said, each part with the signature it came with.
func (h *history) assistant(m llm.Message) {
	h.own, h.names, h.spoken = m.Origin == h.origin, map[string]string{}, map[string]bool{}
	signed := !h.now || !h.three() // a call of this step has a signature, or needs none
	var list []any
	for _, p := range m.Parts {
		state := h.state(p)
		var part map[string]any
		switch {
		case p.Kind == llm.Text && (p.Text != "" || state != nil):
			part = textPart(p.Text)
		case p.Kind == llm.Thinking && state != nil: // the rest is a summary, which nobody wants back
			part = map[string]any{"text": p.Text, "thought": true}
		case p.Kind == llm.Media:
			part = media(p)
		case p.Kind == llm.Call && !p.Remote:
			if state == nil && !signed {
				state = h.standIn()
			}
			if state == nil && !signed {
				list = append(list, h.tell(p))
				continue
			}
			part = h.call(p)
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
}

// state is what the service wants back with a part, nil if nothing.
func (h *history) state(p llm.Part) json.RawMessage {
	if !h.own || h.refused(cureSignature) || !json.Valid(p.State) {
		return nil
	}
	if object := p.State[0] == '{'; object != (p.Kind == llm.Opaque) {
		return nil
	}
	return p.State
}

// standIn is the form of the stand-in that the service takes, nil if none.
func (h *history) standIn() json.RawMessage {
	switch {
	case !h.refused(cureStandIn):
		return standIn
	case !h.refused(cureStandIn64):
		return standIn64
	}
	return nil
}

// tell writes a call, and later its result, as text.
func (h *history) tell(p llm.Part) map[string]any {
	h.names[p.ID], h.spoken[p.ID] = p.Name, true
	return textPart(fmt.Sprintf("[used the tool %s: %s]", p.Name, p.Input))
}

// call writes a call. The API leaves empty arguments out, and so do we.
func (h *history) call(p llm.Part) map[string]any {
	h.names[p.ID] = p.Name
	call := map[string]any{"name": wireName(p.Name)}
	if args, ok := llm.Arguments(p.Input); ok && string(args) != "{}" {
		call["args"] = args
	}
	h.identify(call, p.ID)
	return map[string]any{"functionCall": call}
}

// identify adds the id of a call, if this model minted it.
func (h *history) identify(part map[string]any, id string) {
	if h.own && h.three() && id != "" && !strings.HasPrefix(id, mintedID) && !h.refused(cureIDs) {
		part["id"] = id
	}
}

// results adds one turn with the results of all calls of the step. Images go
// with their result where the model takes them there, else into a turn behind.
func (h *history) results(list []llm.Part) {
	var turn, behind []any
	inside := h.three() && !h.refused(cureShown)
	functions := map[string]map[string]any{} // responses by the id of their call
	for _, p := range list {
		switch p.Kind {
		case llm.Result:
			if h.spoken[p.ID] {
				outcome := "Returned by"
				if p.Failed {
					outcome = "Error of"
				}
				behind = append(behind, textPart(fmt.Sprintf("%s the tool %s:\n%s", outcome, h.name(p), p.Text)))
				continue
			}
			response := h.response(p)
			functions[p.ID] = response
			turn = append(turn, map[string]any{"functionResponse": response})
		case llm.Media:
			picture := media(p)
			response := functions[p.ID]
			if _, blob := picture["inlineData"]; blob && inside && response != nil {
				shown, _ := response["parts"].([]any)
				response["parts"] = append(shown, picture)
				continue
			}
			behind = append(behind, textPart("Returned by the tool "+h.name(p)+":"), picture)
		}
	}
	if len(turn) > 0 {
		h.closed = true
		h.add(roleUser, turn...)
		h.closed = true // as many responses as calls, and nothing else
	}
	h.add(roleUser, behind...)
}

// response writes a result. It stays a string, even where it is JSON: an object
// {"$ref": …} would mean something to the API.
func (h *history) response(p llm.Part) map[string]any {
	outcome := "output"
	if p.Failed {
		outcome = "error"
	}
	response := map[string]any{"name": wireName(h.name(p)), "response": map[string]any{outcome: p.Text}}
	h.identify(response, p.ID)
	return response
}

// name is the tool that gave a result.
func (h *history) name(p llm.Part) string {
	if name := h.names[p.ID]; name != "" {
		return name
	}
	if p.Name != "" && p.Kind == llm.Result {
		return p.Name
	}
	return "tool"
}

// images are the types of images that models look at.
var pictures = []string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}

// readable reports whether models take files of this type.
func readable(kind string) bool {
	return slices.Contains(pictures, kind) || kind == "application/pdf" ||
		strings.HasPrefix(kind, "audio/") || strings.HasPrefix(kind, "video/")
}

// media writes an image or another file, as far as models read it.
func media(p llm.Part) map[string]any {
	kind, _, err := mime.ParseMediaType(p.MIME)
	if err != nil {
		kind = strings.ToLower(p.MIME)
	}
	name := p.Name
	if name == "" {
		name = "file"
	}
	switch {
	case len(p.Data) > 0 && readable(kind):
		return map[string]any{"inlineData": map[string]any{"mimeType": kind, "data": p.Data}}
	case len(p.Data) == 0 && p.URL != "":
		file := map[string]any{"fileUri": p.URL}
		if kind != "" {
			file["mimeType"] = kind
		}
		return map[string]any{"fileData": file}
	case len(p.Data) > 0 && textual(kind, p.Data):
		return textPart(fmt.Sprintf("<file name=%q>\n%s\n</file>", name, p.Data))
	}
	return textPart(fmt.Sprintf("[file left out: %s, %s, %d bytes]", name, kind, len(p.Data)))
}

// textual reports whether a file can be read as text.
func textual(kind string, data []byte) bool {
	if strings.HasPrefix(kind, "image/") && kind != "image/svg+xml" {
		return false
	}
	return utf8.Valid(data) && !strings.ContainsRune(string(data), 0)
}
