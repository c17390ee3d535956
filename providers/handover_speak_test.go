package providers_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"parley/providers/llm"
)

func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

func encoded(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// spoken returns the text of an answer; "" for parties that call tools without text.
func (p *party) spoken(a answer) string {
	if a.calls && p.mute {
		return ""
	}
	return a.text + " " + p.tag()
}

// page returns the URL of an answer's nth citation.
func (p *party) page(n int) string { return fmt.Sprintf("https://%s.example/%d", p.kind, n) }

// citation returns the citation of an answer in wire formats that have one; "" for none.
func (p *party) citation(a answer) string {
	if a.calls {
		return ""
	}
	kind, text := "url_citation", `"start_index":0,"end_index":1`
	if p.kind == "anthropic" {
		kind, text = "web_search_result_location", `"cited_text":"it says","encrypted_index":`+quoted(p.secret(a.n+20))
	}
	return fmt.Sprintf(`{"type":%q,"url":%q,"title":"A page",%s}`, kind, p.page(a.n), text)
}

// made returns the calls of an answer, two unless it says others.
func (a answer) made() []llm.Part {
	switch {
	case !a.calls:
		return nil
	case a.parts != nil:
		return a.parts
	}
	return []llm.Part{{Name: "read", Input: `{"path":"a.go"}`}, {Name: "list", Input: `{}`}}
}

// speakChat returns an answer as chunks of chat completions.
func speakChat(p *party, a answer) []string {
	var list []string
	delta := func(format string, args ...any) {
		list = append(list, `{"id":"c","choices":[{"index":0,"delta":`+fmt.Sprintf(format, args...)+`}]}`)
	}
	delta(`{"role":"assistant","content":""}`)
	thought := quoted(p.thought(a.n))
	switch p.thinks {
	case "":
	case "parts":
		delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":%s}]}]}`, thought)
	case "details":
		form := "anthropic-claude-v1"
		if p.kind == "minimax" {
			form = "MiniMax-response-v1"
		}
		delta(`{"reasoning_details":[{"type":"reasoning.text","id":"rt_%d","format":%q,"index":0,"text":%s,"signature":%q}]}`, a.n, form, thought, p.secret(a.n))
		delta(`{"reasoning_details":[{"type":"reasoning.encrypted","id":"re_%d","format":%q,"index":1,"data":%q}]}`, a.n, form, p.secret(a.n+10))
	default:
		delta(`{%q:%s}`, p.thinks, thought)
	}
	if text := p.spoken(a); text != "" {
		delta(`{"content":%s}`, quoted(text))
	}
	if !a.calls {
		return append(list, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, `[DONE]`)
	}
	for i, call := range a.made() {
		delta(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":%s}}]}`, i, p.ids[i], call.Name, quoted(call.Input))
	}
	return append(list, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`)
}

// speakItems returns an answer as events of Responses.
func speakItems(p *party, a answer) []string {
	output := []string{fmt.Sprintf(`{"id":"rs_%d","type":"reasoning","summary":[{"type":"summary_text","text":%s}],"encrypted_content":%q}`,
		a.n, quoted(p.thought(a.n)), p.secret(a.n))}
	if text := p.spoken(a); text != "" {
		output = append(output, fmt.Sprintf(`{"id":"msg_%d","type":"message","role":"assistant","status":"completed","phase":"commentary","content":[{"type":"output_text","text":%s,"annotations":[%s]}]}`,
			a.n, quoted(text), p.citation(a)))
	}
	for i, call := range a.made() {
		output = append(output, fmt.Sprintf(`{"id":"fc_%d%d","type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%s}`,
			a.n, i, p.ids[i], call.Name, quoted(call.Input)))
	}
	var list []string
	for i, item := range output {
		list = append(list,
			fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, i, item),
			fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item))
	}
	return append(list, `{"type":"response.completed","response":{"id":"r","status":"completed","output":[`+strings.Join(output, ",")+`]}}`)
}

// speakContents returns an answer as chunks of Gemini. Of parallel calls only the
// first is signed, and an answer without calls at its very end.
func speakContents(p *party, a answer) []string {
	var list []string
	parts := func(format string, args ...any) {
		list = append(list, `{"candidates":[{"content":{"role":"model","parts":[`+fmt.Sprintf(format, args...)+`]},"index":0}]}`)
	}
	parts(`{"text":%s,"thought":true}`, quoted(p.thought(a.n)))
	if text := p.spoken(a); text != "" {
		parts(`{"text":%s}`, quoted(text))
	}
	signature := fmt.Sprintf(`,"thoughtSignature":%q`, p.secret(a.n))
	if !a.calls {
		parts(`{"text":""%s}`, signature)
	} else {
		for i, call := range a.made() {
			id := ""
			if p.ids[i] != "" {
				id = fmt.Sprintf(`"id":%q,`, p.ids[i])
			}
			parts(`{"functionCall":{%s"name":%q,"args":%s}%s}`, id, call.Name, call.Input, signature)
			signature = ""
		}
	}
	return append(list, `{"candidates":[{"finishReason":"STOP","index":0}]}`)
}

// speakBlocks returns an answer as events of Anthropic Messages.
func speakBlocks(p *party, a answer) []string {
	list := []string{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1}}}`}
	n := 0
	block := func(start string, deltas ...string) {
		list = append(list, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, n, start))
		for _, d := range deltas {
			list = append(list, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, n, d))
		}
		list = append(list, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n))
		n++
	}
	block(`{"type":"thinking","thinking":"","signature":""}`,
		`{"type":"thinking_delta","thinking":`+quoted(p.thought(a.n))+`}`, fmt.Sprintf(`{"type":"signature_delta","signature":%q}`, p.secret(a.n)))
	block(fmt.Sprintf(`{"type":"redacted_thinking","data":%q}`, p.secret(a.n+10)))
	if text := p.spoken(a); text != "" {
		deltas := []string{`{"type":"text_delta","text":` + quoted(text) + `}`}
		if cited := p.citation(a); cited != "" {
			deltas = append(deltas, `{"type":"citations_delta","citation":`+cited+`}`)
		}
		block(`{"type":"text","text":""}`, deltas...)
	}
	reason := "end_turn"
	if a.calls {
		reason = "tool_use"
		for i, call := range a.made() {
			block(fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, p.ids[i], call.Name),
				`{"type":"input_json_delta","partial_json":`+quoted(call.Input)+`}`)
		}
	}
	return append(list, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":1}}`, `{"type":"message_stop"}`)
}
