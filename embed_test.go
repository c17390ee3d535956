package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// embedServer runs "embedserver KIND": it starts a server that embeds texts by their words, in
// 16 dimensions or as many as it is asked for, and configures it as the providers mock, of that
// kind, and openai. A batch with the text "fail once" finds no quota the first time; one with
// the text "hang" gets no answer.
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

// embedded returns the answer about texts.
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

// killedCommand runs "killed REQUESTS COMMAND...": it starts the command and kills it, in a way that
// it cannot notice, once the server has got that many requests.
func killedCommand(ts *testscript.TestScript, _ bool, args []string) {
	c := ts.Value("requests").(*counter)
	path := ""
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(os.PathListSeparator)) {
		if _, err := os.Stat(dir + "/" + args[1]); err == nil && path == "" {
			path = dir + "/" + args[1]
		}
	}
	cmd := exec.Command(path, args[2:]...)
	cmd.Dir = ts.Getenv("WORK")
	for _, name := range []string{"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "PATH"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	ts.Check(cmd.Start())
	for deadline := time.Now().Add(time.Minute); ; {
		c.Lock()
		n := c.n
		c.Unlock()
		if fmt.Sprint(n) == args[0] {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			ts.Fatalf("the server got %d requests", n)
		}
		time.Sleep(time.Millisecond)
	}
	ts.Check(cmd.Process.Kill())
	_ = cmd.Wait()
}
