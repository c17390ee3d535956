package adapter_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/wire"
)

func TestFinishReason(t *testing.T) {
	for word, want := range map[string][2]llm.Reason{ // without calls, with calls
		"": {llm.Stop, llm.Calls}, "stop": {llm.Stop, llm.Calls}, "END_TURN": {llm.Stop, llm.Calls}, "max_tokens": {llm.Length, llm.Length}, "MAX_TOKENS": {llm.Length, llm.Length},
		"tool_calls": {llm.Stop, llm.Calls}, "tool_use": {llm.Stop, llm.Calls}, "content_filter": {llm.Refused, llm.Refused}, "SAFETY": {llm.Refused, llm.Refused}, "flew away": {llm.Other, llm.Other},
	} {
		if got := [2]llm.Reason{adapter.FinishReason(word, false), adapter.FinishReason(word, true)}; got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestEffortOf(t *testing.T) {
	for budget, want := range map[int]llm.Effort{
		0: llm.EffortMinimal, 1499: llm.EffortMinimal, 1500: llm.EffortLow, 3999: llm.EffortLow, 4000: llm.EffortMedium, 11_999: llm.EffortMedium,
		12_000: llm.EffortHigh, 23_999: llm.EffortHigh, 24_000: llm.EffortMax,
	} {
		if got := adapter.EffortOf(budget); got != want {
			t.Errorf("%d: got %q, want %q", budget, got, want)
		}
	}
}

func TestJSONValues(t *testing.T) {
	var v struct {
		A int    `json:"a"`
		B string `json:"b"`
	}
	if err := adapter.DecodeLenient([]byte(`{"a":"x","b":"y"}`), &v); err != nil || v.B != "y" {
		t.Errorf("a field of another type: %+v, %v", v, err)
	}
	if adapter.DecodeLenient([]byte(`{"a":1,`), &v) == nil {
		t.Error("broken JSON is decoded")
	}
	for raw, want := range map[string]bool{"": false, "null": false, `""`: false, "0": true, "{}": true, `"a"`: true} {
		if got := adapter.IsPresent(json.RawMessage(raw)); got != want {
			t.Errorf("%q is present: %v, want %v", raw, got, want)
		}
	}
	for n, want := range map[float64]int{-1: 0, 0: 0, 1: 1, 2.9: 2, 1<<40 - 1: 1<<40 - 1, 1 << 40: 0} {
		if got := adapter.TokenCount(n); got != want {
			t.Errorf("%v tokens: got %d, want %d", n, got, want)
		}
	}
}

func TestFiles(t *testing.T) {
	for _, tt := range []struct {
		part       llm.Part
		text, told string
	}{
		{llm.Part{Name: "a.go", MIME: "text/x-go; charset=utf-8", Data: []byte("package a")}, "<file name=\"a.go\">\npackage a\n</file>", ""},
		{llm.Part{MIME: "text/plain", Data: []byte("\xff")}, "<file name=\"file\">\n\xff\n</file>", ""},
		{llm.Part{Name: "a", MIME: "application/x", Data: []byte("é")}, "<file name=\"a\">\né\n</file>", ""},
		{llm.Part{Name: "a", MIME: "Application/X", Data: []byte("a\x00")}, "[file left out: a, application/x, 2 bytes]", "a (application/x, 2 bytes)"},
		{llm.Part{Name: "a", MIME: "application/x", Data: []byte("\xff")}, "[file left out: a, application/x, 1 bytes]", "a (application/x, 1 bytes)"},
		{llm.Part{Name: "a", MIME: "text/plain", URL: "https://x"}, "[file left out: a, text/plain, 0 bytes]", "a by its address (text/plain)"},
		{llm.Part{Name: "a", MIME: "no; type; ", URL: ""}, "[file left out: a, no; type; , 0 bytes]", "a (no; type; , 0 bytes)"},
	} {
		var omitted []string
		text := adapter.FileText(tt.part, adapter.MIMEType(tt.part), &omitted)
		if told := strings.Join(omitted, "; "); text != tt.text || told != tt.told {
			t.Errorf("%+v: %q, told %q; want %q, %q", tt.part, text, told, tt.text, tt.told)
		}
	}
	for _, text := range []string{"+/8=", "-_8=", "-_8", "+/\r\n8"} {
		if got, err := adapter.FromBase64(text); string(got) != "\xfb\xff" || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestNotices(t *testing.T) {
	image := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Media, MIME: "image/png", Data: []byte{1}}}}}}
	detailed, auto := image, image
	detailed.Detail, auto.Detail = "high", "auto"
	none := llm.Request{Settings: llm.Settings{Detail: "high"}}
	for i, tt := range []struct{ got, want string }{
		{adapter.UnusedThinking(0, "x"), ""},
		{adapter.UnusedThinking(2, ""), "earlier thinking not used by the provider (2)"},
		{adapter.UnusedThinking(1, "too_old"), "earlier thinking not used by the provider (1): too old"},
		{strings.Join(adapter.WithoutDetail("m", detailed), ""), "m does not support the detail of images; not sent"},
		{strings.Join(adapter.WithoutDetail("m", auto), ""), ""},
		{strings.Join(adapter.WithoutDetail("m", image), ""), ""},
		{strings.Join(adapter.WithoutDetail("m", none), ""), ""},
	} {
		if tt.got != tt.want {
			t.Errorf("%d: got %q, want %q", i, tt.got, tt.want)
		}
	}
}

// TestLimits: a refusal counts for a day. The lasting ones are kept.
func TestLimits(t *testing.T) {
	now := time.Unix(1e9, 0)
	var kept map[string]adapter.Limit
	var l adapter.LearnedLimits
	l.Now, l.Keep = func() time.Time { return now }, func(all map[string]adapter.Limit) { kept = all }
	learn := func(name, becomes string, lasting, want bool) {
		t.Helper()
		revision := l.Revision()
		if got := l.Learn(name, becomes, lasting); got != want || (l.Revision() != revision) != want {
			t.Errorf("%s is learned: %v, want %v; revision %d after %d", name, got, want, l.Revision(), revision)
		}
	}
	learn("a", "", true, true)
	learn("b", "x", false, true)
	if want := map[string]adapter.Limit{"a": {At: now, Lasting: true}}; !maps.Equal(kept, want) {
		t.Errorf("kept %v, want %v", kept, want)
	}
	kept = nil
	learn("a", "", true, false)
	learn("b", "y", false, true)
	if kept != nil {
		t.Errorf("kept %v again", kept)
	}
	if all := l.All(); !maps.Equal(all, map[string]string{"a": "", "b": "y"}) || !l.Has("a") || l.Has("c") {
		t.Errorf("there are %q", all)
	}
	revision := l.Revision()
	l.Judge(revision, func(changed bool) {
		if changed {
			t.Error("nothing has changed")
		}
	})
	l.Judge(revision-1, func(changed bool) {
		if !changed {
			t.Error("a limit was learned")
		}
	})
	for _, tt := range []struct {
		after time.Duration
		fresh bool
	}{{-time.Hour, false}, {1 - time.Hour, true}, {24*time.Hour - 1, true}, {24 * time.Hour, false}} {
		now = time.Unix(1e9, 0).Add(tt.after)
		if l.Has("a") != tt.fresh || len(l.All()) != map[bool]int{true: 2}[tt.fresh] {
			t.Errorf("%v later there are %q", tt.after, l.All())
		}
	}
	learn("a", "", true, true)
	again := adapter.NewLearnedLimits(kept)
	again.Now = l.Now
	if !again.Has("a") || again.Has("b") {
		t.Errorf("of the kept ones there are %q", again.All())
	}
	again.Forget("a")
	if again.Has("a") || !l.Has("a") {
		t.Error("a is forgotten elsewhere")
	}
}

// TestOptionFields: fields that the user sets are merged over those of the configuration, which stay as they are.
func TestOptionFields(t *testing.T) {
	parse := func(text string) (v map[string]any) {
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, tt := range []struct{ body, set, want, asked string }{
		{`{"a":1}`, `{}`, `{"a":1}`, ""},
		{`{}`, `{"b":2,"a":1}`, `{"a":1,"b":2}`, "a b"},
		{`{"a":{"b":1,"c":[{"d":1}]}}`, `{"a.b":2}`, `{"a":{"b":2,"c":[{"d":1}]}}`, "a"},
		{`{"a":{"b":{"x":1},"c":1}}`, `{"a":{"b":{"y":2},"d":3}}`, `{"a":{"b":{"x":1,"y":2},"c":1,"d":3}}`, "a"},
		{`{"a":1}`, `{"a.b.c":2}`, `{"a":{"b":{"c":2}}}`, "a"},
		{`{"a":{"b":1}}`, `{"a":[2]}`, `{"a":[2]}`, "a"},
		{`{"a":{"b":{"c":1}}}`, `{"a":{"b":5}}`, `{"a":{"b":5}}`, "a"},
	} {
		o := adapter.Options{Body: parse(tt.body), Learned: &adapter.LearnedLimits{}}
		fields, asked, notices := o.Fields(llm.Request{Settings: llm.Settings{Options: parse(tt.set)}})
		if !reflect.DeepEqual(fields, parse(tt.want)) || strings.Join(asked, " ") != tt.asked || notices != nil {
			t.Errorf("%s over %s: %v, %q, %q; want %s", tt.set, tt.body, fields, asked, notices, tt.want)
		}
		if !reflect.DeepEqual(o.Body, parse(tt.body)) {
			t.Errorf("%s over %s: the configuration becomes %v", tt.set, tt.body, o.Body)
		}
	}
}

// TestRefusedOptions: a field of the user's that the server refuses is left out, until it has another value.
func TestRefusedOptions(t *testing.T) {
	for _, tt := range []struct {
		fault   llm.Error
		refused string // "" if it is about none of them
	}{
		{llm.Error{Param: "top_k"}, "top_k"},
		{llm.Error{Param: "thinking.budget"}, "thinking.budget"},
		{llm.Error{Param: "top_k.0"}, "top_k"},
		{llm.Error{Param: "other", Message: "not 'seed'"}, ""},
		{llm.Error{Param: "body", Message: "body.seed: extra inputs"}, "seed"},
		{llm.Error{Message: "unknown field 'seed'"}, "seed"},
		{llm.Error{Message: "seed: not permitted"}, "seed"},
		{llm.Error{Message: "seed is not supported"}, "seed"},
		{llm.Error{Message: "a seed may help"}, ""},
		{llm.Error{Message: "do not use top_k here"}, "top_k"},
		{llm.Error{Message: "my_top_k is wrong"}, ""},
		{llm.Error{Message: `Unknown name "max_depth" at 'config'`}, "config.maxDepth"},
		{llm.Error{Message: "unknown field 'budget'"}, "thinking.budget"},
	} {
		o := adapter.Options{Model: "m", Learned: &adapter.LearnedLimits{}}
		options := map[string]any{"top_k": 1, "seed": 2, "thinking": 3, "thinking.budget": 4, "config.maxDepth": 5}
		tt.fault.Fault, tt.fault.Status = llm.InvalidRequest, http.StatusBadRequest
		var sent []int
		s := adapter.Sender{
			Options: o, Notices: &llm.Notices{}, Attempts: 1, Extra: options,
			Compile: func(bool) (map[string]any, []string) {
				fields, _, notices := o.Fields(llm.Request{Settings: llm.Settings{Options: options}})
				return fields, notices
			},
			Send: func(body map[string]any) error {
				if sent = append(sent, len(body)); len(sent) > 1 {
					return nil
				}
				return &tt.fault
			},
			Downgrade: func(*llm.Error, map[string]any) (string, bool) { return "", false },
		}
		var notices []string
		var failed error
		for e, err := range o.Produce(t.Context(), func(ctx context.Context, out *llm.Out) error {
			err := s.Do(ctx, out)
			if err == nil {
				out.Send(llm.Finish{Reason: llm.Stop})
			}
			return err
		}) {
			if n, ok := e.(llm.Notice); ok {
				notices = append(notices, n.Text)
			}
			failed = err
		}
		var want []string
		if tt.refused != "" {
			want = []string{"m does not take " + tt.refused + "; sent again without it"}
		}
		if !slices.Equal(notices, want) || (failed == nil) != (tt.refused != "") {
			t.Errorf("%+v: notices %q, %v; want %q", tt.fault, notices, failed, want)
		}
		if tt.refused == "" {
			continue
		}
		if _, _, notices := o.Fields(llm.Request{Settings: llm.Settings{Options: options}}); !slices.Equal(notices, []string{"m does not take " + tt.refused + "; not sent"}) {
			t.Errorf("%+v: then %q", tt.fault, notices)
		}
		options[tt.refused] = "another"
		if _, _, notices := o.Fields(llm.Request{Settings: llm.Settings{Options: options}}); notices != nil {
			t.Errorf("%+v: with another value %q", tt.fault, notices)
		}
	}
}

// TestSentIDs: calls of a history with equal ids get different ones, and results those of their calls.
func TestSentIDs(t *testing.T) {
	var ids adapter.SentIDs
	ids.Begin()
	first, second := ids.Call("1", "1", "call_"), ids.Call("1", "1", "call_")
	if first != "1" || second == "1" || !strings.HasPrefix(second, "call_") || len(second) != len("call_")+24 || !ids.IsUsed(second) {
		t.Errorf("the calls are %q and %q", first, second)
	}
	other := ids.Clone()
	for _, want := range []string{first, second, ""} {
		if got, ok := ids.Result("1"); got != want || ok != (want != "") {
			t.Errorf("the result answers %q, %v; want %q", got, ok, want)
		}
	}
	if got, ok := other.Result("1"); got != first || !ok {
		t.Errorf("in a copy the result answers %q, %v", got, ok)
	}
	other.Begin()
	if got, ok := other.Result("1"); ok {
		t.Errorf("in a later message the result answers %q", got)
	}
	if third := other.Call("1", "1", "call_"); third == first || third == second || ids.IsUsed(third) {
		t.Errorf("the third call is %q", third)
	}
}

// TestPost: a request has the headers of the client, and those of the call over them.
func TestPost(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %s %s", r.Header.Get("Content-Type"), r.Header.Get("Accept"), r.Header.Get("A"), r.Header.Get("B"), body)
	}))
	defer server.Close()
	c := adapter.Client{HTTP: server.Client(), Headers: map[string]string{"A": "1", "B": "1"}}
	to := func(address string) func() (string, error) {
		return func() (string, error) { return address, nil }
	}
	body := map[string]any{"x": 1}
	answer, err := c.Post(t.Context(), to(server.URL), body, map[string]string{"B": "2"})
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); string(got) != `application/json application/json 1 2 {"x":1}` || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	answer, err = c.Post(t.Context(), to("http://["), body, nil)
	if err == nil {
		answer.Body.Close()
	}
	if llm.FaultOf(err) != llm.InvalidRequest {
		t.Errorf("an address that is none: %v", err)
	}
}

// A recorder is a decoder that writes down what it gets.
type recorder struct {
	strings.Builder
	last string // the name of the last event
	end  error
}

func (r *recorder) OnEvent(name string, data []byte) (last bool, err error) {
	fmt.Fprintf(r, "event %s %s|", name, data)
	if name == "wrong" {
		return false, &llm.Error{Fault: llm.Unknown, Message: "wrong"}
	}
	return name == r.last, nil
}

func (r *recorder) OnBody(data []byte) error {
	fmt.Fprintf(r, "body %s|", data)
	return nil
}

func (r *recorder) OnEnd(done bool) error {
	fmt.Fprintf(r, "end %v|", done)
	return r.end
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, in, want string
		end, err       error
	}{
		{"an object", ` {"a":1}`, `body {"a":1}|`, nil, nil},
		{"a list", `[1]`, `body [1]|`, nil, nil},
		{"events", "event: a\ndata: 1\n\nevent: b\ndata: 2\n\n", "event a 1|event b 2|end false|", nil, nil},
		{"the end is marked", "event: a\ndata: 1\n\ndata: [DONE]\n\n", "event a 1|end true|", nil, nil},
		{"nothing after the last event", "event: last\ndata: 1\n\nevent: b\ndata: 2\n\n", "event last 1|", nil, nil},
		{"broken off", "event: a\ndata: 1\n\n", "event a 1|end false|", wire.ErrInterrupted, wire.ErrInterrupted},
	} {
		r := &recorder{last: "last", end: tt.end}
		var got error
		for range llm.Produce(t.Context(), func(_ context.Context, out *llm.Out) error {
			got = adapter.Read(strings.NewReader(tt.in), out, r)
			return nil
		}) {
		}
		if r.String() != tt.want || got != tt.err {
			t.Errorf("%s: %q, %v; want %q, %v", tt.name, r.String(), got, tt.want, tt.err)
		}
	}
}
