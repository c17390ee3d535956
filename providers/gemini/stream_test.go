package gemini_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/retry"
)

// TestStream checks the result of each kind of stream. A call whose id is "" came without one.
func TestStream(t *testing.T) {
	one := llm.Usage{Input: 10, CacheRead: 4, Output: 5, Thinking: 3}
	think := llm.Part{Kind: llm.Thinking, Text: "Hm."}
	for _, test := range []struct {
		name   string
		answer reply
		parts  []llm.Part
		reason llm.Reason
		raw    string
	}{
		{"text and thinking take turns", stream(thought("H"), thought("m."), text("It "), text("is."), thought("Hm."), text("So."), finish("STOP")),
			[]llm.Part{think, said("It is.", ""), think, said("So.", "")}, llm.Stop, "STOP"},
		{"a signature at the very end", stream(text("Hi"), chunk(`{"text":"","thoughtSignature":"c2ln"}`), finish("STOP")),
			[]llm.Part{said("Hi", ""), said("", `"c2ln"`)}, llm.Stop, "STOP"},
		{"a signed piece is merged with nothing", stream(text("a"), chunk(`{"text":"b","thoughtSignature":"c2ln"}`), text("c"), text("d"), finish("STOP")),
			[]llm.Part{said("a", ""), said("b", `"c2ln"`), said("cd", "")}, llm.Stop, "STOP"},
		{"a signature in the middle", stream(text("a"), chunk(`{"text":"","thoughtSignature":"c2ln"}`), text("b"), chunk(`{"text":"","thoughtSignature":"c2ln"}`, `{"text":"","thoughtSignature":"c2ln"}`), finish("STOP")),
			[]llm.Part{said("a", ""), said("", `"c2ln"`), said("b", ""), said("", `"c2ln"`), said("", `"c2ln"`)}, llm.Stop, "STOP"},
		{"a signature of another alphabet stays as it is", stream(text("a"), chunk(`{"thoughtSignature":"no-base64_at all\/"}`), finish("STOP")),
			[]llm.Part{said("a", ""), said("", `"no-base64_at all\/"`)}, llm.Stop, "STOP"},
		{"calls keep order, fields and numbers", stream(chunk(
			`{"functionCall":{"id":"a","name":"weather","args":{"z":1,"a":12345678901234567890}},"thoughtSignature":"c2ln"}`,
			`{"functionCall":{"name":"weather"}}`, `{"functionCall":{"id":"a","name":"weather","args":null}}`), finish("STOP")),
			[]llm.Part{call("a", `{"z":1,"a":12345678901234567890}`, `"c2ln"`), call("", "{}", ""), repeated(call("", "{}", ""))}, llm.Calls, "STOP"},
		{"text behind a call is a block of its own", stream(text("a"), chunk(`{"functionCall":{"id":"1","name":"weather","args":{}}}`), text("b"), finish("STOP")),
			[]llm.Part{said("a", ""), call("1", "{}", ""), said("b", "")}, llm.Calls, "STOP"},
		{"arguments as text", stream(chunk(`{"functionCall":{"id":"1","name":"weather","args":"{\"a\":1}"}}`), finish("STOP")),
			[]llm.Part{call("1", `{"a":1}`, "")}, llm.Calls, "STOP"},
		{"arguments in pieces", stream(
			chunk(`{"functionCall":{"name":"weather","willContinue":true},"thoughtSignature":"c2ln"}`),
			chunk(`{"functionCall":{"partialArgs":[{"jsonPath":"$.to.city","stringValue":"Bos","willContinue":true}],"willContinue":true}}`),
			chunk(`{"functionCall":{"partialArgs":[{"jsonPath":"$.to.city","stringValue":"ton"},{"jsonPath":"$.n[0]","numberValue":1.50},{"jsonPath":"$.n[1]['a b']","boolValue":true},{"jsonPath":"$.none","nullValue":"NULL_VALUE"},{"jsonPath":"$.n[9]","numberValue":1},{"jsonPath":"oops","boolValue":true}],"willContinue":true}}`),
			chunk(`{"functionCall":{}}`), chunk(`{"functionCall":{}}`),
			chunk(`{"functionCall":{"name":"weather","willContinue":true}}`), finish("STOP")),
			[]llm.Part{call("", `{"n":[1.50,{"a b":true}],"none":null,"to":{"city":"Boston"}}`, `"c2ln"`), call("", "{}", "")}, llm.Calls, "STOP"},
		{"arguments of two calls that take turns, by id", stream(
			chunk(`{"functionCall":{"id":"1","name":"weather","partialArgs":[{"jsonPath":"$.a","stringValue":"x","willContinue":true}],"willContinue":true}}`),
			chunk(`{"functionCall":{"id":"2","name":"weather","partialArgs":[{"jsonPath":"$.b","numberValue":1}],"willContinue":true}}`),
			chunk(`{"functionCall":{"id":"1","name":"weather","partialArgs":[{"jsonPath":"$.a","stringValue":"y"}],"willContinue":true}}`),
			chunk(`{"functionCall":{"id":"1"}}`, `{"functionCall":{"partialArgs":[{"jsonPath":"$.c","numberValue":2}]}}`), finish("STOP")),
			[]llm.Part{call("1", `{"a":"xy"}`, ""), call("2", `{"b":1,"c":2}`, "")}, llm.Calls, "STOP"},
		{"a picture", stream(chunk(`{"inlineData":{"mimeType":"image/png","data":"iVBORw=="},"thoughtSignature":"c2ln"}`), finish("STOP")),
			[]llm.Part{{Kind: llm.Media, MIME: "image/png", Data: png, State: json.RawMessage(`"c2ln"`)}}, llm.Stop, "STOP"},
		{"a picture in another alphabet, in lines, without padding", stream(chunk(`{"inlineData":{"mimeType":"image/png","data":"-_8\r\n-"}}`), finish("STOP")),
			[]llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte{0xfb, 0xff, 0x3e}}}, llm.Stop, "STOP"},
		{"a part of a kind we do not know", stream(chunk(`{"executableCode":{"code":"1+1"}}`, `{}`), text("2"), finish("STOP")),
			[]llm.Part{{Kind: llm.Opaque, State: json.RawMessage(`{"executableCode":{"code":"1+1"}}`)}, said("2", "")}, llm.Stop, "STOP"},
		{"only the first candidate", stream(text("a"), `{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"SAFETY"}]}`, finish("STOP")),
			[]llm.Part{said("a", "")}, llm.Stop, "STOP"},
		{"no content, odd types, no reason yet", stream(`{"candidates":[{"index":0}]}`, `{"candidates":null}`, `{"responseId":7,"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, finish("STOP")),
			[]llm.Part{said("a", "")}, llm.Stop, "STOP"},
		{"cut off", stream(text("a"), finish("MAX_TOKENS")), []llm.Part{said("a", "")}, llm.Length, "MAX_TOKENS"},
		{"thinking used up the limit", stream(thought("Hm."), finish("MAX_TOKENS")), []llm.Part{think}, llm.Length, "MAX_TOKENS"},
		{"refused", stream(text("a"), finish("RECITATION")), []llm.Part{said("a", "")}, llm.Refused, "RECITATION"},
		{"refused at once", stream(finish("PROHIBITED_CONTENT")), nil, llm.Refused, "PROHIBITED_CONTENT"},
		{"a reason we do not know", stream(text("a"), finish("BORED")), []llm.Part{said("a", "")}, llm.Other, "BORED"},
		{"the prompt is blocked", stream(`{"promptFeedback":{"blockReason":"SAFETY"},"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"candidatesTokenCount":2,"thoughtsTokenCount":3}}`), nil, llm.Refused, "SAFETY"},
		{"goes on without saying how", stream(text("a"), finish("CONTINUATION")), []llm.Part{said("a", "")}, llm.Length, "CONTINUATION"},
		{"one body", whole(chunkWith(text("a"), finish("STOP"))), []llm.Part{said("a", "")}, llm.Stop, "STOP"},
		{"a list of chunks", whole("[" + text("a") + "\n,\r\n" + text("b") + "," + finish("STOP") + "]"), []llm.Part{said("ab", "")}, llm.Stop, "STOP"},
		{"comments, names, DONE and bare returns", reply{kind: "text/event-stream", body: ": hi\r\revent: x\rdata:" + text("a") + "\r\rdata: " + finish("STOP") + "\r\ndata:\r\n\r\n: bye\n\ndata: [DONE]"},
			[]llm.Part{said("a", "")}, llm.Stop, "STOP"},
		{"numbers come bit by bit", stream(text("a"), `{"usageMetadata":{"promptTokenCount":10,"cachedContentTokenCount":4,"thoughtsTokenCount":3}}`,
			`{"usageMetadata":{"candidatesTokenCount":2}}`, `{"usageMetadata":null,"candidates":[{"finishReason":"STOP"}]}`), []llm.Part{said("a", "")}, llm.Stop, "STOP"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, test.answer)
			got := take(t, s.model(gemini.Options{}).Stream(t.Context(), hello))
			if got.err != nil {
				t.Fatal(got.err)
			}
			ids := map[string]bool{}
			for i := range got.parts {
				p := &got.parts[i]
				if p.Kind != llm.Call {
					continue
				}
				if p.ID == "" || ids[p.ID] {
					t.Errorf("id %q is empty or taken", p.ID)
				}
				if ids[p.ID] = true; strings.HasPrefix(p.ID, "unnamed_") {
					p.ID = ""
				}
			}
			if !reflect.DeepEqual(got.parts, test.parts) {
				t.Errorf("parts\n got %+v\nwant %+v", got.parts, test.parts)
			}
			if got.finish.Reason != test.reason || got.finish.Raw != test.raw {
				t.Errorf("finish %+v, want %s (%s)", got.finish, test.reason, test.raw)
			}
			if strings.Contains(test.answer.body, "usageMetadata") && got.usage != one {
				t.Errorf("usage %+v, want %+v", got.usage, one)
			}
			if len(s.bodies) != 1 || len(got.notices) > 0 {
				t.Errorf("asked %d times, notices %q", len(s.bodies), got.notices)
			}
		})
	}
}

// An unreadable file is reported, and an answer with nothing else is an error.
func TestUnreadableFiles(t *testing.T) {
	const notice = "the model sent a file that cannot be read (image/png); left out"
	broken := chunk(`{"inlineData":{"mimeType":"image/png","data":"!"}}`)
	got := take(t, newServer(t, stream(broken, text("a"), finish("STOP"))).model(gemini.Options{}).Stream(t.Context(), hello))
	if want := []llm.Part{said("a", "")}; got.err != nil || !reflect.DeepEqual(got.parts, want) || !slices.Equal(got.notices, []string{notice}) {
		t.Errorf("%+v, %q, %v", got.parts, got.notices, got.err)
	}
	got = take(t, newServer(t, stream(broken, finish("STOP"))).model(gemini.Options{}).Stream(t.Context(), hello))
	if llm.FaultOf(got.err) != llm.Server || !slices.Equal(got.notices, []string{notice}) {
		t.Errorf("%q, %v", got.notices, got.err)
	}
}

// chunkWith returns one body for two chunks.
func chunkWith(first, second string) string {
	var a, b map[string]any
	json.Unmarshal([]byte(first), &a)
	json.Unmarshal([]byte(second), &b)
	b["candidates"].([]any)[0].(map[string]any)["content"] = a["candidates"].([]any)[0].(map[string]any)["content"]
	data, _ := json.MarshalIndent(b, "", "  ")
	return string(data)
}

// TestAgain checks which answers are requested again, that the retry is reported, and that the
// tokens of all requests count.
func TestAgain(t *testing.T) {
	fine := stream(text("Fine."), finish("STOP"))
	signed := chunk(`{"text":"","thoughtSignature":"bG9zdA=="}`)
	for _, test := range []struct {
		name    string
		replies []reply
		asked   int
		parts   []llm.Part
		err     string // "" if it ends well
	}{
		{"a malformed call", []reply{stream(finish("MALFORMED_FUNCTION_CALL")), fine}, 2, []llm.Part{said("Fine.", "")}, ""},
		{"a malformed call twice", []reply{stream(`{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: wea("}]}`)}, 2, nil,
			"the model wrote a tool call that cannot be read: Malformed function call: wea("},
		{"a malformed call behind text", []reply{stream(text("So:"), finish("MALFORMED_FUNCTION_CALL"))}, 1, []llm.Part{said("So:", "")}, "the model wrote a tool call that cannot be read"},
		{"a call of a tool there is not", []reply{stream(finish("UNEXPECTED_TOOL_CALL")), fine}, 2, []llm.Part{said("Fine.", "")}, ""},
		{"thinking only", []reply{stream(thought("Hm."), signed, finish("STOP")), fine}, 2, []llm.Part{said("Fine.", "")}, ""},
		{"thinking only, twice", []reply{stream(thought("Hm."), finish("STOP"))}, 2, []llm.Part{{Kind: llm.Thinking, Text: "Hm."}}, "the model gave an empty answer"},
		{"nothing at all", []reply{stream(finish("STOP")), fine}, 2, []llm.Part{said("Fine.", "")}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, test.replies...)
			got := take(t, retry.Wrap(s.model(gemini.Options{}), retry.Options{MaxRetries: 3}).Stream(t.Context(), hello))
			if len(s.bodies) != test.asked || got.retries != test.asked-1 {
				t.Errorf("asked %d times and told of %d retries, want %d", len(s.bodies), got.retries, test.asked)
			}
			if !reflect.DeepEqual(got.parts, test.parts) {
				t.Errorf("parts\n got %+v\nwant %+v", got.parts, test.parts)
			}
			var fault *llm.Error
			if errors.As(got.err, &fault); test.err != "" && (fault == nil || fault.Fault != llm.Server || fault.Message != test.err) {
				t.Errorf("error %v, want %q", got.err, test.err)
			}
			if test.err == "" && (got.err != nil || got.usage.Output != 10) {
				t.Errorf("error %v, usage %+v", got.err, got.usage)
			}
		})
	}
}

// TestContinuation checks that an answer in several requests is one answer, and that each request
// carries the token of the previous one.
func TestContinuation(t *testing.T) {
	goesOn := func(token string) string {
		return `{"candidates":[{"finishReason":"CONTINUATION","continuationToken":"` + token + `"}],"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":2}}`
	}
	s := newServer(t, stream(text("one "), goesOn("dDE=")), stream(text("two "), goesOn("dDI=")), stream(text("three"), finish("STOP")))
	got := take(t, s.model(gemini.Options{}).Stream(t.Context(), hello))
	if want := []llm.Part{said("one two three", "")}; got.err != nil || !reflect.DeepEqual(got.parts, want) {
		t.Errorf("got %+v (%v), want %+v", got.parts, got.err, want)
	}
	if want := (llm.Usage{Input: 30, CacheRead: 4, Output: 9, Thinking: 3, Discarded: 24, Last: 10}); got.usage != want || got.finish.Reason != llm.Stop {
		t.Errorf("usage %+v, want %+v; finish %+v", got.usage, want, got.finish)
	}
	for i, want := range []string{"", `"continuationToken":"dDE="`, `"continuationToken":"dDI="`} {
		if has := strings.Contains(s.bodies[i], "continuationToken"); has != (want != "") || !strings.Contains(s.bodies[i], want) {
			t.Errorf("request %d: %s, want %s in it", i, s.bodies[i], want)
		}
	}
	endless := newServer(t, stream(text("again "), goesOn("dDE=")))
	if got := take(t, endless.model(gemini.Options{}).Stream(t.Context(), hello)); got.finish.Reason != llm.Length || len(endless.bodies) > 100 {
		t.Errorf("finish %+v (%v) after %d requests, want an end", got.finish, got.err, len(endless.bodies))
	}
}

// TestErrors checks errors in every place where the API reports them.
func TestErrors(t *testing.T) {
	const info = `{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.07s"}]}`
	const daily = `{"code":429,"message":"Quota exceeded.","status":"RESOURCE_EXHAUSTED","details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel-FreeTier"}]}]}`
	limited := llm.Error{Fault: llm.RateLimit, Status: 429, Message: "Slow down.", Wait: 34070 * time.Millisecond}
	for _, test := range []struct {
		name   string
		answer reply
		want   llm.Error
		parts  []llm.Part
	}{
		{"status", reply{status: 429, kind: "application/json", body: `{"error":` + info + `}`}, limited, nil},
		{"status, in a list", reply{status: 429, kind: "application/json", body: `[{"error":` + info + `}]`}, limited, nil},
		{"in a stream", stream(text("a"), `{"error":`+info+`}`), limited, []llm.Part{said("a", "")}},
		{"in a stream, in a list", stream(text("a"), `[{"error":`+info+`}]`), limited, []llm.Part{said("a", "")}},
		{"in a body of status 200", whole(`{"error":` + info + `}`), limited, nil},
		{"in a body of status 200, in a list", whole(`[{"error":` + info + `}]`), limited, nil},
		{"behind chunks in a list", whole(`[` + text("a") + `,{"error":` + info + `}]`), limited, []llm.Part{said("a", "")}},
		{"of a day", reply{status: 429, kind: "application/json", body: `{"error":` + daily + `}`}, llm.Error{Fault: llm.Quota, Status: 429, Message: "Quota exceeded."}, nil},
		{"a wrong key", refusal(400, "API key not valid. Please pass a valid API key."), llm.Error{Fault: llm.Authentication, Status: 400, Message: "API key not valid. Please pass a valid API key."}, nil},
		{"too long", refusal(400, "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."),
			llm.Error{Fault: llm.ContextOverflow, Status: 400, Message: "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."}, nil},
		{"no tools", refusal(400, "Function calling is not enabled for models/gemma-3-1b-it"), llm.Error{Fault: llm.Unsupported, Param: "tools", Status: 400, Message: "Function calling is not enabled for models/gemma-3-1b-it"}, nil},
		{"half an event", reply{kind: "text/event-stream", body: "data: " + text("a") + "\n\ndata: {\"candidates\":[{\"con"}, llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}, []llm.Part{said("a", "")}},
		{"half a body", whole(`{"candidates":[{"content":`), llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}, nil},
		{"half a list", whole(`[` + text("a") + `,`), llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}, []llm.Part{said("a", "")}},
		{"no JSON", stream(`<oops>`), llm.Error{Fault: llm.Unknown, Message: "the answer is not JSON: <oops>"}, nil},
		{"cut JSON in the middle", stream(text("a"), `{"cand`, text("b")), llm.Error{Fault: llm.Unknown, Message: "the answer is not JSON: {\"cand"}, []llm.Part{said("a", "")}},
		{"an empty stream", stream(), llm.Error{Fault: llm.Network, Message: "the stream ended before the answer was complete"}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newServer(t, test.answer)
			req := hello
			req.Tools = []llm.Tool{weather}
			got := take(t, s.model(gemini.Options{KeyName: "GEMINI_API_KEY"}).Stream(t.Context(), req))
			var e *llm.Error
			if !errors.As(got.err, &e) {
				t.Fatalf("error %#v", got.err)
			}
			if e.Provider != "mock" || e.Key != "GEMINI_API_KEY" || e.URL != s.url {
				t.Errorf("error without provider, key or URL: %+v", e)
			}
			is := llm.Error{Fault: e.Fault, Status: e.Status, Param: e.Param, Message: e.Message, Wait: e.Wait}
			if is != test.want {
				t.Errorf("got %+v, want %+v", is, test.want)
			}
			if !reflect.DeepEqual(got.parts, test.parts) || len(s.bodies) != 1 {
				t.Errorf("parts %+v, want %+v; asked %d times", got.parts, test.parts, len(s.bodies))
			}
		})
	}
}
