package openai

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

// A response is a whole answer, as sent in the last event of a stream.
type response struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	Status     string          `json:"status"`
	Error      json.RawMessage `json:"error"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Filters []struct { // Azure
		Found json.RawMessage `json:"content_filter_results"`
	} `json:"content_filters"`
	Changed []struct { // input fields that the server changed
		Type   string `json:"type"`
		Action string `json:"action"`
		Reason string `json:"reason"`
	} `json:"input_transformations"`
	Output []json.RawMessage `json:"output"`
	Usage  *responsesUsage   `json:"usage"`
}

// responsesUsage holds the token counts of the Responses format.
type responsesUsage struct {
	Input   float64 `json:"input_tokens"`
	Output  float64 `json:"output_tokens"`
	Total   float64 `json:"total_tokens"`
	InputOf struct {
		Cached float64 `json:"cached_tokens"`
		cacheWrites
	} `json:"input_tokens_details"`
	OutputOf struct {
		Reasoning float64 `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Cost  *reportedCost `json:"cost"`              // gateways, US dollars
	Ticks *float64      `json:"cost_in_usd_ticks"` // xAI, 1e-10 US dollars
}

func (t *responsesUsage) toLLM() llm.Usage {
	u := usage{Prompt: t.Input, Completion: t.Output, Total: t.Total, Cost: t.Cost, Ticks: t.Ticks}
	u.PromptOf.Cached, u.PromptOf.cacheWrites = t.InputOf.Cached, t.InputOf.cacheWrites
	u.CompletionOf.Reasoning = t.OutputOf.Reasoning
	return u.toLLM()
}

func (o *responsesAnswer) OnBody(data []byte) error { return o.finish("", data, data) }

// finish ends the answer from the response in its last event. Status is the status in that event's
// type; data is the whole event.
func (o *responsesAnswer) finish(status string, raw json.RawMessage, data []byte) error {
	var r response
	if err := adapter.DecodeLenient(raw, &r); err != nil {
		return wire.DecodeError(data, err)
	}
	if r.ID != "" {
		o.label = label{r.ID, r.Model}
	}
	if r.Usage != nil {
		o.setUsage(r.Usage.toLLM())
	}
	r.Status = cmp.Or(r.Status, status)
	switch {
	case wire.HasError(r.Error), r.Status == "" && r.Output == nil:
		return o.eventError(data)
	case r.Status != "completed" && r.Status != "incomplete" && r.Status != "":
		o.sendUsage()
		return &llm.Error{Fault: llm.Server, Message: "the answer ended with status " + r.Status, Code: r.Status}
	}
	o.completeFromResponse(r.Output)
	o.refuseRequests()
	if n := o.searches(); n > 0 {
		u := o.usage
		u.Searches = n
		o.setUsage(u)
	}
	calls := o.finishCalls(r.Status == "incomplete")
	o.sendUsage()
	finish := llm.Finish{Reason: o.finishReason(&r, calls), Raw: r.Status, ID: o.label.ID, Model: o.label.Model}
	reason := ""
	for _, c := range r.Changed {
		if c.Type == "reasoning" && c.Action == "removed" {
			finish.Unused, reason = finish.Unused+1, c.Reason
		}
	}
	if notice := adapter.UnusedThinking(finish.Unused, wire.Excerpt(reason)); notice != "" {
		o.out.Send(llm.Notice{Text: notice})
	}
	if r.Incomplete.Reason != "" {
		finish.Raw = r.Incomplete.Reason
	}
	if finish.Reason == llm.Refused {
		caught := ""
		for _, f := range r.Filters {
			caught = cmp.Or(filteredBy(f.Found), caught)
		}
		o.explainRefusal(caught, "", "")
	}
	o.out.Send(finish)
	return nil
}

// completeFromResponse completes items from the final list: some servers send items only there, and
// Azure sends encrypted reasoning there. Items without a known id match by type and position, or
// else the first unmatched one.
func (o *responsesAnswer) completeFromResponse(list []json.RawMessage) {
	wholes, found := make([]item, len(list)), make([]*openItem, len(list))
	claim := func(n int, it *openItem) bool {
		if it == nil || it.claimed || it.Type != wholes[n].Type || !it.mayBe(&wholes[n]) {
			return false
		}
		it.claimed, found[n] = true, it
		return true
	}
	for n, raw := range list {
		adapter.DecodeLenient(raw, &wholes[n])
		_ = wholes[n].ID != "" && claim(n, o.byID[wholes[n].ID]) || wholes[n].CallID != "" && claim(n, o.byID[wholes[n].CallID])
	}
	streamed := slices.Clone(o.order)
	for n, raw := range list {
		whole := &wholes[n]
		if whole.Type == "" {
			continue
		}
		_ = found[n] != nil || claim(n, o.items[n]) || n < len(streamed) && claim(n, streamed[n]) ||
			slices.ContainsFunc(streamed, func(it *openItem) bool { return claim(n, it) })
		it := found[n]
		if it == nil {
			it = o.newItem(*whole, nil, "")
		}
		if !it.done || !it.sealed && adapter.IsPresent(whole.Encrypted) {
			o.completeItem(it, *whole, raw)
		}
	}
}

// refuseRequests adds notices for requests of the model that parley does not fulfill.
func (o *responsesAnswer) refuseRequests() {
	for _, it := range o.order {
		what := it.request()
		if what == "" || !it.done || slices.ContainsFunc(o.order, func(other *openItem) bool { return other.answers(&it.item) }) {
			continue
		}
		p := o.remoteCall(it, &it.item)
		o.out.Send(llm.Delta{Block: o.blocks.New("r"), Part: llm.Part{Kind: llm.Result, ID: p.ID, Name: p.Name, Text: "not run: parley has no answer to this", Remote: true, Failed: true}})
		o.out.Send(llm.Notice{Text: "the model asked for " + what + ", to which parley has no answer: " + wire.Excerpt(p.Input), Urgent: true})
	}
}

// searches counts the web searches.
func (o *responsesAnswer) searches() (n int) {
	for _, it := range o.order {
		if it.done && it.isSearch() {
			n++
		}
	}
	return n
}

// finishCalls gives ids to calls without one, withdraws incomplete calls, which must never run, and
// counts the rest.
func (o *responsesAnswer) finishCalls(cut bool) (calls int) {
	for _, it := range o.order {
		switch {
		case it.Type != "function_call" || it.block == "":
			continue
		case cut && !it.done:
			o.send(it, "", llm.Part{Kind: llm.Opaque})
			continue
		case it.callID == "":
			it.callID, _ = o.ids.Claim("", idPrefix)
			o.send(it, "", llm.Part{Kind: llm.Call, ID: it.callID})
		}
		calls++
	}
	return calls
}

func (o *responsesAnswer) finishReason(r *response, calls int) llm.Reason {
	switch {
	case r.Incomplete.Reason == "content_filter":
		return llm.Refused
	case r.Status == "incomplete" && r.Incomplete.Reason == "": // servers that omit the reason mean the limit
		return llm.Length
	case r.Incomplete.Reason == "max_output_tokens" || r.Incomplete.Reason == "max_tokens":
		return llm.Length
	case r.Status == "incomplete":
		return llm.Other
	case calls > 0:
		return llm.Calls
	case o.hasRefusal && !o.hasText:
		return llm.Refused
	}
	return llm.Stop
}

// eventError returns the error in an event. An unusable image is an error of the request.
func (o *responsesAnswer) eventError(data []byte) error {
	err := o.bodyError(data)
	if fault, ok := err.(*llm.Error); ok && fault.Fault == llm.Unknown &&
		(strings.Contains(fault.Code, "image") || fault.Code == "data_residency_mismatch") {
		fault.Fault = llm.InvalidRequest
	}
	return err
}
