package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/wire"
)

// The functions below read answers about jobs, which may have any structure.

// updated returns j with the state, result and cost in an answer. An unknown state counts as running;
// an empty answer changes nothing.
func (v *videoJobs) updated(j works.Job, answer map[string]any) works.Job {
	if len(answer) == 0 {
		return j
	}
	s := v.service
	urls := texts(answer, s.files.urls)
	j.RawState = wire.Excerpt(firstText(answer, s.job.state))
	if j.RawState != "" || s.job.done != "" || len(urls) > 0 {
		j.State = s.job.stateOf(answer, j.RawState, len(urls) > 0)
	}
	if percent, ok := firstNumber(answer, s.job.progress); ok {
		j.Progress = int(math.Round(min(max(percent, 0), 100)))
	}
	j.Bill = s.bill.update(j.Bill, answer)
	code, text := failureOf(answer, s.job.failure)
	kept := strings.Join(texts(answer, s.files.filtered), "; ")
	switch {
	case j.State == works.JobDone && isFalse(answer, s.files.moderated), j.State == works.JobDone && len(urls) == 0 && kept != "":
		j.State = works.JobRefused
		j.Refused = &works.Refusal{Stage: "output", Code: code, Text: wire.Excerpt(kept), Billed: s.bill.refused}
	case j.State == works.JobDone && len(urls) == 0 && s.files.content == "" && code+text == "":
		j.State, j.Failure = works.JobFailed, "the provider says that it is done, but there is no video"
	case j.State == works.JobDone && len(urls) == 0 && s.files.content == "":
		j.State = works.JobFailed
		fallthrough
	case j.State == works.JobFailed:
		if isRefusal(code, text) || isRefusal(s.job.codes+code, text) {
			j.State, j.Refused = works.JobRefused, &works.Refusal{Code: code, Text: wire.Excerpt(text), Billed: s.bill.refused}
			break
		}
		if code != "" {
			text = strings.TrimSpace(text + " (" + code + ")")
		}
		j.Failure = wire.Excerpt(text)
	case j.State == works.JobDone:
		j.Outputs, j.Progress = max(len(urls), 1), 100
	}
	return j
}

// refusedJob returns j as refused by an error, with the cost in its body.
func (v *videoJobs) refusedJob(j works.Job, stage string, e *llm.Error) works.Job {
	usd, priced := firstNumber(errorBody(e), v.service.bill.cost)
	j.Bill = v.service.bill.update(j.Bill, errorBody(e))
	j.State, j.Refused = works.JobRefused, &works.Refusal{Stage: stage, Code: e.Code, Text: e.Message, Billed: priced && usd > 0 || stage == "output" && v.service.bill.refused}
	return j
}

// errorBody returns the body of the response in err; nil if there is none or it is not an object.
func errorBody(err error) (body map[string]any) {
	if a := (*wire.Answer)(nil); errors.As(err, &a) {
		decoder := json.NewDecoder(bytes.NewReader(a.Body))
		decoder.UseNumber()
		_ = decoder.Decode(&body)
	}
	return body
}

// stateOf returns the state in an answer; word is the service's name for it.
func (s videoState) stateOf(answer map[string]any, word string, hasVideo bool) works.JobState {
	if s.done != "" {
		if isTrue(answer, s.done) {
			return works.JobDone // updated makes it failed if there is no video
		}
		return works.JobRunning
	}
	word = strings.ToLower(word)
	switch state := jobState(word); {
	case state != "":
		return state
	case word == "" && hasVideo:
		return works.JobDone
	case word != "" && word == s.expired:
		return works.JobExpired
	}
	return works.JobRunning
}

// update returns bill with the cost and the length in an answer. It returns bill itself, which may
// be nil, if the answer has neither, or only a length while no cost is known.
func (b videoBill) update(bill *works.Bill, answer map[string]any) *works.Bill {
	usd, priced := firstNumber(answer, b.cost)
	priced = priced && usd >= 0
	seconds, timed := firstNumber(answer, b.seconds)
	timed = timed && seconds > 0
	if !priced && (!timed || bill == nil) {
		return bill
	}
	var updated works.Bill
	if bill != nil {
		updated = *bill
	}
	if priced {
		if b.ticks > 0 {
			usd /= b.ticks
		}
		updated = works.Bill{USD: usd, Priced: true, Reported: true, Seconds: updated.Seconds}
	}
	if timed {
		updated.Seconds = seconds
	}
	return &updated
}

// failureOf returns the code and the message of an error at a field path.
func failureOf(answer map[string]any, path string) (code, text string) {
	if path == "" {
		return "", ""
	}
	for _, found := range values(answer, path) {
		switch e := found.(type) {
		case map[string]any:
			code, text = scalar(e["code"]), scalar(e["message"])
			if said := scalar(e["status_code"]); said != "" && said != "0" { // MiniMax's base_resp
				code, text = said, scalar(e["status_msg"])
			}
			return code, text
		case string:
			return "", e
		}
	}
	return "", ""
}

// isRefusal reports whether an error means that content was refused.
func isRefusal(code, text string) bool {
	data, err := adapter.Marshal(map[string]any{"error": map[string]any{"code": code, "message": text}})
	if err != nil {
		return false
	}
	fault := wire.EventError(data)
	return fault != nil && fault.Fault == llm.ContentFilter
}

// values returns the values in v at a field path, without nulls; "." is v itself, "" is nothing.
func values(v any, path string) []any {
	if list, ok := v.([]any); ok {
		var all []any
		for _, item := range list {
			all = append(all, values(item, path)...)
		}
		return all
	}
	if path == "" || v == nil {
		return nil
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	if path == "." {
		return []any{object}
	}
	name, rest, more := strings.Cut(path, ".")
	inner, ok := object[name]
	switch list, isList := inner.([]any); {
	case !ok || inner == nil:
		return nil
	case more:
		return values(inner, rest)
	case isList:
		return list
	}
	return []any{inner}
}

// texts returns the nonempty strings and numbers at a field path.
func texts(v any, path string) (list []string) {
	for _, found := range values(v, path) {
		if s := scalar(found); s != "" {
			list = append(list, s)
		}
	}
	return list
}

func firstText(v any, path string) string {
	for _, s := range texts(v, path) {
		return s
	}
	return ""
}

func scalar(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

func firstNumber(v any, path string) (float64, bool) {
	for _, found := range values(v, path) {
		if n, ok := found.(json.Number); ok {
			f, err := n.Float64()
			return f, err == nil && !math.IsNaN(f) && !math.IsInf(f, 0)
		}
	}
	return 0, false
}

func isTrue(v any, path string) bool {
	found := values(v, path)
	return len(found) > 0 && found[0] == true
}

func isFalse(v any, path string) bool {
	found := values(v, path)
	return len(found) > 0 && found[0] == false
}
