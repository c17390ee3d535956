package llm

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// A Change is an adaptation of a history by Portable, shown to the user.
type Change struct {
	What  string `json:"what"` // "thinking left out", "remote tool calls told as text", …
	Count int    `json:"count"`
}

// String returns the change as text, such as "thinking left out (3)".
func (c Change) String() string {
	if c.Count < 2 {
		return c.What
	}
	return fmt.Sprintf("%s (%d)", c.What, c.Count)
}

// Changes made by Portable, in the order in which it lists them.
const (
	changeThinking   = "earlier models' thinking not sent"
	changeState      = "earlier models' private data not sent"
	changeRemote     = "other providers' tool calls sent as text"
	changeSource     = "sources sent as text"
	ChangeUnfinished = "unfinished tool calls closed" // also calls that are still running
)

// Portable returns history in the form for the wire format origin, and the changes made. It is the
// only place that drops foreign State and foreign thinking (in the text, thinking would teach the
// model to write its own there). It does not modify history, so switching back to the first
// provider restores its bytes. The result is valid as defined by Repair.
func Portable(history []Message, origin string) ([]Message, []Change) {
	counts := map[string]int{}
	out := make([]Message, 0, len(history))
	for _, m := range history {
		switch {
		case m.Role != RoleAssistant:
		case m.Origin != origin:
			m.Parts = stripForeign(m.Parts, counts)
			m.Parts = m.JoinedParts()
		case m.Interrupted: // without State, the use of a provider's tools means nothing to it
			m.Parts = slices.DeleteFunc(withBreaks(m.Parts), func(p Part) bool { return p.Remote })
			m.Parts = sourcesAsText(m.Parts, counts)
		}
		out = append(out, m)
	}
	out, closed := repair(mediaAsUser(out, origin))
	counts[ChangeUnfinished] = closed

	var changes []Change
	for _, what := range []string{changeThinking, changeState, changeRemote, changeSource, ChangeUnfinished} {
		if counts[what] > 0 {
			changes = append(changes, Change{what, counts[what]})
		}
	}
	return out, changes
}

// mediaAsUser moves images and files without State of origin out of answers, into a user message
// after the answer and its tool results: in most wire formats, answers contain only text and calls.
func mediaAsUser(history []Message, origin string) []Message {
	out := make([]Message, 0, len(history))
	var made []Part // media of the previous answer
	for _, m := range history {
		if m.Role == RoleUser && made != nil {
			m.Parts = append(notAmong(made, m.Parts), m.Parts...)
			made = nil
		}
		if m.Role == RoleAssistant {
			if made != nil {
				out = append(out, Message{Role: RoleUser, Parts: made})
			}
			m.Parts, made = splitGenerated(m, origin)
		}
		out = append(out, m)
	}
	if made != nil {
		out = append(out, Message{Role: RoleUser, Parts: made})
	}
	return out
}

// notAmong returns the media in made, each with the text before it, that are not in parts: a prompt
// to edit an image already includes it.
func notAmong(made, parts []Part) (rest []Part) {
	for i := 0; i+1 < len(made); i += 2 {
		same := func(p Part) bool { return p.Kind == Media && p.Made != "" && bytes.Equal(p.Data, made[i+1].Data) }
		if !slices.ContainsFunc(parts, same) {
			rest = append(rest, made[i], made[i+1])
		}
	}
	return rest
}

// splitGenerated returns the parts of an answer that can stay in it, and its generated media, each
// with a text before it.
func splitGenerated(m Message, origin string) (parts, made []Part) {
	if !hasGenerated(&m, origin) {
		return m.Parts, nil
	}
	for _, p := range m.Parts {
		if !isGenerated(&m, &p, origin) {
			parts = append(parts, p)
			continue
		}
		made = append(made, Part{Kind: Text, Text: strings.TrimSpace("Made by the assistant: " + oneLineName(p.Name))}, p)
	}
	return parts, made
}

// isGenerated reports whether p is media that an answer cannot contain when sent back.
func isGenerated(m *Message, p *Part, origin string) bool {
	return p.Kind == Media && (p.State == nil || m.Origin != origin) && (len(p.Data) > 0 || p.URL != "")
}

// hasGenerated reports whether an answer has media that it cannot contain when sent back.
func hasGenerated(m *Message, origin string) bool {
	for i := range m.Parts {
		if isGenerated(m, &m.Parts[i], origin) {
			return true
		}
	}
	return false
}

// oneLineName returns name on one line, so that it cannot be mistaken for other text.
func oneLineName(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, name)
}

// stripForeign removes content from parts that only its own provider understands.
func stripForeign(parts []Part, counts map[string]int) []Part {
	if isPlain(parts) {
		return parts
	}
	out := make([]Part, 0, len(parts))
	for _, p := range withBreaks(parts) {
		switch {
		case p.Kind == Thinking:
			counts[changeThinking]++
			continue
		case p.Kind == Opaque:
			counts[changeState]++
			continue
		case p.Remote && p.Kind == Call:
			counts[changeRemote]++
			p = Part{Kind: Text, Begins: true, Text: fmt.Sprintf("[used the tool %s: %s]", p.Name, p.Input)}
		case p.Remote && p.Kind == Result:
			p = Part{Kind: Text, Begins: true, Text: fmt.Sprintf("[the tool %s answered: %s]", p.Name, p.Text)}
		}
		p.State = nil
		if !isEmpty(&p) {
			out = append(out, p)
		}
	}
	return sourcesAsText(out, counts)
}

// withBreaks returns a copy of parts in which Begins marks each text that an empty line precedes,
// even after the parts between them are dropped.
func withBreaks(parts []Part) []Part {
	parts = slices.Clone(parts)
	var breaks Breaks
	for i := range parts {
		p := &parts[i]
		p.Begins = breaks.Next(p) || p.Begins
	}
	return parts
}

// isPlain reports whether parts are texts and calls that every provider understands, as in most
// answers.
func isPlain(parts []Part) bool {
	for i := range parts {
		p := &parts[i]
		if p.Kind != Text && p.Kind != Call || p.Remote || p.State != nil || isEmpty(p) {
			return false
		}
	}
	return true
}

// sourcesAsText replaces the sources of an answer with a numbered list in a text before its calls: wire
// formats have sources, if at all, only in answers of their own provider.
func sourcesAsText(parts []Part, counts map[string]int) []Part {
	if !slices.ContainsFunc(parts, func(p Part) bool { return p.Kind == Source }) {
		return parts
	}
	var named []string
	rest := slices.DeleteFunc(slices.Clone(parts), func(p Part) bool {
		if p.Kind == Source {
			named = append(named, strings.TrimSpace(fmt.Sprintf("[%d] %s %s", len(named)+1, oneLineName(p.Title()), oneLineName(p.URL))))
		}
		return p.Kind == Source
	})
	counts[changeSource] += len(named)
	at := slices.IndexFunc(rest, func(p Part) bool { return p.Kind == Call })
	if at < 0 {
		at = len(rest)
	}
	return slices.Insert(rest, at, Part{Kind: Text, Begins: true, Text: "[sources: " + strings.Join(named, "; ") + "]"})
}

// NoResult is the output of a call without a result: it is unknown whether the call ran.
const NoResult = "There is no result: the turn was interrupted. Whether this ran, and what it did, is not known."

// Repair returns history in the form that every provider requires. Each call has exactly one
// result, directly after its message and in the order of the calls. Results without a call are
// dropped, and a user message between calls and results is moved after the results. Consecutive
// user messages are merged, and empty messages dropped. Text and input are valid UTF-8 without lone
// surrogates. Valid histories are returned unchanged.
func Repair(history []Message) []Message {
	out, _ := repair(history)
	return out
}

// repair implements Repair. Closed is the number of calls without a result.
func repair(history []Message) (out []Message, closed int) {
	out = make([]Message, 0, len(history))
	for i, m := range history {
		if m.Role == RoleTool || allEmpty(m.Parts) {
			continue
		}
		m.Parts = cleanParts(m.Parts)
		if n := len(out); m.Role == RoleUser && n > 0 && out[n-1].Role == RoleUser {
			// Two user messages in a row, the first without an answer: many chat templates refuse
			// them.
			out[n-1].Parts = append(slices.Clip(out[n-1].Parts), m.Parts...)
			continue
		}
		out = append(out, m)
		calls := m.Calls()
		if len(calls) == 0 {
			continue
		}
		results, lack := resultsOf(calls, history[i+1:])
		closed += lack
		out = append(out, Message{Role: RoleTool, Parts: cleanParts(results)})
	}
	if len(out) == 0 {
		return nil, closed
	}
	return out, closed
}

// allEmpty reports whether parts have nothing to show, send or replay.
func allEmpty(parts []Part) bool {
	for i := range parts {
		if !isEmpty(&parts[i]) {
			return false
		}
	}
	return true
}

// resultsOf returns one result for each of calls, from the messages after them. Lack is the number of
// missing ones.
func resultsOf(calls []Part, rest []Message) (results []Part, lack int) {
	if answersInOrder(calls, rest) {
		return rest[0].Parts, 0
	}
	byCall := resultsByCall(rest)
	for _, call := range calls {
		found := byCall[call.ID]
		delete(byCall, call.ID) // an id is answered once
		if len(found) == 0 {
			found = []Part{{Kind: Result, ID: call.ID, Name: call.Name, Text: NoResult, Failed: true}}
			lack++
		}
		results = append(results, found...)
	}
	return results, lack
}

// answersInOrder reports whether rest begins with exactly the results of calls, in order, as in most
// histories.
func answersInOrder(calls []Part, rest []Message) bool {
	if len(rest) == 0 || rest[0].Role != RoleTool || len(rest[0].Parts) != len(calls) {
		return false
	}
	for i := range calls {
		p := &rest[0].Parts[i]
		if p.Kind != Result || p.ID != calls[i].ID || slices.ContainsFunc(calls[:i], func(c Part) bool { return c.ID == p.ID }) {
			return false
		}
	}
	for i := 1; i < len(rest) && rest[i].Role != RoleAssistant; i++ {
		if rest[i].Role == RoleTool {
			return false
		}
	}
	return true
}

// resultsByCall groups the results, each with its media, by call id. It stops at the next assistant
// message, since some servers reuse ids in every turn.
func resultsByCall(rest []Message) map[string][]Part {
	found := map[string][]Part{}
	for _, m := range rest {
		if m.Role == RoleAssistant {
			break
		}
		if m.Role != RoleTool {
			continue
		}
		for _, p := range m.Parts {
			first := len(found[p.ID]) == 0
			if first == (p.Kind == Result) { // the result comes first, and only once
				found[p.ID] = append(found[p.ID], p)
			}
		}
	}
	return found
}
