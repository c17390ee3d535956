package providers

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/providers/discover"
	"parley/providers/discover/discovertest"
	"parley/providers/llm"
)

// local returns a discovered server with one model.
func local(provider, url string) LocalServer {
	yes := true
	return LocalServer{Provider: provider, Name: strings.ToUpper(provider), BaseURL: url, Models: []catalog.Facts{{ID: "m1", Context: 4096, Tools: &yes}}}
}

// TestWithServers: discovered servers can be used as if they were configured; a server at a
// configured address is not added again, and no configured service changes.
func TestWithServers(t *testing.T) {
	const own = "http://127.0.0.1:11434/v1"
	for _, tt := range []struct {
		name   string
		c      Config
		env    []string
		server LocalServer
		want   string // the service, and its address
	}{
		{"nothing is configured", Config{}, nil, local("ollama", own), "ollama http://localhost:11434/v1"},
		{"on the other loopback address", Config{}, nil, local("ollama", "http://[::1]:11434/v1"), "ollama http://localhost:11434/v1"},
		{"on another port", Config{}, nil, local("ollama", "http://127.0.0.1:9/v1"), "ollama http://127.0.0.1:9/v1"},
		{"it is configured", Config{Providers: map[string]Provider{"ollama": {}}}, nil, local("ollama", own), "ollama http://localhost:11434/v1"},
		{"under another name", Config{Providers: map[string]Provider{"box": {Kind: "ollama", BaseURL: "http://localhost:11434/v1"}}}, nil, local("ollama", own), "box http://localhost:11434/v1"},
		{"another one is configured", Config{Providers: map[string]Provider{"ollama": {BaseURL: "http://box:11434/v1"}}}, nil, local("ollama", own), "ollama-local http://localhost:11434/v1"},
		{"the environment names it", Config{}, []string{"OLLAMA_HOST", "0.0.0.0"}, local("ollama", own), "ollama http://0.0.0.0:11434/v1"},
		{"the environment names another one", Config{}, []string{"OLLAMA_HOST", "box"}, local("ollama", own), "ollama-local http://localhost:11434/v1"},
	} {
		c := tt.c.WithServers([]LocalServer{tt.server}, env(tt.env...))
		got := ""
		for _, l := range c.Locals(env(tt.env...)) {
			s, _ := c.service(l.Provider, env(tt.env...))
			got += l.Provider + " " + s.url
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
		rows := slices.DeleteFunc(Choices(c, env(tt.env...)), func(c Choice) bool { return !strings.HasSuffix(c.Name, "/m1") })
		if tt.want != "" && (len(rows) != 1 || !rows[0].Ready || rows[0].Context != 4096 || !rows[0].Tools || !rows[0].Price.Free) {
			t.Errorf("%s: the choices are %+v", tt.name, rows)
		}
	}
}

// TestFoundServerAnswers: the model of a discovered server is opened by its name, and gets no key
// unless the server requires one.
func TestFoundServerAnswers(t *testing.T) {
	fake := discovertest.New("ollama")
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	getenv := env("OLLAMA_API_KEY", canary)
	found := discover.Find(t.Context(), discover.Options{Timeout: time.Minute, Hosts: []string{strings.TrimPrefix(server.URL, "http://")}})
	c := Config{}.WithServers(found, getenv)
	e, err := Open(c, "ollama/llama3.2:latest", OpenOptions{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := once(t, e, []llm.Message{llm.UserText("hi")})
	if answer.Text() != "hello from ollama" {
		t.Errorf("the answer is %q", answer.Text())
	}
	for _, r := range fake.Requests() {
		if strings.Contains(r.Header.Get("Authorization"), canary) {
			t.Errorf("%s was sent %q", r.Path, r.Header.Get("Authorization"))
		}
	}
}

// TestFirstImageAsks checks that a local server is asked whether a model takes images before the first one
// is sent, and that text replaces images that it does not take.
func TestFirstImageAsks(t *testing.T) {
	for name, tt := range map[string]struct {
		kind string
		set  func(f *discovertest.Fake)
		sent bool
	}{
		"Ollama, blind": {"ollama", func(f *discovertest.Fake) { f.Shows = map[string]string{"own": `{"capabilities":["completion"]}`} }, false},
		"Ollama, sees": {"ollama", func(f *discovertest.Fake) {
			f.Shows = map[string]string{"own": `{"capabilities":["completion","vision"]}`}
		}, true},
		"Ollama, silent":   {"ollama", func(*discovertest.Fake) {}, true},
		"llama.cpp, blind": {"llamacpp", func(f *discovertest.Fake) { f.Paths["/props"] = `{"modalities":{"vision":false}}` }, false},
		"llama.cpp, sees":  {"llamacpp", func(f *discovertest.Fake) { f.Paths["/props"] = `{"modalities":{"vision":true}}` }, true},
	} {
		fake := discovertest.New(tt.kind)
		fake.Paths["/api/tags"], fake.Paths["/v1/models"] = `{"models":[{"name":"own"}]}`, `{"data":[{"id":"own"}]}`
		tt.set(fake)
		server := httptest.NewServer(fake)
		t.Cleanup(server.Close)
		c := Config{Providers: map[string]Provider{"box": {Kind: tt.kind, BaseURL: server.URL + "/v1"}}}
		e := opens(t, c, "box/own", OpenOptions{Memory: &Memory{}})
		image := llm.Message{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.Text, Text: "What is this?"}, {Kind: llm.Media, MIME: "image/png", Name: "a.png", Data: []byte("png")}}}
		for range 2 {
			if got := hold(t, e, llm.Request{Messages: []llm.Message{image}}); got.err != nil {
				t.Fatal(name, got.err)
			}
		}
		prompts, lists := 0, 0
		for _, r := range fake.Requests() {
			switch {
			case strings.HasSuffix(r.Path, "/chat/completions"):
				prompts++
				if strings.Contains(r.Body, "image_url") != tt.sent || !tt.sent && !strings.Contains(r.Body, "a.png") {
					t.Errorf("%s: sent %s", name, r.Body)
				}
			case r.Path == "/v1/models" || r.Path == "/api/tags":
				lists++
			}
		}
		if prompts != 2 || lists != 1 {
			t.Errorf("%s: %d prompts, %d lists", name, prompts, lists)
		}
	}
}

// TestModelFiles checks that a model is shown by its file name, and requested by its path.
func TestModelFiles(t *testing.T) {
	for id, want := range map[string]string{
		"/models/foo/bar.gguf": "bar.gguf", `C:\models\bar.gguf`: "bar.gguf", "models/bar.gguf": "bar.gguf", "./bar": "bar", "~/bar/": "bar", "/models/Qwen3-8B/": "Qwen3-8B",
		"bar.gguf": "bar.gguf", "Qwen/Qwen3-8B": "Qwen/Qwen3-8B", "qwen3:8b": "qwen3:8b", "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M": "hf.co/unsloth/Qwen3-8B-GGUF:Q4_K_M", "": "", "/": "",
	} {
		if got := FileName(id); got != want {
			t.Errorf("%q is %q, want %q", id, got, want)
		}
	}
	const path = "/models/foo/bar.gguf"
	server := scriptedRaw(t, func(body string) (int, string) {
		switch {
		case body == "":
			return 200, `{"data":[{"id":"` + path + `"},{"id":"/a/same.gguf"},{"id":"/b/same.gguf"}]}`
		case strings.Contains(body, `"model":"`+path+`"`):
			return 200, says("hello")
		}
		return 404, `{"error":{"message":"The model does not exist.","code":404}}`
	})
	c := Config{Providers: map[string]Provider{"box": {Kind: "vllm", BaseURL: server.URL + "/v1"}}}
	for _, listed := range []bool{false, true} {
		o := OpenOptions{Getenv: env(), Memory: &Memory{}}
		if listed {
			var names []string
			list, err := LiveChoices(t.Context(), c, o, false)
			for _, choice := range list {
				if choice.Provider == "box" {
					names = append(names, choice.Name+" "+choice.Title)
				}
			}
			if want := "box//a/same.gguf /a/same.gguf;box//b/same.gguf /b/same.gguf;box/bar.gguf bar.gguf"; err != nil || strings.Join(names, ";") != want {
				t.Errorf("got %q, want %q: %v", names, want, err)
			}
		}
		for _, name := range []string{"box/bar.gguf", "box/" + path} {
			e := opens(t, c, name, o)
			for range 2 {
				if got := hold(t, e, llm.Request{}); e.Name != "box/bar.gguf" || got.err != nil || got.Text() != "hello" {
					t.Errorf("%s, listed %v: %q says %q, %v", name, listed, e.Name, got.Text(), got.err)
				}
			}
		}
	}
	if got := hold(t, opens(t, c, "box/other.gguf", OpenOptions{Memory: &Memory{}}), llm.Request{}); llm.FaultOf(got.err) != llm.ModelNotFound {
		t.Errorf("a model that there is none of: %v", got.err)
	}
}

// TestProviderWithoutModel: a provider that was set up without a model is asked for its list;
// others are not.
func TestProviderWithoutModel(t *testing.T) {
	for _, tt := range []struct {
		name string
		c    Config
		env  []string
		want string
	}{
		{"nothing", Config{}, nil, ""},
		{"a local one", Config{Providers: map[string]Provider{"ollama": {}}}, nil, "ollama"},
		{"one of the user's", Config{Providers: map[string]Provider{"box": {BaseURL: "http://h/v1"}}}, nil, "box"},
		{"an address", Config{}, []string{"OLLAMA_HOST", "box"}, "ollama"},
		{"with models", Config{Providers: map[string]Provider{"box": {BaseURL: "http://h/v1", Models: []string{"m"}}}}, nil, ""},
		{"without its key", Config{Providers: map[string]Provider{"box": {BaseURL: "http://h/v1", APIKeyEnv: "BOX"}}}, nil, ""},
	} {
		if got := ProviderWithoutModel(tt.c, env(tt.env...)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestLocalNamesAreKinds checks that each local server of the catalog can be configured elsewhere by its name.
func TestLocalNamesAreKinds(t *testing.T) {
	for _, head := range catalog.Heads() {
		if !head.Local {
			continue
		}
		c := Config{Providers: map[string]Provider{"box": {Kind: head.ID, BaseURL: "http://192.0.2.7:8000/v1"}}}
		s, ok := c.service("box", env())
		if err := c.Validate(); err != nil || !ok || s.kind != head.Kind || s.closestBuiltin().Kind != head.Kind || !s.closestBuiltin().Local {
			t.Errorf("%s: %+v, %v, %v", head.ID, s, ok, err)
		}
	}
}
