package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// counter counts requests to the servers of one script.
type counter struct {
	sync.Mutex
	n      int
	bodies []string
}

func (c *counter) add(body string) int {
	c.Lock()
	defer c.Unlock()
	c.n++
	c.bodies = append(c.bodies, body)
	return c.n
}

// requests checks "N", or "N REGEXP" with REGEXP matching the body of the last request.
func requests(ts *testscript.TestScript, neg bool, args []string) {
	c := ts.Value("requests").(*counter)
	c.Lock()
	defer c.Unlock()
	if len(args) == 0 || fmt.Sprint(c.n) != args[0] {
		ts.Fatalf("%d requests, want %v", c.n, args)
	}
	if len(args) > 1 {
		last := c.bodies[len(c.bodies)-1]
		if regexp.MustCompile(args[1]).MatchString(last) == neg {
			ts.Fatalf("the last request is\n%s\nwant (%v) %s", last, !neg, args[1])
		}
	}
	c.n, c.bodies = 0, nil
}

// serve starts the server "NAME [KIND]" and configures it as provider mock.
func serve(ts *testscript.TestScript, neg bool, args []string) {
	handler := servers[args[0]]
	if handler == nil {
		ts.Fatalf("there is no server %q", args[0])
	}
	c := ts.Value("requests").(*counter)
	c.Lock()
	c.n, c.bodies = 0, nil
	c.Unlock()
	stop := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		handler(w, c.add(string(body)), stop)
	}))
	ts.Defer(func() { close(stop); srv.Close() })
	ts.Setenv("URL", srv.URL)
	kind := "openai"
	if len(args) > 1 {
		kind = args[1]
	}
	config := fmt.Sprintf("model = \"mock/m\"\n[providers.mock]\nkind = %q\nbase_url = %q\napi_key_env = \"MOCK_KEY\"\n", kind, srv.URL+"/v1")
	if err := os.WriteFile(ts.MkAbs("config.toml"), []byte(config), 0o600); err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Setenv("MOCK_KEY", "sk-canary-0123456789")
}

// servers are the servers for scripts, by name.
var servers = map[string]func(w http.ResponseWriter, n int, stop chan struct{}){
	"hello": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"hello "}`), delta(`{"content":"world"}`), finish("stop"))
	},
	"several": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		at := func(index int, rest string) string { return fmt.Sprintf(`{"choices":[{"index":%d,%s}]}`, index, rest) }
		stream(w, at(0, `"delta":{"content":"one "}`), at(1, `"delta":{"content":"two "}`), at(1, `"delta":{"content":"more"}`), at(2, `"delta":{"content":"three"}`),
			at(1, `"finish_reason":"stop"`), at(0, `"finish_reason":"stop"`), at(2, `"finish_reason":"stop"`), `{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":9}}`)
	},
	"one model": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 { // the request for models
			fmt.Fprint(w, `{"data":[{"id":"only-one"}]}`)
			return
		}
		stream(w, delta(`{"content":"hello"}`), finish("stop"))
	},
	"two models": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fmt.Fprint(w, `{"data":[{"id":"a"},{"id":"b"}]}`)
	},
	"escapes": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"A\u001b]52;c;ZXZpbA==\u0007B \u009b31m \u202e \udb40\udc41"}`), finish("stop"))
	},
	"code": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"Here:\n\n`+"```go\\nfmt.Println(1)\\n```"+`\n\nand\n\n`+"```sh\\nls\\n```"+`\n"}`), finish("stop"))
	},
	"thinks": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"reasoning_content":"let me see"}`), delta(`{"content":"42"}`), finish("stop"))
	},
	"length": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"half"}`), finish("length"))
	},
	"filter": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"half"}`), finish("content_filter"))
	},
	"cut": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"half an ans"}`))
	},
	"midstream": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"half"}`), `{"error":{"message":"upstream exploded","type":"server_error"}}`)
	},
	"silence": func(w http.ResponseWriter, _ int, stop chan struct{}) {
		stream(w, delta(`{"content":"one"}`))
		<-stop
	},
	"html": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<html><head><title>Sign in to WiFi</title></head><body>hello</body></html>")
	},
	"401": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fail(w, 401, `{"error":{"message":"Incorrect API key provided: sk-canary-0123456789","code":"invalid_api_key"}}`)
	},
	"404": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fail(w, 404, `{"error":{"message":"The model m does not exist","code":"model_not_found"}}`)
	},
	"quota": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fail(w, 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)
	},
	"500": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fail(w, 500, `{"error":{"message":"boom"}}`)
	},
	"429 then hello": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			w.Header().Set("Retry-After-Ms", "20")
			fail(w, 429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
			return
		}
		stream(w, delta(`{"content":"hello"}`), finish("stop"))
	},
	"429 for long": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		w.Header().Set("Retry-After", "3600")
		fail(w, 429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`)
	},
	"calls write": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			stream(w, call("write", `{"path":"out.txt","content":"written\n"}`), finish("tool_calls"))
			return
		}
		stream(w, delta(`{"content":"done"}`), finish("stop"))
	},
	"calls startup": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			stream(w, call("write", `{"path":".bashrc","content":"x"}`), finish("tool_calls"))
			return
		}
		stream(w, delta(`{"content":"done"}`), finish("stop"))
	},
	"calls write, in Responses": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			item := `{"type":"function_call","id":"fc_1","call_id":"call_1","name":"write","arguments":"{\"path\":\"out.txt\",\"content\":\"written\\n\"}","status":"completed"}`
			stream(w, `{"type":"response.output_item.added","output_index":0,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":0,"item":`+item+`}`,
				`{"type":"response.completed","response":{"id":"r1","status":"completed","model":"m","output":[`+item+`],"usage":{"input_tokens":7,"output_tokens":3}}}`)
			return
		}
		stream(w, `{"type":"response.output_text.delta","item_id":"m1","output_index":0,"content_index":0,"delta":"done"}`,
			`{"type":"response.completed","response":{"id":"r2","status":"completed","model":"m","output":[],"usage":{"input_tokens":7,"output_tokens":3}}}`)
	},
	"calls write, by Anthropic": func(w http.ResponseWriter, n int, _ chan struct{}) {
		block, delta, reason := `{"type":"text","text":""}`, `{"type":"text_delta","text":"done"}`, "end_turn"
		if n == 1 {
			block, reason = `{"type":"tool_use","id":"toolu_1","name":"write","input":{}}`, "tool_use"
			delta = `{"type":"input_json_delta","partial_json":"{\"path\":\"out.txt\",\"content\":\"written\\n\"}"}`
		}
		stream(w, `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":7,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":`+block+`}`, `{"type":"content_block_delta","index":0,"delta":`+delta+`}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"`+reason+`"},"usage":{"output_tokens":3}}`, `{"type":"message_stop"}`)
	},
	"calls write, by Gemini": func(w http.ResponseWriter, n int, _ chan struct{}) {
		part := `{"text":"done"}`
		if n == 1 { // without an id, so that parley makes one up
			part = `{"functionCall":{"name":"write","args":{"path":"out.txt","content":"written\n"}}}`
		}
		stream(w, `{"candidates":[{"content":{"role":"model","parts":[`+part+`]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3}}`)
	},
	"calls skill": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			stream(w, call("skill", `{"name":"pdf"}`), finish("tool_calls"))
			return
		}
		stream(w, delta(`{"content":"done"}`), finish("stop"))
	},
	"calls ticket": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			stream(w, call("ticket", `{"number":7}`), finish("tool_calls"))
			return
		}
		stream(w, delta(`{"content":"done"}`), finish("stop"))
	},
	"calls nothing known": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			stream(w, call("get_weather", `{"broken":`), finish("tool_calls"))
			return
		}
		stream(w, delta(`{"content":"done"}`), finish("stop"))
	},
	"city, in a fence": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		stream(w, delta(`{"content":"Here it is:\n\n`+"```json\\n"+`{\"name\": \"Brno\",\n \"people\": 400000,}`+"\\n```"+`"}`), finish("stop"))
	},
	"city, at the third attempt": func(w http.ResponseWriter, n int, _ chan struct{}) {
		answers := []string{`{\"name\":\"Brno\"}`, `Brno`, `{\"name\":\"Brno\",\"people\":400000}`}
		stream(w, delta(`{"content":"`+answers[n-1]+`"}`), finish("stop"))
	},
	"draws": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"b64_json":"`+onePixel+`","revised_prompt":"a fox \u001b[31mred"}],"usage":{"input_tokens":7,"output_tokens":3}}`)
	},
	"draws nothing": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[]}`)
	},
	"does not draw": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		fail(w, 400, `{"error":{"message":"Rejected by the safety system.","code":"moderation_blocked","moderation_details":{"moderation_stage":"input","categories":["violence"]}}}`)
	},
	"lists": func(w http.ResponseWriter, _ int, _ chan struct{}) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"data":[{"id":"openai/gpt-6-luna","context_length":2000000,"pricing":{"prompt":"0.00000008","completion":"0.0000004"}},`+
			`{"id":"acme/new","name":"Acme \u001b[31mNew","context_length":128000,"pricing":{"prompt":"0.0000015","completion":"0.000006"},"supported_parameters":["tools"]},`+
			`{"id":"acme/bad","pricing":{"prompt":"NaN","completion":"1"}},{"id":"x\u001b]52;c;ZXZpbA==\u0007"},{"id":"openrouter/auto","pricing":{"prompt":"-1","completion":"-1"}}]}`)
	},
	"takes no top_k": func(w http.ResponseWriter, n int, _ chan struct{}) {
		if n == 1 {
			fail(w, 400, `{"error":{"message":"Unrecognized request argument supplied: top_k","type":"invalid_request_error"}}`)
			return
		}
		stream(w, delta(`{"content":"hello"}`), finish("stop"))
	},
	"calls for ever": func(w http.ResponseWriter, n int, _ chan struct{}) {
		stream(w, call("list", `{}`), finish("tool_calls"))
	},
}

// onePixel is a PNG of one pixel in base64.
const onePixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYAAAAAYAAjCB0C8AAAAASUVORK5CYII="

func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }
func finish(reason string) string {
	return `{"choices":[{"index":0,"delta":{},"finish_reason":"` + reason + `"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}`
}

func call(name, args string) string {
	input, _ := json.Marshal(args)
	return delta(`{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"` + name + `","arguments":` + string(input) + `}}]}`)
}

func stream(w http.ResponseWriter, chunks ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, c := range chunks {
		fmt.Fprintf(w, "data: %s\n\n", c)
		w.(http.Flusher).Flush()
	}
}

func fail(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprint(w, body)
}

// canary is a key that every encoding changes.
const canary = `sk-Canary/8f3a+Q7="&<'%41z`

// An echo holds the requests to a leaky server.
type echo struct {
	sync.Mutex
	keyed int             // number of requests with the key
	seen  map[string]bool // bodies of requests, and command lines of all processes at those times
}

// look records the body of a request.
func (e *echo) look(body string) {
	if e.seen == nil {
		e.seen = map[string]bool{}
	}
	e.seen[body] = true
	processes, _ := os.ReadDir("/proc")
	for _, p := range processes {
		if line, err := os.ReadFile("/proc/" + p.Name() + "/cmdline"); err == nil {
			e.seen[string(line)] = true
		}
	}
}

// leaky runs "leaky ANSWER SOURCE": it starts a server that returns the key it receives in the form ANSWER, one of
// leaks, and configures it with a key from SOURCE: env, config, command, header or url.
func leaky(ts *testscript.TestScript, _ bool, args []string) {
	answer, e := leaks[args[0]], ts.Value("echo").(*echo)
	if answer == nil {
		ts.Fatalf("there is no leak %q", args[0])
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		key, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		e.Lock()
		defer e.Unlock()
		e.look(string(body))
		if key == canary || r.Header.Get("X-Key") == canary {
			e.keyed++
		}
		answer(w, canary, bytes.Contains(body, []byte(`"role":"tool"`)))
	}))
	ts.Defer(srv.Close)
	base, source := srv.URL+"/v1", "api_key_env = \"MOCK_KEY\""
	ts.Setenv("MOCK_KEY", "")
	switch args[1] {
	case "env":
		ts.Setenv("MOCK_KEY", canary)
	case "config":
		source = fmt.Sprintf("api_key = %q", canary)
	case "command":
		source = fmt.Sprintf("api_key_command = %q", "cat "+ts.MkAbs("key"))
		ts.Check(os.WriteFile(ts.MkAbs("key"), []byte(canary+"\n"), 0o600))
	case "header":
		source = fmt.Sprintf("headers = { X-Key = %q }", canary)
	case "url":
		base += "?key=" + url.QueryEscape(canary)
	default:
		ts.Fatalf("there is no source %q", args[1])
	}
	config := fmt.Sprintf("model = \"mock/m\"\n[providers.mock]\nkind = \"openai\"\nbase_url = %q\n%s\n", base, source)
	ts.Check(os.WriteFile(ts.MkAbs("config.toml"), []byte(config), 0o600))
}

// leaks are the forms in which a server returns a key. Again means that the conversation has a tool result.
var leaks = map[string]func(w http.ResponseWriter, key string, again bool){
	"401": func(w http.ResponseWriter, key string, _ bool) {
		w.Header().Set("X-Request-Id", "req-"+key)
		w.Header().Set("Www-Authenticate", "Bearer error="+key)
		b, _ := json.Marshal(map[string]any{"error": map[string]any{
			"message": "Incorrect API key provided: " + key + ", that is " + base64.StdEncoding.EncodeToString([]byte("user:"+key)) + " or " + url.QueryEscape(key),
			"code":    key, "param": key, "type": "invalid_request_error",
		}})
		fail(w, 401, string(b))
	},
	"text": func(w http.ResponseWriter, key string, _ bool) { http.Error(w, "bad key "+key, http.StatusForbidden) },
	"page": func(w http.ResponseWriter, key string, _ bool) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html><title>No entry for %s</title></html>", html.EscapeString(key))
	},
	"redirect": func(w http.ResponseWriter, key string, _ bool) {
		w.Header().Set("Location", "http://127.0.0.1:1/"+url.PathEscape(key)+"?key="+url.QueryEscape(key))
		w.WriteHeader(307)
	},
	"error in 200": func(w http.ResponseWriter, key string, _ bool) {
		b, _ := json.Marshal(map[string]any{"error": "no key " + key})
		fail(w, 200, string(b))
	},
	"error in the stream": func(w http.ResponseWriter, key string, _ bool) {
		b, _ := json.Marshal(map[string]any{"error": map[string]any{"message": "key " + key + " was revoked", "code": key}})
		stream(w, delta(`{"content":"half an answer"}`), string(b))
	},
	"asks for the environment": func(w http.ResponseWriter, _ string, again bool) {
		if again {
			stream(w, delta(`{"content":"thank you"}`), finish("stop"))
			return
		}
		stream(w, call("shell", `{"command":"env; set; cat /proc/self/environ; cat /proc/$PPID/cmdline; cat /proc/[0-9]*/environ; cat $HOME/.local/share/parley/*"}`), finish("tool_calls"))
	},
}

// embedServer runs "embedserver KIND": it starts a server that embeds texts by their words, in 16 dimensions or as many
// as requested, and configures it as the providers mock, of that kind, and openai. A batch with the text "fail once"
// gets a quota error the first time; one with the text "hang" gets no answer.
func embedServer(ts *testscript.TestScript, _ bool, args []string) {
	c, failed, stop := ts.Value("requests").(*counter), sync.Once{}, make(chan struct{})
	c.Lock()
	c.n, c.bodies = 0, nil
	c.Unlock()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Input      []string
			Dimensions int
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fail(w, 400, `{"error":{"message":"no JSON"}}`)
			return
		}
		text, _ := json.Marshal(body)
		c.add(string(text))
		quota := false
		if slices.Contains(body.Input, "fail once") {
			failed.Do(func() { quota = true })
		}
		if slices.Contains(body.Input, "hang") {
			<-stop
		}
		if quota {
			fail(w, 429, `{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(embedded(body.Input, max(body.Dimensions, 16*(1-min(1, body.Dimensions)))))
	}))
	ts.Defer(func() { close(stop); srv.Close() })
	config := fmt.Sprintf("[providers.mock]\nkind = %q\nbase_url = %q\napi_key = \"sk-1\"\n[providers.openai]\nbase_url = %[2]q\napi_key = \"sk-1\"\n", args[0], srv.URL+"/v1")
	ts.Check(os.WriteFile(ts.MkAbs("config.toml"), []byte(config), 0o600))
}

// embedded returns the response for texts.
func embedded(texts []string, dimensions int) map[string]any {
	var data []any
	for i, text := range texts {
		v := make([]float32, dimensions)
		v[0] = 0.01
		for word := range strings.FieldsSeq(text) {
			v[crc32.ChecksumIEEE([]byte(word))%uint32(dimensions)]++
		}
		data = append(data, map[string]any{"index": i, "embedding": v})
	}
	return map[string]any{"data": data, "usage": map[string]int{"prompt_tokens": len(texts)}}
}
