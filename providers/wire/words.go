package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// words are what a body says about an error.
type words struct {
	found   bool     // it is an error at all
	codes   []string // code, type, status, reason, …: the most specific first
	message string
	param   string
	id      string            // of the request
	status  int               // HTTP status named in the body, as in an error inside a stream
	delay   time.Duration     // Gemini's RetryInfo
	headers map[string]string // those of the upstream, which OpenRouter hands on
}

// suspicious reports whether an event can hold an error, without parsing it:
// it is asked about every event of a stream.
func suspicious(body []byte) bool {
	for _, key := range []string{`error"`, `"base_resp"`, `"detail"`, `"code"`} {
		if bytes.Contains(body, []byte(key)) {
			return true
		}
	}
	return false
}

// read collects what body says. In an event only unmistakable errors are found;
// in an answer whose status says error, whatever words there are.
func read(body []byte, event bool) words {
	var w words
	var v any
	if json.Unmarshal(body, &v) != nil {
		w.message = oneLine(string(body), rawLimit)
		return w
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0] // Gemini wraps its error in a list when it was not asked for events
	}
	if text, ok := v.(string); ok {
		w.message = text
	}
	if m, ok := v.(map[string]any); ok {
		w.object(m, event)
	}
	w.message = oneLine(w.message, rawLimit)
	return w
}

// object reads the outer object of a body.
func (w *words) object(m map[string]any, event bool) {
	w.id = text(m["request_id"])
	if response, ok := m["response"].(map[string]any); ok && present(response["error"]) {
		m = response // a Responses event of type response.failed
	}
	if base, ok := m["base_resp"].(map[string]any); ok && text(base["status_code"]) != "0" {
		w.found = true // MiniMax; its code 0 is success
		w.code("minimax" + text(base["status_code"]))
		w.message = text(base["status_msg"])
		return
	}
	switch e := m["error"].(type) {
	case map[string]any:
		if len(e) > 0 {
			w.found = true
			w.inner(e)
			w.code(text(m["code"]))
			return
		}
	case string: // xAI, LM Studio, Ollama
		if e != "" {
			w.found = true
			w.code(text(m["code"]))
			w.code(text(m["type"]))
			w.say(e)
			return
		}
	}
	if list, ok := m["errors"].([]any); ok && len(list) > 0 && m["success"] == false { // Cloudflare
		if e, ok := list[0].(map[string]any); ok {
			w.found = true
			w.inner(e)
			return
		}
	}
	w.flat(m, event)
}

// flat reads errors that stand in the outer object itself.
func (w *words) flat(m map[string]any, event bool) {
	answer := m["choices"] != nil || m["candidates"] != nil || m["delta"] != nil || m["data"] != nil
	message := first(m, "message", "msg", "error_description", "status_msg")
	code := text(m["code"])
	switch {
	case m["object"] == "error" || m["type"] == "error": // Mistral, old vLLM; Responses
		w.found = true
	case answer:
		return
	case message != "" && code != "" && code != "0": // Qwen's own form
		w.found = true
	case m["detail"] != nil && m["type"] == nil: // FastAPI
		w.found = text(m["detail"]) != "" || detail(m["detail"]) != ""
	}
	if event && !w.found {
		return
	}
	w.inner(m)
	if w.message == "" {
		w.say(text(m["detail"]))
	}
	if w.message == "" {
		w.say(detail(m["detail"]))
	}
}

// inner reads the object that holds the words.
func (w *words) inner(e map[string]any) {
	if nested, ok := e["error"].(map[string]any); ok {
		e = nested
	}
	for _, key := range []string{"code", "type", "status"} {
		w.code(text(e[key]))
	}
	details, _ := e["details"].([]any)
	for _, d := range details {
		if d, ok := d.(map[string]any); ok {
			w.detail(d)
		}
	}
	azure, _ := e["innererror"].(map[string]any)
	w.code(text(azure["code"]))
	w.param = oneLine(text(e["param"]), 200)
	w.say(first(e, "message", "msg", "error_description", "status_msg"))
	if w.message == "" {
		w.say(detail(e["message"]))
	}
	w.because(caught(azure["content_filter_result"]))
	if meta, ok := e["metadata"].(map[string]any); ok {
		w.upstream(meta)
	}
}

// detail reads one of Google's details.
func (w *words) detail(d map[string]any) {
	violations, _ := d["violations"].([]any)
	for _, v := range violations {
		if v, ok := v.(map[string]any); ok {
			w.code(text(v["quotaId"]))
		}
	}
	w.code(text(d["reason"]))
	if s := text(d["retryDelay"]); s != "" {
		w.delay = sane(duration(s))
	}
}

// upstream reads what OpenRouter says about the provider behind it.
func (w *words) upstream(meta map[string]any) {
	if reasons, ok := meta["reasons"].([]any); ok && len(reasons) > 0 {
		w.code("moderation")
		var said []string
		for _, r := range reasons {
			said = append(said, text(r))
		}
		w.because(said)
	}
	raw := words{message: text(meta["raw"])}
	if m, ok := meta["raw"].(map[string]any); ok {
		raw.object(m, false)
	} else {
		raw.say(raw.message)
	}
	w.codes = append(w.codes, raw.codes...)
	if raw.message != "" && !strings.Contains(w.message, raw.message) {
		w.message += ": " + raw.message
	}
	if name := text(meta["provider_name"]); name != "" {
		w.message += " (" + name + ")"
	}
	headers, _ := meta["headers"].(map[string]any)
	for name, v := range headers {
		if w.headers == nil {
			w.headers = map[string]string{}
		}
		w.headers[name] = text(v)
	}
}

// because adds to the message what a filter found.
func (w *words) because(found []string) {
	if said := oneLine(strings.Join(found, ", "), 200); said != "" {
		w.message = strings.TrimPrefix(strings.TrimRight(w.message, ". ")+": "+said, ": ")
	}
}

// Caught names what Azure's filter found, such as "violence (high)", "" if there
// is nothing. Raw is a content_filter_result or content_filter_results:
//
//	{"violence":{"filtered":true,"severity":"high"},"jailbreak":{"detected":true,"filtered":true},"hate":{"filtered":false}}
func Caught(raw json.RawMessage) string {
	var results any
	if json.Unmarshal(raw, &results) != nil {
		return ""
	}
	return oneLine(strings.Join(caught(results), ", "), 200)
}

func caught(results any) (found []string) {
	all, _ := results.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		result, _ := all[name].(map[string]any)
		if result["filtered"] != true {
			continue
		}
		if severity := text(result["severity"]); severity != "" {
			name += " (" + severity + ")"
		}
		found = append(found, strings.ReplaceAll(name, "_", " "))
	}
	return found
}

// say sets the message. Gateways put the whole answer of their upstream into
// it, as JSON text; then its words count.
func (w *words) say(s string) {
	w.message = s
	at := strings.IndexByte(s, '{')
	if at < 0 || !strings.HasSuffix(strings.TrimSpace(s), "}") {
		return
	}
	var m map[string]any
	if json.Unmarshal([]byte(s[at:]), &m) != nil {
		return
	}
	var nested words
	delete(m, "metadata")
	nested.object(m, false)
	if nested.message == "" {
		return
	}
	w.message = s[:at] + nested.message
	w.codes = append(w.codes, nested.codes...)
	if nested.delay > 0 {
		w.delay = nested.delay
	}
}

// code adds a code. One that is an HTTP status tells the status.
func (w *words) code(c string) {
	if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 600 {
		if w.status == 0 {
			w.status = n
		}
		return
	}
	if c != "" && c != "0" && c != "error" {
		w.codes = append(w.codes, oneLine(c, 200))
	}
}

// text is a string or a number as text.
func text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// present reports whether an error member says that there is one.
func present(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case map[string]any:
		return len(v) > 0
	}
	return false
}

func first(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// detail puts FastAPI's list of complaints into one line, such as
// "body.messages.0: Field required".
func detail(v any) string {
	if m, ok := v.(map[string]any); ok {
		if list, ok := m["detail"]; ok {
			return detail(list) // Mistral wraps it once more
		}
		return first(m, "message", "msg", "error")
	}
	list, _ := v.([]any)
	var said []string
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		var path []string
		loc, _ := m["loc"].([]any)
		for _, step := range loc {
			path = append(path, text(step))
		}
		said = append(said, strings.TrimPrefix(fmt.Sprintf("%s: %s", strings.Join(path, "."), text(m["msg"])), ": "))
	}
	return strings.Join(said, "; ")
}
