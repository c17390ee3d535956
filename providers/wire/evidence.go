package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// evidence holds the error information in a body.
type evidence struct {
	found   bool     // the body is an error
	codes   []string // code, type, status, reason, …: the most specific first
	message string
	param   string
	id      string            // request id
	status  int               // HTTP status named in the body, as in an error inside a stream
	delay   time.Duration     // Gemini's RetryInfo
	resets  string            // delay or time of the reset of a ChatGPT subscription
	headers map[string]string // headers of the upstream, as passed on by OpenRouter
}

// mayHoldError reports whether an event can contain an error. It is fast, without parsing, because
// it is called for every event of a stream.
func mayHoldError(body []byte) bool {
	for _, key := range []string{`error"`, `"base_resp"`, `"detail"`, `"code"`} {
		if bytes.Contains(body, []byte(key)) {
			return true
		}
	}
	return false
}

// readEvidence collects the error information in body. In an event, it recognizes only unmistakable
// errors; in an answer with an error status, it uses any text.
func readEvidence(body []byte, event bool) evidence {
	var w evidence
	var v any
	if json.Unmarshal(body, &v) != nil {
		w.message = oneLine(string(body), rawLimit)
		return w
	}
	if list, ok := v.([]any); ok && len(list) > 0 {
		v = list[0] // Gemini wraps its error in a list if no stream was requested
	}
	if text, ok := v.(string); ok {
		w.message = text
	}
	if m, ok := v.(map[string]any); ok {
		w.readObject(m, event)
	}
	w.message = oneLine(w.message, rawLimit)
	return w
}

// readObject reads the outer object of a body.
func (w *evidence) readObject(m map[string]any, event bool) {
	w.id = scalarText(m["request_id"])
	if response, ok := m["response"].(map[string]any); ok && isErrorValue(response["error"]) {
		m = response // a Responses event of type response.failed
	}
	if base, ok := m["base_resp"].(map[string]any); ok && scalarText(base["status_code"]) != "0" {
		w.found = true // MiniMax; its code 0 is success
		w.addCode("minimax" + scalarText(base["status_code"]))
		w.message = scalarText(base["status_msg"])
		return
	}
	switch e := m["error"].(type) {
	case map[string]any:
		if isErrorValue(e) {
			w.found = true
			w.readInner(e)
			w.addCode(scalarText(m["code"]))
			return
		}
	case string: // xAI, LM Studio, Ollama
		if e != "" {
			w.found = true
			w.addCode(scalarText(m["code"]))
			w.addCode(scalarText(m["type"]))
			w.setMessage(e)
			return
		}
	}
	if list, ok := m["errors"].([]any); ok && len(list) > 0 && m["success"] == false { // Cloudflare
		if e, ok := list[0].(map[string]any); ok {
			w.found = true
			w.readInner(e)
			return
		}
	}
	w.readFlat(m, event)
}

// readFlat reads errors in the outer object itself.
func (w *evidence) readFlat(m map[string]any, event bool) {
	answer := m["choices"] != nil || m["candidates"] != nil || m["delta"] != nil || m["data"] != nil
	message := firstText(m, "message", "msg", "error_description", "status_msg")
	code := scalarText(m["code"])
	switch {
	case m["object"] == "error" || m["type"] == "error": // Mistral, old vLLM; Responses
		w.found = true
	case answer:
		return
	case message != "" && code != "" && code != "0": // Qwen's own form
		w.found = true
	case m["detail"] != nil && m["type"] == nil: // FastAPI
		w.found = scalarText(m["detail"]) != "" || validationDetail(m["detail"]) != ""
	}
	if event && !w.found {
		return
	}
	w.readInner(m)
	if w.message == "" {
		w.setMessage(scalarText(m["detail"]))
	}
	if w.message == "" {
		w.setMessage(validationDetail(m["detail"]))
	}
}

// readInner reads the object with the message.
func (w *evidence) readInner(e map[string]any) {
	if nested, ok := e["error"].(map[string]any); ok {
		e = nested
	}
	anthropic, _ := e["details"].(map[string]any)
	w.addCode(scalarText(anthropic["error_code"]))
	for _, key := range []string{"code", "type", "status"} {
		w.addCode(scalarText(e[key]))
	}
	details, _ := e["details"].([]any)
	older, _ := e["errors"].([]any)
	for _, d := range slices.Concat(details, older) {
		if d, ok := d.(map[string]any); ok {
			w.readGoogleDetail(d)
		}
	}
	w.resets = cmp.Or(scalarText(e["resets_in_seconds"]), scalarText(e["resets_at"]))
	azure, _ := e["innererror"].(map[string]any)
	w.addCode(scalarText(azure["code"]))
	w.param = oneLine(scalarText(e["param"]), rawLimit)
	w.setMessage(firstText(e, "message", "Message", "msg", "error_description", "status_msg")) // AWS writes Message
	if w.message == "" {
		w.setMessage(validationDetail(e["message"]))
	}
	w.addFiltered(filteredCategories(azure["content_filter_result"]))
	if meta, ok := e["metadata"].(map[string]any); ok {
		w.readUpstream(meta)
	}
}

// readGoogleDetail reads one entry of Google's details.
func (w *evidence) readGoogleDetail(d map[string]any) {
	violations, _ := d["violations"].([]any)
	for _, v := range violations {
		if v, ok := v.(map[string]any); ok {
			w.addCode(scalarText(v["quotaId"]))
		}
	}
	w.addCode(scalarText(d["reason"]))
	if s := scalarText(d["retryDelay"]); s != "" {
		w.delay = saneDuration(parseDuration(s))
	}
}

// readUpstream reads OpenRouter's information about its upstream provider.
func (w *evidence) readUpstream(meta map[string]any) {
	if reasons, ok := meta["reasons"].([]any); ok && len(reasons) > 0 {
		w.addCode("moderation")
		var said []string
		for _, r := range reasons {
			said = append(said, scalarText(r))
		}
		w.addFiltered(said)
	}
	raw := evidence{message: scalarText(meta["raw"])}
	if m, ok := meta["raw"].(map[string]any); ok {
		raw.readObject(m, false)
	} else {
		raw.setMessage(raw.message)
	}
	w.codes = append(w.codes, raw.codes...)
	if raw.message != "" && !strings.Contains(w.message, raw.message) {
		w.message += ": " + raw.message
	}
	if name := scalarText(meta["provider_name"]); name != "" {
		w.message += " (" + name + ")"
	}
	headers, _ := meta["headers"].(map[string]any)
	for name, v := range headers {
		if w.headers == nil {
			w.headers = map[string]string{}
		}
		w.headers[name] = scalarText(v)
	}
}

// addFiltered adds the findings of a filter to the message.
func (w *evidence) addFiltered(found []string) {
	if said := oneLine(strings.Join(found, ", "), 200); said != "" {
		w.message = strings.TrimPrefix(strings.TrimRight(w.message, ". ")+": "+said, ": ")
	}
}

// FilteredCategories names the findings of Azure's filter, such as "violence (high)"; "" for none.
// Raw is a content_filter_result or content_filter_results:
//
//	{"violence":{"filtered":true,"severity":"high"},"jailbreak":{"detected":true,"filtered":true},"hate":{"filtered":false}}
func FilteredCategories(raw json.RawMessage) string {
	var results any
	if json.Unmarshal(raw, &results) != nil {
		return ""
	}
	return oneLine(strings.Join(filteredCategories(results), ", "), 200)
}

func filteredCategories(results any) (found []string) {
	all, _ := results.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		result, _ := all[name].(map[string]any)
		if result["filtered"] != true {
			continue
		}
		if severity := scalarText(result["severity"]); severity != "" {
			name += " (" + severity + ")"
		}
		found = append(found, strings.ReplaceAll(name, "_", " "))
	}
	return found
}

// setMessage sets the message. Gateways may put the whole JSON of their upstream's answer into it;
// then its inner message is used.
func (w *evidence) setMessage(s string) {
	w.message = s
	at := strings.IndexByte(s, '{')
	if at < 0 || !strings.HasSuffix(strings.TrimSpace(s), "}") {
		return
	}
	var m map[string]any
	if json.Unmarshal([]byte(s[at:]), &m) != nil {
		return
	}
	var nested evidence
	delete(m, "metadata")
	nested.readObject(m, false)
	if nested.message == "" {
		return
	}
	w.message = s[:at] + nested.message
	w.codes = append(w.codes, nested.codes...)
	if nested.delay > 0 {
		w.delay = nested.delay
	}
}

// addCode adds a code. A code that is an HTTP status also sets the status.
func (w *evidence) addCode(c string) {
	if n, err := strconv.Atoi(c); err == nil && n >= 400 && n < 600 {
		if w.status == 0 {
			w.status = n
		}
		return
	}
	if c != "" && c != "0" && c != "error" {
		w.codes = append(w.codes, oneLine(c, rawLimit))
	}
}

// scalarText returns a string or a number as text.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// isErrorValue reports whether an error member contains an error: some gateways send the member
// with every event, empty or as an object of empty members.
func isErrorValue(v any) bool {
	switch v := v.(type) {
	case string:
		return v != ""
	case bool:
		return v
	case float64:
		return v != 0
	case []any:
		return slices.ContainsFunc(v, isErrorValue)
	case map[string]any:
		for _, member := range v {
			if isErrorValue(member) {
				return true
			}
		}
	}
	return false
}

// HasError reports whether the error member of an answer contains an error.
func HasError(member json.RawMessage) bool {
	if len(member) == 0 || string(member) == "null" { // true for nearly every event
		return false
	}
	var v any
	return json.Unmarshal(member, &v) == nil && isErrorValue(v)
}

func firstText(m map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := m[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// validationDetail formats FastAPI's list of validation errors as one line, such as
// "body.messages.0: Field required".
func validationDetail(v any) string {
	if m, ok := v.(map[string]any); ok {
		if list, ok := m["detail"]; ok {
			return validationDetail(list) // Mistral nests the list once more
		}
		return firstText(m, "message", "msg", "error")
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
			path = append(path, scalarText(step))
		}
		said = append(said, strings.TrimPrefix(fmt.Sprintf("%s: %s", strings.Join(path, "."), scalarText(m["msg"])), ": "))
	}
	return strings.Join(said, "; ")
}
