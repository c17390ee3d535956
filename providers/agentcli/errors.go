package agentcli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/providers/wire"
	"parley/tools/lazy"
	"parley/tools/sanitize"
)

// phrases maps error messages of the programs themselves to faults; package wire knows the errors
// of their services.
var phrases = []struct {
	fault llm.Fault
	words *lazy.Regexp
}{
	{llm.Authentication, lazy.NewRegexp(`(?i)please run /login|not logged in|(invalid|incorrect) api key|no auth(entication)? (type is selected|information found)|authentication required|401 unauthorized|oauth token (has expired|revoked)|set an auth method|api_key environment variable|failed to log ?in|authentication error`)},
	{llm.Quota, lazy.NewRegexp(`(?i)hit your .{0,20}limit|usage limit reached|quota exceeded|exceeded your current quota|exhausted your .{0,20}(capacity|quota)`)},
	{llm.ModelNotFound, lazy.NewRegexp(`(?i)requested entity was not found|issue with the selected model`)},
	{llm.Permission, lazy.NewRegexp(`(?i)not (running in )?a? ?trusted (directory|folder)|untrusted workspace|it was auto-denied`)},
	{llm.ContextOverflow, lazy.NewRegexp(`ran out of room in the model's context window|rejected the prompt as too long`)},
	{llm.Server, lazy.NewRegexp(`currently experiencing high demand`)},
	{llm.Network, lazy.NewRegexp(`failed to lookup address|error sending request|error decoding response body|stream disconnected before|^terminated\b|other side closed|ECONNREFUSED|ECONNRESET|ENOTFOUND|ETIMEDOUT|EAI_AGAIN|fetch failed|socket hang up|(?i:connection error|unable to connect)`)},
}

// statusRE matches the HTTP status at the start of a message, or as named by Codex.
var statusRE = lazy.NewRegexp(`(?:^|^API Error: |\b(?:unexpected|last) status:? )([45]\d\d)\b`)

// toError returns the error for a message of the program. Code is the program's error code, status
// the HTTP status of its service; both may be missing.
func (f flavor) toError(code string, status int, words string) *llm.Error {
	words = strings.TrimSpace(words)
	if inner, ok := strings.CutPrefix(words, "[API Error: "); ok { // Gemini CLI
		words = strings.TrimSuffix(inner, "]")
	}
	if m := statusRE.FindStringSubmatch(words); m != nil && status == 0 {
		status, _ = strconv.Atoi(m[1])
	}
	// The message often contains the JSON body of the service's answer.
	body := []byte(words[max(0, strings.IndexByte(words, '{')):])
	if !json.Valid(body) || body[0] != '{' {
		var err error
		body, err = json.Marshal(map[string]any{"error": map[string]any{"code": code, "message": words}})
		if err != nil {
			panic(err) // strings only
		}
	}
	e := wire.StatusError(status, nil, body, time.Now())
	e.Message = oneLine(e.Message, maxErrorBytes)
	if fault, ok := f.codes[code]; ok && (e.Fault == llm.Unknown || e.Fault == llm.InvalidRequest) {
		e.Fault = fault
	}
	for _, p := range phrases {
		if p.words.MatchString(words) {
			e.Fault = p.fault
			break
		}
	}
	return e
}

// maxErrorBytes bounds the quoted part of a program's message, in bytes.
const maxErrorBytes = 1 << 10

// exitError returns the error of a program that ended without completing its answer; nil if the
// output is acceptable nevertheless. A program that printed plain text and no events is an old
// version that does not support the output format.
func (m *Model) exitError(a *answer, e exitInfo) error {
	code, signal, said := e.code, e.signal, a.masked(e.stderr)
	switch {
	case a.fault != nil:
		return a.fault
	case !e.byItself:
		return &llm.Error{Fault: llm.Network, Message: fmt.Sprintf("%s closed its output, did not end, and was ended", m.flavor.program)}
	case code == 0 && !a.gotEvent && len(bytes.TrimSpace(a.plain)) > 0:
		a.notice("this version prints plain text: usage and session are unknown")
		a.delta("plain", llm.Part{Kind: llm.Text, Text: strings.TrimSpace(string(a.plain))})
		a.out.Send(llm.Finish{Reason: llm.Stop, Model: a.run.model})
		return nil
	case code == 0 && m.flavor.sparse && a.shown:
		a.out.Send(llm.Finish{Reason: llm.Stop, Model: a.run.model})
		return nil
	case code == 0 && a.unknown != "":
		return a.unknownFormError()
	case said == "":
		said = oneLine(a.masked(string(a.plain)), maxStderrTail)
	}
	fault := m.flavor.toError("", 0, said)
	how := fmt.Sprintf("%s exited with status %d before the answer was complete", m.flavor.program, code)
	if exit, ok := m.flavor.exitStatuses[code]; ok {
		how = fmt.Sprintf("%s exited with status %d: %s", m.flavor.program, code, exit.words)
		if exit.fault != llm.Unknown {
			fault.Fault = exit.fault
		}
	}
	if signal != "" {
		how = fmt.Sprintf("%s was ended by a signal: %s", m.flavor.program, signal)
	}
	if fault.Fault == llm.Unknown && (signal != "" || code == 0) {
		fault.Fault = llm.Network // like a broken connection, so that it can be retried
	}
	fault.Message = how
	if said != "" {
		fault.Message += ": " + oneLine(said, maxErrorBytes)
	}
	return fault
}

// outdatedError returns the error for a version that does not support a required flag, without which
// it might act on its own or not answer at all.
func (f flavor) outdatedError(flag string) *llm.Error {
	return &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("this version of %s does not know %s and is not used without it: update it with %q", f.program, flag, f.install), Advises: true}
}

// unknownFormError returns the error for an answer without any understood line.
func (a *answer) unknownFormError() *llm.Error {
	return &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s answered in a form that is not known, beginning with: %s", a.flavor.program, oneLineHead(a.unknown))}
}

// oneLineHead returns the beginning of s, which must be masked, on one line.
func oneLineHead(s string) string {
	if s = sanitize.Line(sanitize.Words(s)); len(s) > maxNotice {
		s = strings.ToValidUTF8(s[:maxNotice], "") + " …"
	}
	return s
}

// oneLine returns s on one line of about limit bytes. It truncates the beginning, since programs
// report the cause at the end.
func oneLine(s string, limit int) string {
	s = sanitize.Line(sanitize.Words(s))
	if len(s) <= limit {
		return s
	}
	s = strings.ToValidUTF8(s[len(s)-limit:], "")
	return "… " + s
}
