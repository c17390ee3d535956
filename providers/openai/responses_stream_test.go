package openai_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/openai"
)

// respond returns a model that gets these answers in order, and its recorded requests.
func respond(model string, answers ...string) (*openai.Responses, *record) {
	r := &record{}
	for _, a := range answers {
		media := "text/event-stream"
		if strings.HasPrefix(a, "{") {
			media = "application/json"
		}
		r.answers = append(r.answers, canned{200, media, a})
	}
	return openai.NewResponses(openai.Options{Provider: "mock", Model: model, BaseURL: "http://mock.invalid/v1", HTTP: r.client()}), r
}

// effortSteps makes a stream of events.
func effortSteps(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(sse(e))
	}
	return b.String()
}

// completed ends a stream with the complete response.
func completed(output ...string) string {
	return `{"type":"response.completed","response":{"id":"resp_1","model":"m-1","status":"completed","error":null,"output":[` + strings.Join(output, ",") + `]}}`
}

const (
	itemText  = `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"hello"}]}`
	itemThink = `{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"gA"}`
	itemCall  = `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":"{\"x\":1}"}`
)

func TestResponsesStream(t *testing.T) {
	done := func(at, item string) string {
		return `{"type":"response.output_item.done","output_index":` + at + `,"item":` + item + `}`
	}
	added := func(at, item string) string {
		return `{"type":"response.output_item.added","output_index":` + at + `,"item":` + item + `}`
	}
	delta := func(kind, at, rest string) string {
		return `{"type":"response.` + kind + `.delta","output_index":` + at + `,` + rest + `}`
	}
	const args = "function_call_arguments"
	for _, test := range []struct {
		name, want string
		reason     llm.Reason
		stream     string
	}{
		{"summaries in parts", "(one\n\ntwo)", llm.Stop, effortSteps(
			delta("reasoning_summary_text", "0", `"summary_index":0,"delta":"on"`), delta("reasoning_summary_text", "0", `"summary_index":0,"delta":"e"`),
			delta("reasoning_summary_text", "0", `"summary_index":1,"delta":"two"`), completed())},
		{"reasoning beside its summary is not told twice", "(one)", llm.Stop, effortSteps(
			delta("reasoning_text", "0", `"content_index":0,"delta":"one"`), delta("reasoning_summary_text", "0", `"summary_index":0,"delta":"short"`), completed())},
		{"items without deltas", "(a\n\nb) | hello | call_1:f{\"x\":1}", llm.Calls, effortSteps(done("0", itemThink), done("1", itemText), done("2", itemCall), completed())},
		{"items only at the end", "(a\n\nb) | hello | call_1:f{\"x\":1}", llm.Calls, effortSteps(completed(itemThink, itemText, itemCall))},
		{"in one piece", "(a\n\nb) | hello | call_1:f{\"x\":1}", llm.Calls,
			`{"id":"resp_1","object":"response","model":"m-1","status":"completed","error":null,"incomplete_details":null,"output":[` + itemThink + "," + itemText + "," + itemCall + `]}`},
		{"nothing twice", `hello | call_1:f{"x":1}`, llm.Calls, effortSteps(
			added("0", `{"type":"message","id":"msg_1","content":[]}`), delta("output_text", "0", `"delta":"hello"`), `{"type":"response.output_text.done","output_index":0,"text":"hello"}`, done("0", itemText),
			added("1", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f","arguments":""}`), delta(args, "1", `"delta":"{\"x\""`), delta(args, "1", `"delta":":1}"`),
			`{"type":"response.function_call_arguments.done","output_index":1,"arguments":"{\"x\":1}"}`, done("1", itemCall), completed(itemText, itemCall))},
		{"ids that change", `hello`, llm.Stop, effortSteps(
			added("0", `{"type":"message","id":"a"}`), delta("output_text", "0", `"item_id":"b","delta":"hello"`), done("0", itemText), completed(strings.ReplaceAll(itemText, "msg_1", "c")))},
		{"calls that take turns", `call_1:f{"x":1} | call_2:g{}`, llm.Calls, effortSteps(
			added("0", `{"type":"function_call","call_id":"call_1","name":"f"}`), added("1", `{"type":"function_call","call_id":"call_2","name":"g"}`),
			delta(args, "0", `"delta":"{\"x\""`), delta(args, "1", `"delta":"{"`), delta(args, "0", `"delta":":1}"`), delta(args, "1", `"delta":"}"`), completed())},
		{"everything is number 0", `hello | call_1:f{"x":1} | call_2:g{}`, llm.Calls, effortSteps(
			added("0", `{"type":"message","id":"a"}`), delta("output_text", "0", `"delta":"hello"`), done("0", itemText),
			added("0", `{"type":"function_call","call_id":"call_1","name":"f"}`), delta(args, "0", `"delta":"{\"x\":1}"`), done("0", itemCall),
			added("0", `{"type":"function_call","call_id":"call_2","name":"g"}`), delta(args, "0", `"delta":"{}"`), done("0", `{"type":"function_call","id":"fc_2","call_id":"call_2","name":"g","arguments":"{}"}`),
			completed(itemText, itemCall, `{"type":"function_call","id":"fc_2","call_id":"call_2","name":"g","arguments":"{}"}`))},
		{"no numbers at all", `hello | call_1:f{"x":1}`, llm.Calls, effortSteps(
			`{"type":"response.output_item.added","item":{"type":"message"}}`, `{"type":"response.output_text.delta","delta":"hello"}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"call_1","name":"f"}}`, `{"type":"response.function_call_arguments.delta","delta":"{\"x\":1}"}`, completed())},
		{"an item that ends twice", `call_1:f{"x":1}`, llm.Calls, effortSteps(done("0", itemCall), done("0", itemCall), completed(itemCall))},
		{"no numbers and no ids", `call_1:f{} | call_2:g{"x":2}`, llm.Calls, effortSteps(
			`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"call_1","name":"f","arguments":"{}"}}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"call_2","name":"g","arguments":"{\"x\":2}"}}`, completed())},
		{"no types but of the events", "hello", llm.Stop, "event: response.output_text.delta\ndata: {\"delta\":\"hello\"}\n\n" + effortSteps(completed())},
		{"ids alone, items that overlap, ends at the end", "(hm) | So | fc_a:f{\"x\":1} | fc_b:g{\"y\":2}", llm.Calls, effortSteps(
			`{"type":"response.output_item.added","item":{"type":"reasoning","id":"rs_1","summary":[]}}`, `{"type":"response.reasoning_text.delta","item_id":"rs_1","delta":"hm"}`,
			`{"type":"response.output_item.added","item":{"type":"message","id":"msg_1","content":[]}}`, `{"type":"response.output_text.delta","item_id":"msg_1","delta":"So"}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"fc_a","name":"f","arguments":""}}`, `{"type":"response.function_call_arguments.delta","item_id":"fc_a","delta":"{\"x\""}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","call_id":"fc_b","name":"g","arguments":""}}`, `{"type":"response.function_call_arguments.delta","item_id":"fc_b","delta":"{\"y\":2}"}`,
			`{"type":"response.function_call_arguments.delta","item_id":"fc_a","delta":":1}"}`,
			`{"type":"response.reasoning_text.done","item_id":"rs_1","text":"hm"}`, `{"type":"response.output_item.done","item":{"type":"reasoning","id":"rs_1","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]}}`,
			`{"type":"response.output_text.done","item_id":"msg_1","text":"So"}`, `{"type":"response.output_item.done","item":{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"So"}]}}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"fc_b","name":"g","arguments":"{\"y\":2}"}}`,
			`{"type":"response.output_item.done","item":{"type":"function_call","call_id":"fc_a","name":"f","arguments":"{\"x\":1}"}}`,
			completed(`{"type":"reasoning","id":"rs_1","content":[{"type":"reasoning_text","text":"hm"}]}`, `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"So"}]}`,
				`{"type":"function_call","call_id":"fc_a","name":"f","arguments":"{\"x\":1}"}`, `{"type":"function_call","call_id":"fc_b","name":"g","arguments":"{\"y\":2}"}`))},
		{"ids before indexes that are all 0", `call_1:f{"x":1} | call_2:g{"y":2}`, llm.Calls, effortSteps(
			added("0", `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"f"}`), added("0", `{"type":"function_call","id":"fc_2","call_id":"call_2","name":"g"}`),
			delta(args, "0", `"item_id":"fc_1","delta":"{\"x\":1}"`), delta(args, "0", `"item_id":"fc_2","delta":"{\"y\":2}"`),
			done("0", itemCall), done("0", `{"type":"function_call","id":"fc_2","call_id":"call_2","name":"g","arguments":"{\"y\":2}"}`), completed())},
		{"ids that nobody announced", `one | two`, llm.Stop, effortSteps(
			`{"type":"response.output_text.delta","item_id":"a","delta":"one"}`, `{"type":"response.output_text.delta","item_id":"b","delta":"two"}`,
			completed(`{"type":"message","id":"a","content":[{"type":"output_text","text":"one"}]}`, `{"type":"message","id":"b","content":[{"type":"output_text","text":"two"}]}`))},
		{"ids that change, without an index", `hello | call_1:f{"x":1}`, llm.Calls, effortSteps(
			`{"type":"response.output_item.added","item":{"type":"message","id":"a"}}`, `{"type":"response.output_text.delta","item_id":"b","delta":"hello"}`, `{"type":"response.output_item.done","item":{"type":"message","id":"c","content":[{"type":"output_text","text":"hello"}]}}`,
			`{"type":"response.output_item.added","item":{"type":"function_call","id":"d","call_id":"call_1","name":"f"}}`, `{"type":"response.function_call_arguments.delta","item_id":"e","delta":"{\"x\":1}"}`,
			completed(`{"type":"message","id":"g","content":[{"type":"output_text","text":"hello"}]}`, itemCall))},
		{"text at its end alone", "hello", llm.Stop, effortSteps(added("0", `{"type":"message","id":"msg_1"}`), `{"type":"response.output_text.done","output_index":0,"item_id":"msg_1","text":"hello"}`, done("0", itemText), completed(itemText))},
		{"text of an end, and of no item", "hello", llm.Stop, effortSteps(`{"type":"response.output_text.done","text":"hello"}`, completed())},
		{"refusal at its end alone", "No.", llm.Refused, effortSteps(`{"type":"response.refusal.done","output_index":0,"refusal":"No."}`, completed())},
		{"deltas shorter than the end of a piece", "hello, you", llm.Stop, effortSteps(delta("output_text", "0", `"delta":"hel"`), `{"type":"response.output_text.done","output_index":0,"text":"hello"}`,
			`{"type":"response.output_text.done","output_index":0,"content_index":1,"text":", you"}`, completed())},
		{"deltas shorter than the item", "hello", llm.Stop, effortSteps(delta("output_text", "0", `"delta":"hel"`), done("0", itemText), completed())},
		{"deltas shorter than the final item", "(a\n\nb) | hello | call_1:f{\"x\":1}", llm.Calls, effortSteps(delta("reasoning_summary_text", "0", `"summary_index":0,"delta":"a"`),
			delta("output_text", "1", `"delta":"hel"`), added("2", `{"type":"function_call","call_id":"call_1","name":"f"}`), delta(args, "2", `"delta":"{"`), completed(itemThink, itemText, itemCall))},
		{"an item that only the final list has", `call_1:f{"x":1} | hello`, llm.Calls, effortSteps(done("1", itemCall), completed(itemText, itemCall))},
		{"a message before another that only the final list has", `two | hello`, llm.Stop, effortSteps(
			done("1", `{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"two"}]}`), completed(itemText, `{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"two"}]}`))},
		{"arguments of an end alone", `call_1:f{"x":1}`, llm.Calls, effortSteps(added("0", `{"type":"function_call","call_id":"call_1","name":"f"}`),
			`{"type":"response.function_call_arguments.done","output_index":0,"arguments":"{\"x\":1}"}`, completed())},
		{"arguments that the item corrects", `call_1:f{"x":1}`, llm.Calls, effortSteps(added("0", `{"type":"function_call","call_id":"call_1","name":"f"}`),
			delta(args, "0", `"delta":"{\"y\":2}"`), done("0", itemCall), completed())},
		{"arguments written otherwise", `call_1:f{"x": 1}`, llm.Calls, effortSteps(added("0", `{"type":"function_call","call_id":"call_1","name":"f"}`),
			delta(args, "0", `"delta":"{\"x\": 1}"`), done("0", itemCall), completed())},
		{"ids missing and taken", "made:f{} | call_1:g{} | again:h{}", llm.Calls, effortSteps(
			done("0", `{"type":"function_call","name":"f","arguments":""}`), done("1", `{"type":"function_call","call_id":"call_1","name":"g","arguments":{}}`),
			done("2", `{"type":"function_call","call_id":"call_1","name":"h"}`), completed())},
		{"pieces of a message", "onetwo", llm.Stop, effortSteps(
			delta("output_text", "0", `"content_index":0,"delta":"one"`), delta("output_text", "0", `"content_index":1,"delta":"two"`), completed())},
		{"refusal", "I will not.", llm.Refused, effortSteps(delta("refusal", "0", `"delta":"I will "`), delta("refusal", "0", `"delta":"not."`), completed())},
		{"text and refusal", "helloI stop.", llm.Stop, effortSteps(delta("output_text", "0", `"delta":"hello"`), delta("refusal", "0", `"content_index":1,"delta":"I stop."`), completed())},
		{"length", "hel", llm.Length, effortSteps(delta("output_text", "0", `"delta":"hel"`),
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`)},
		{"filtered", "hel", llm.Refused, effortSteps(delta("output_text", "0", `"delta":"hel"`),
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"content_filter"}}}`)},
		{"a call that was cut never runs", "hello", llm.Length, effortSteps(done("0", itemText),
			added("1", `{"type":"function_call","call_id":"call_1","name":"f"}`), delta(args, "1", `"delta":"{"`),
			`{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`)},
		{"cut, as only the event says", "hello", llm.Length, effortSteps(done("0", itemText), added("1", `{"type":"function_call","call_id":"call_1","name":"f"}`),
			`{"type":"response.incomplete","response":{"id":"resp_1"}}`)},
		{"what is unknown is skipped", "hello", llm.Stop, effortSteps(`{"type":"keepalive"}`, `{"type":"response.new.thing","output_index":7,"delta":{"a":1}}`,
			`{"type":"response.output_text.annotation.added","output_index":0,"annotation":{}}`, delta("output_text", "0", `"delta":"hello"`), `[1]`, completed())},
		{"tools of the provider's", `ws_1:web_search{"type":"search","query":"q"} | ci_1:code_interpreter{"code":"1+1"} | result | opaque | hello | source`, llm.Stop, effortSteps(
			added("0", `{"type":"web_search_call","id":"ws_1"}`), done("0", `{"type":"web_search_call","id":"ws_1","action":{"type":"search","query":"q"}}`),
			done("1", `{"type":"code_interpreter_call","id":"ci_1","code":"1+1","outputs":[{"type":"logs","logs":"2"}]}`), done("2", `{"type":"compaction","id":"c"}`),
			done("3", `{"type":"message","id":"m","content":[{"type":"output_text","text":"hello","annotations":[{"type":"url_citation","url":"https://x","title":"X"},{"type":"url_citation","url":"https://x"}]}]}`), completed())},
		{"a picture", "media", llm.Stop, effortSteps(added("0", `{"type":"image_generation_call","id":"ig_1"}`), done("0", `{"type":"image_generation_call","id":"ig_1","result":"cG5n"}`), completed())},
		{"tags in the text of open models", "(a b) | c", llm.Stop, effortSteps(delta("output_text", "0", `"delta":"<think>a b</think>"`), delta("output_text", "0", `"delta":"c"`), completed())},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, _ := respond("some-model", test.stream)
			parts, finish, _, err := collect(t, r.Stream(t.Context(), llm.Request{}))
			if err != nil {
				t.Fatal(err)
			}
			if got := show(parts); got != test.want || finish.Reason != test.reason {
				t.Errorf("got  %q, %s\nwant %q, %s", got, finish.Reason, test.want, test.reason)
			}
		})
	}
}

func TestResponsesFinish(t *testing.T) {
	r, _ := respond("gpt-6-sol", effortSteps(`{"type":"response.created","response":{"id":"resp_1","model":"m-1"}}`,
		`{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4,"cache_write_tokens_details":{"ttl_30m_tokens":0,"ttl_12h_tokens":2}},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":15,"cost_in_usd_ticks":5000000000},"output":[]}}`))
	_, finish, usage, err := collect(t, r.Stream(t.Context(), llm.Request{}))
	if want := (llm.Finish{Reason: llm.Stop, Raw: "completed", ID: "resp_1", Model: "m-1"}); err != nil || finish != want {
		t.Errorf("%+v, %v; want %+v", finish, err, want)
	}
	if want := (llm.Usage{Input: 10, CacheRead: 4, CacheWrite: 2, Output: 5, Thinking: 3, Cost: 0.5, Priced: true}); usage != want {
		t.Errorf("%+v, want %+v", usage, want)
	}
}

// TestResponsesUnusedThinking: a notice reports the thinking that the server ignored, and the
// answer counts it.
func TestResponsesUnusedThinking(t *testing.T) {
	r, _ := respond("gpt-6-sol", effortSteps(`{"type":"response.completed","response":{"status":"completed","output":[],"input_transformations":[`+
		`{"type":"reasoning","id":"rs_1","action":"removed","reason":"model_mismatch"},{"type":"reasoning","id":"rs_2","action":"removed","reason":"model_mismatch"},{"type":"later"}]}}`))
	_, finish, _, err := collect(t, r.Stream(t.Context(), llm.Request{}))
	if err != nil || finish.Unused != 2 {
		t.Errorf("%+v, %v; want 2 unused", finish, err)
	}
	var notices []string
	for event := range r.Stream(t.Context(), llm.Request{}) {
		if n, ok := event.(llm.Notice); ok {
			notices = append(notices, n.Text)
		}
	}
	if want := []string{"earlier thinking not used by the provider (2): model mismatch"}; !slices.Equal(notices, want) {
		t.Errorf("notices %q, want %q", notices, want)
	}
}

func TestResponsesFaults(t *testing.T) {
	failed := func(err string) string {
		return effortSteps(`{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":` + err + `,"usage":{"input_tokens":3,"output_tokens":1}}}`)
	}
	for _, test := range []struct {
		name, stream string
		want         llm.Fault
		says         string
	}{
		{"server", failed(`{"code":"server_error","message":"oops"}`), llm.Server, "oops"},
		{"rate limit", failed(`{"code":"rate_limit_exceeded","message":"try again in 11s"}`), llm.RateLimit, "11s"},
		{"quota", failed(`{"code":"insufficient_quota","message":"pay"}`), llm.Quota, "pay"},
		{"context", failed(`{"code":"context_length_exceeded","message":"long"}`), llm.ContextOverflow, "long"},
		{"prompt", failed(`{"code":"invalid_prompt","message":"no"}`), llm.ContentFilter, "no"},
		{"biology", failed(`{"code":"bio_policy","message":"no"}`), llm.ContentFilter, "no"},
		{"policy of images", failed(`{"code":"image_content_policy_violation","message":"no"}`), llm.ContentFilter, "no"},
		{"an image", failed(`{"code":"image_too_large","message":"big"}`), llm.InvalidRequest, "big"},
		{"residency", failed(`{"code":"data_residency_mismatch","message":"eu"}`), llm.InvalidRequest, "eu"},
		{"failed without a word", failed(`null`), llm.Server, "failed"},
		{"canceled by the server", effortSteps(`{"type":"response.cancelled","response":{"status":"cancelled"}}`), llm.Server, "cancelled"},
		{"error", effortSteps(`{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}`), llm.RateLimit, "slow"},
		{"error, nested", effortSteps(`{"type":"error","error":{"type":"server_error","message":"oops"}}`), llm.Server, "oops"},
		{"error of LM Studio", "event: error\ndata: {\"error\":\"The model crashed\"}\n\n", llm.Unknown, "crashed"},
		{"error without type", "data: {\"error\":{\"code\":503,\"message\":\"busy\"}}\n\n", llm.Server, "busy"},
		{"no end", effortSteps(`{"type":"response.output_text.delta","output_index":0,"delta":"x"}`), llm.Network, "stream ended"},
		{"another answer in the middle", effortSteps(`{"type":"response.created","response":{"id":"resp_1"}}`, `{"type":"response.output_text.delta","output_index":0,"delta":"x"}`,
			`{"type":"response.created","response":{"id":"resp_2"}}`, `{"type":"response.output_text.delta","output_index":0,"delta":"y"}`, completed()), llm.Network, "stream ended"},
		{"no end but done", effortSteps(`{"type":"response.output_text.delta","output_index":0,"delta":"x"}`) + "data: [DONE]\n\n", llm.Network, "stream ended"},
		{"cut in the middle of an event", `data: {"type":"response.comp`, llm.Network, "stream ended"},
		{"no JSON", "data: {]}\n\n", llm.Unknown, "not JSON"},
		{"an empty end", effortSteps(`{"type":"response.completed"}`), llm.Network, "stream ended"},
		{"in one piece", `{"id":"resp_1","status":"failed","error":{"code":"server_error","message":"oops"},"output":[]}`, llm.Server, "oops"},
		{"no answer", `{"id":"resp_1","object":"response","status":"queued","output":[]}`, llm.Server, "queued"},
		{"something else", `{"hello":"world"}`, llm.Server, "hello"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, _ := respond("gpt-6-sol", test.stream)
			_, _, _, err := collect(t, r.Stream(t.Context(), llm.Request{}))
			if llm.FaultOf(err) != test.want || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v (%s), want %s with %q", err, llm.FaultOf(err), test.want, test.says)
			}
			if e, ok := err.(*llm.Error); !ok || e.Provider != "mock" || e.URL != "http://mock.invalid/v1" {
				t.Errorf("an error without provider or address: %+v", err)
			}
		})
	}
}

// TestResponsesReturns checks that every item of an answer is in the next request unchanged, with
// any content: unknown fields, numbers and escapes in any spelling, any order. Azure sends
// encrypted reasoning only in the last event.
func TestResponsesReturns(t *testing.T) {
	items := []string{
		`{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"gAAA\u002b/==","z":1.50,"a":{"n":1e3}}`,
		`{"phase":"commentary","content":[{"text":"I look. <b>&\u00e9","type":"output_text","annotations":[],"logprobs":[]}],"type":"message","id":"msg_1","role":"assistant","status":"completed"}`,
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q","sources":[]}}`,
		`{"id":"rs_2","type":"reasoning","encrypted_content":"gBBB","summary":[{"type":"summary_text","text":"b"}]}`,
		`{"arguments":"{\"x\": 1}","call_id":"call_1","id":"fc_1","name":"f","type":"function_call","status":"completed"}`,
		`{"arguments":"","call_id":"call_2","id":"fc_2","name":"f","type":"function_call","status":"completed"}`,
		`{"type":"unheard_of","id":"x_1","payload":[null,true]}`,
	}
	var stream []string
	for i, item := range items {
		if i == 0 {
			item = strings.Replace(item, `"encrypted_content"`, `"encrypted_content":null,"later"`, 1)
		}
		stream = append(stream, `{"type":"response.output_item.done","output_index":`+string(rune('0'+i))+`,"item":`+item+`}`)
	}
	r, asked := respond("gpt-6-sol", effortSteps(append(stream, completed(items...))...))
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hi")}}
	parts, _, _, err := collect(t, r.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	answer := llm.Message{Role: llm.RoleAssistant, Origin: r.Origin(), Parts: parts}
	for name, m := range map[string]llm.Message{"at once": answer, "stored": stored(t, answer)} {
		req.Messages, _ = llm.Portable([]llm.Message{llm.UserText("Hi"), m}, r.Origin())
		if _, _, _, err := collect(t, r.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		got := asked.last(t)
		if name == "stored" { // json.Marshal escapes < and & differently
			got = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(got)
		}
		if want := strings.Join(items, ","); !strings.Contains(got, want) {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
}

// stored returns m after a round trip through a store.
func stored(t *testing.T, m llm.Message) (back llm.Message) {
	t.Helper()
	data, err := json.Marshal(m)
	if err == nil {
		err = json.Unmarshal(data, &back)
	}
	if err != nil {
		t.Fatal(err)
	}
	return back
}

// TestFormatsShareConversations switches from chat completions to Responses and back, with the same
// model.
func TestFormatsShareConversations(t *testing.T) {
	talk := chat(t, "openai", "gpt-6-sol", lines("tool_calls", `{"content":"one"}`, `{"tool_calls":[{"index":0,"id":"functions.f:0","function":{"name":"f","arguments":"{}"}}]}`))
	r, asked := respond("gpt-6-sol", effortSteps(completed(itemThink, itemText)))
	var history []llm.Message
	turn := func(m model) {
		t.Helper()
		req := llm.Request{}
		req.Messages, _ = llm.Portable(append(history, llm.UserText("go on")), m.Origin())
		parts, _, _, err := collect(t, m.Stream(t.Context(), req))
		if err != nil {
			t.Fatal(err)
		}
		history = append(history, llm.UserText("go on"), llm.Message{Role: llm.RoleAssistant, Origin: m.Origin(), Parts: parts})
	}
	turn(talk)
	history = append(history, llm.Message{Role: llm.RoleTool, Parts: []llm.Part{{Kind: llm.Result, ID: "functions.f:0", Text: "42"}}})
	turn(r)
	const user, id = `{"content":"go on","role":"user","type":"message"}`, `call_d6bdd4de328a22edd610f954`
	if want := `"input":[` + user + `,{"content":"one","role":"assistant","type":"message"},{"arguments":"{}","call_id":"` + id + `","name":"f","type":"function_call"},` +
		`{"call_id":"` + id + `","output":"42","type":"function_call_output"},` + user + `]`; !strings.Contains(asked.last(t), want) {
		t.Errorf("on Responses\ngot  %s\nwant %s", asked.last(t), want)
	}
	turn(r)
	if want := user + "," + itemThink + "," + itemText + "," + user; !strings.Contains(asked.last(t), want) {
		t.Errorf("and on\ngot  %s\nwant %s", asked.last(t), want)
	}
	messages, _ := llm.Portable(history, talk.Origin())
	got := text(send(t, talk, llm.Request{Messages: messages}).Messages)
	if !strings.HasSuffix(got, `{"content":"hello","role":"assistant"}]`) || strings.Contains(got, "gA") {
		t.Errorf("back on chat %s", got)
	}
}

// TestResponsesNames checks that calls of a renamed tool use its original name.
func TestResponsesNames(t *testing.T) {
	const name = "mcp.files.read"
	req := llm.Request{Tools: []llm.Tool{{Name: name}}, Settings: llm.Settings{ToolChoice: name}}
	r, _ := respond("gpt-6-sol", "")
	body := sentBy(t, r, req)
	onWire := body["tool_choice"].(map[string]any)["name"].(string)
	if strings.Contains(onWire, ".") || body["tools"].([]any)[0].(map[string]any)["name"] != onWire {
		t.Errorf("on the wire %v", body)
	}
	r, _ = respond("gpt-6-sol", effortSteps(completed(strings.Replace(itemCall, `"name":"f"`, `"name":"`+onWire+`"`, 1))))
	parts, _, _, err := collect(t, r.Stream(t.Context(), req))
	if err != nil || show(parts) != "call_1:"+name+`{"x":1}` {
		t.Errorf("%s, %v", show(parts), err)
	}
}

// TestResponsesParts checks the other fields of an item's part.
func TestResponsesParts(t *testing.T) {
	image := `{"type":"image_generation_call","id":"ig_1","result":"cG5n","output_format":"webp"}`
	mcp := `{"type":"mcp_call","id":"mcp_1","name":"roll","arguments":"{\"n\":2}","output":"7"}`
	r, _ := respond("gpt-6-sol", effortSteps(completed(image, mcp)))
	parts, _, _, err := collect(t, r.Stream(t.Context(), llm.Request{}))
	want := []llm.Part{
		{Kind: llm.Media, MIME: "image/webp", Data: []byte("png"), State: json.RawMessage(image)},
		{Kind: llm.Call, ID: "mcp_1", Name: "roll", Input: `{"n":2}`, Remote: true, State: json.RawMessage(mcp)},
		{Kind: llm.Result, ID: "mcp_1", Name: "roll", Text: "7", Remote: true},
	}
	if err != nil || !reflect.DeepEqual(parts, want) {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, parts, want)
	}
	if calls := (llm.Message{Parts: parts}).Calls(); len(calls) > 0 {
		t.Errorf("parley would run %v", calls)
	}
}
