package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// settings are those of scenes whose models answer as scripted.
const settings = `model = "lab/coder"
[providers.lab]
base_url = "%s/v1"
api_key = "none"
[providers.lab.price]
input = 2
output = 10
[session]
small_model = "lab/scout"
[consult]
model = "lab/reviewer"
`

// A reply answers the first request that contains to, once.
type reply struct {
	to, text string
	calls    []call
	hangs    bool // it never ends
}

// A call is one of a tool, with its arguments as JSON.
type call struct{ name, input string }

// scripted returns a service that speaks OpenAI's chat completions and answers with replies.
func scripted(replies []reply) http.Handler {
	var mu sync.Mutex
	given := make([]bool, len(replies))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		next := -1
		for i := len(replies) - 1; i >= 0; i-- {
			if !given[i] && strings.Contains(string(body), replies[i].to) {
				next = i
			}
		}
		if next < 0 {
			mu.Unlock()
			http.Error(w, `{"error":{"message":"the script has no reply"}}`, http.StatusBadRequest)
			return
		}
		given[next] = true
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		send := func(delta any, reason string) {
			chunk := map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": reason}}}
			if reason == "" {
				chunk["choices"].([]any)[0].(map[string]any)["finish_reason"] = nil
			} else {
				chunk["usage"] = map[string]int{"prompt_tokens": 2900, "completion_tokens": 140}
			}
			line, _ := json.Marshal(chunk)
			fmt.Fprintf(w, "data: %s\n\n", line)
			w.(http.Flusher).Flush()
		}
		send(map[string]string{"content": replies[next].text}, "")
		if replies[next].hangs {
			<-r.Context().Done()
			return
		}
		reason := "stop"
		for i, c := range replies[next].calls {
			reason = "tool_calls"
			send(map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprintf("%s_%d_%d", c.name, next, i), "function": map[string]string{"name": c.name, "arguments": c.input}}}}, "")
		}
		send(map[string]string{}, reason)
	})
}
