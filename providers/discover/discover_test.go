package discover_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/providers/catalog"
	"parley/providers/discover"
	"parley/providers/discover/discovertest"
)

// network is a separate loopback for a test: servers by address.
type network map[string]*httptest.Server

func (n network) dial(ctx context.Context, _, address string) (net.Conn, error) {
	server, ok := n[address]
	if !ok {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
}

func (n network) serve(t *testing.T, address string, handler http.Handler) {
	t.Helper()
	n.watch(t, address, handler, nil)
}

// watch serves, and calls watch when the state of a connection changes.
func (n network) watch(t *testing.T, address string, handler http.Handler, watch func(net.Conn, http.ConnState)) {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ConnState = watch
	server.Start()
	n[address] = server
	t.Cleanup(server.Close)
}

func (n network) find(hosts ...string) []catalog.Server {
	return discover.Find(context.Background(), discover.Options{Dial: n.dial, Hosts: hosts})
}

// describe returns servers, one per line.
func describe(servers []catalog.Server) string {
	var b strings.Builder
	ability := func(name string, has *bool) string {
		switch {
		case has == nil:
			return ""
		case *has:
			return " +" + name
		}
		return " -" + name
	}
	for _, s := range servers {
		fmt.Fprintf(&b, "%s %q %s %s", s.Provider, s.Name, s.BaseURL, s.Problem)
		for _, m := range s.Models {
			fmt.Fprintf(&b, " | %s %d%s%s%s", m.ID, m.Context, ability("tools", m.Tools), ability("vision", m.Vision), ability("thinks", m.Thinks))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// the server expected on each default port
var want = map[string]string{
	"localai":   `localai "LocalAI" http://127.0.0.1:8080/v1  | phi-4 0`,
	"koboldcpp": `koboldcpp "KoboldCpp" http://127.0.0.1:5001/v1  | koboldcpp/mistral-nemo 8192`,
	"jan":       `jan "Jan" http://127.0.0.1:1337/v1  | Jan-v1-4B-Q4_K_M 0`,
	"llamacpp":  `llamacpp "llama.cpp" http://127.0.0.1:8080/v1  | qwen3-8b-q4_k_m.gguf 16384 +tools +vision`,
	"llamafile": `llamafile "llamafile" http://127.0.0.1:8080/v1  | LLaMA_CPP 16384`,
	"vllm":      `vllm "vLLM" http://127.0.0.1:8000/v1  | Qwen/Qwen3-8B 32768`,
	"sglang":    `sglang "SGLang" http://127.0.0.1:30000/v1  | meta-llama/Llama-3.1-8B-Instruct 131072`,
	"lmstudio":  `lmstudio "LM Studio" http://127.0.0.1:1234/v1  | google/gemma-3-4b 4096 -tools +vision | openai/gpt-oss-20b 131072 +tools -vision +thinks`,
	"ollama":    `ollama "Ollama" http://127.0.0.1:11434/v1  | qwen3:8b 4096 +tools -vision +thinks | llama3.2:latest 0 +tools -vision -thinks | gemma3:4b 0 -tools +vision -thinks`,
	"docker":    `docker "Docker Model Runner" http://127.0.0.1:12434/engines/v1  | ai/smollm2 0`,
	"mlx":       `mlx "MLX" http://127.0.0.1:8080/v1  | mlx-community/Llama-3.2-3B-Instruct-4bit 0`,
}

// TestEveryServer: each kind is identified by its answers, with its models, and their windows and
// abilities if reported. It only gets GET requests without a key.
func TestEveryServer(t *testing.T) {
	for _, provider := range discovertest.Providers() {
		t.Run(provider, func(t *testing.T) {
			fake, n := discovertest.New(provider), network{}
			n.serve(t, "127.0.0.1:"+fake.Port, fake)
			if got := strings.TrimSpace(describe(n.find())); got != want[provider] {
				t.Errorf("got  %s\nwant %s", got, want[provider])
			}
			for _, r := range fake.Requests() {
				if r.Method != http.MethodGet || r.Body != "" || r.Header.Get("Authorization") != "" {
					t.Errorf("%s %s with %q, %v", r.Method, r.Path, r.Body, r.Header)
				}
			}
		})
	}
}

// patience is how long a test waits for servers that should answer.
const patience = time.Minute

// TestOwnPorts: the same in a network with the real ports, where services share some.
func TestOwnPorts(t *testing.T) {
	if !discovertest.Isolated(t) {
		return
	}
	if found := discover.Find(t.Context(), discover.Options{Timeout: patience}); len(found) > 0 {
		t.Fatalf("found %s where nothing is", describe(found))
	}
	for _, sharing := range []string{"localai", "llamacpp", "llamafile", "mlx"} {
		t.Run(sharing, func(t *testing.T) {
			discovertest.New(sharing).Start(t, "")
			if got := strings.TrimSpace(describe(discover.Find(t.Context(), discover.Options{Timeout: patience}))); got != want[sharing] {
				t.Errorf("got  %s\nwant %s", got, want[sharing])
			}
		})
	}
	var all []string
	for _, provider := range []string{"koboldcpp", "jan", "llamacpp", "vllm", "sglang", "lmstudio", "ollama", "docker"} {
		discovertest.New(provider).Start(t, "")
		all = append(all, want[provider])
	}
	if got := strings.TrimSpace(describe(discover.Find(t.Context(), discover.Options{Timeout: patience}))); got != strings.Join(all, "\n") {
		t.Errorf("together:\n%s\nwant\n%s", got, strings.Join(all, "\n"))
	}
}

// TestBodiesProve: a server on the port of another is identified by its answers.
func TestBodiesProve(t *testing.T) {
	for _, provider := range discovertest.Providers() {
		if provider == "docker" || provider == "mlx" { // identified by their port
			continue
		}
		n := network{}
		n.serve(t, "127.0.0.1:8000", discovertest.New(provider))
		if found := n.find(); len(found) != 1 || found[0].Provider != provider {
			t.Errorf("%s on port 8000 is found as %s", provider, describe(found))
		}
		n = network{}
		n.serve(t, "127.0.0.1:4444", discovertest.New(provider))
		if found := n.find("localhost:4444"); len(found) != 1 || found[0].Provider != provider || found[0].BaseURL != "http://127.0.0.1:4444/v1" {
			t.Errorf("%s on a port of the user's is found as %s", provider, describe(found))
		}
	}
}

// TestPlaces: only loopback is asked, with both addresses.
func TestPlaces(t *testing.T) {
	n := network{}
	n.serve(t, "[::1]:11434", discovertest.New("ollama"))
	if found := n.find(); len(found) != 1 || found[0].BaseURL != "http://[::1]:11434/v1" {
		t.Errorf("on ::1: %s", describe(found))
	}
	n.serve(t, "127.0.0.1:11434", discovertest.New("ollama"))
	if found := n.find("0.0.0.0:11434"); len(found) != 1 || found[0].BaseURL != "http://127.0.0.1:11434/v1" {
		t.Errorf("on both: %s", describe(found))
	}
	var mu sync.Mutex
	var dialed []string
	discover.Find(t.Context(), discover.Options{
		Hosts: []string{"192.168.0.7:11434", "ollama.example:11434", "10.0.0.1:80"},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dialed = append(dialed, address)
			return nil, fmt.Errorf("refused")
		},
	})
	mu.Lock()
	defer mu.Unlock()
	if slices.ContainsFunc(dialed, func(a string) bool { return !strings.HasPrefix(a, "127.0.0.1:") && !strings.HasPrefix(a, "[::1]:") }) {
		t.Errorf("dialed %q", dialed)
	}
}

// TestStrangers: other programs are not taken for a model server, whatever they send.
func TestStrangers(t *testing.T) {
	elsewhere := discovertest.New("ollama")
	away := httptest.NewServer(elsewhere)
	t.Cleanup(away.Close)
	for name, handler := range map[string]http.HandlerFunc{
		"a web page": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>hello</html>") },
		"health checks only": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(map[bool]int{true: 200, false: 404}[r.URL.Path == "/readyz"])
		},
		"any JSON": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"version":"1.0","models":"none","data":{}}`)
		},
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, away.URL+r.URL.Path, http.StatusFound)
		},
		"a key is wanted": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) },
		"deep nesting":    func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, strings.Repeat(`{"data":[`, 100000)) },
		"endless":         func(w http.ResponseWriter, r *http.Request) { endless(w, r) },
		"names with escapes": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"object":"list","data":[{"id":"a\u001b]52;c;x\u0007"},{"id":"b c"},{"id":"`+strings.Repeat("x", 300)+`"},{"id":"\u202eevil"}]}`)
		},
		"headers without end":   func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X", strings.Repeat("x", 1<<20)) },
		"the answer is silence": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
	} {
		n := network{}
		n.serve(t, "127.0.0.1:8080", handler)
		if found := n.find(); len(found) > 0 {
			t.Errorf("%s is found as %s", name, describe(found))
		}
	}
	if asked := elsewhere.Requests(); len(asked) > 0 {
		t.Errorf("a redirect was followed: %v", asked)
	}
}

func endless(w http.ResponseWriter, r *http.Request) {
	fmt.Fprint(w, `{"data":[`)
	for r.Context().Err() == nil {
		if _, err := fmt.Fprint(w, `{"id":"`+strings.Repeat("e", 190)+`"} `); err != nil {
			return
		}
	}
}

// TestAlive: a server that requires a key, or is loading its model, is found.
func TestAlive(t *testing.T) {
	guarded := discovertest.New("vllm")
	guarded.Status = map[string]int{"/v1/models": 401}
	loading := discovertest.New("llamacpp")
	loading.Status = map[string]int{}
	for path := range loading.Paths {
		loading.Paths[path], loading.Status[path] = `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`, 503
	}
	n := network{}
	n.serve(t, "127.0.0.1:8000", guarded)
	n.serve(t, "127.0.0.1:8080", loading)
	n.serve(t, "127.0.0.1:9931", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Server", "llama.cpp")
		w.WriteHeader(401)
	}))
	const want = `llamacpp "llama.cpp" http://127.0.0.1:8080/v1 is loading a model` + "\n" + `llamacpp "llama.cpp" http://127.0.0.1:9931/v1 needs a key` + "\n" + `vllm "vLLM" http://127.0.0.1:8000/v1 needs a key` + "\n"
	if got := describe(n.find()); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestFewConnections: a server gets no more connections than a Python server queues.
func TestFewConnections(t *testing.T) {
	for _, provider := range discovertest.Providers() {
		fake, n := discovertest.New(provider), network{}
		open, most := 0, 0
		var mu sync.Mutex
		n.watch(t, "127.0.0.1:8000", fake, func(_ net.Conn, state http.ConnState) {
			mu.Lock()
			defer mu.Unlock()
			switch state {
			case http.StateNew:
				open++
			case http.StateClosed:
				open--
			}
			most = max(most, open)
		})
		n.find()
		if mu.Lock(); most == 0 || most > 4 {
			t.Errorf("%s was asked over %d connections at once", provider, most)
		}
		mu.Unlock()
	}
}

// TestLongLists: the first models of a truncated list are known.
func TestLongLists(t *testing.T) {
	fake := discovertest.New("ollama")
	var rows []string
	for i := range 500 {
		rows = append(rows, fmt.Sprintf(`{"name":"model-%d","model":"model-%d","size":5225388164,"digest":"500a1f067a9f782620b40bee6f7b0c89e17ae61f686b92c24933e4ca4b2b8b41"}`, i, i))
	}
	fake.Paths["/api/tags"], fake.Paths["/api/ps"] = `{"models":[`+strings.Join(rows, ",")+`]}`, `{"models":[]}`
	n := network{}
	n.serve(t, "127.0.0.1:11434", fake)
	found := n.find()
	if len(found) != 1 || len(found[0].Models) < 20 || len(found[0].Models) > 100 || found[0].Models[0].ID != "model-0" || !found[0].More {
		t.Errorf("found %s", describe(found))
	}
}

// TestOneSilentAnswer: a path that does not answer in time does not hide other answers.
func TestOneSilentAnswer(t *testing.T) {
	fake := discovertest.New("llamacpp")
	n := network{}
	n.serve(t, "127.0.0.1:8080", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			<-r.Context().Done()
			return
		}
		fake.ServeHTTP(w, r)
	}))
	n.serve(t, "127.0.0.1:11434", discovertest.New("ollama"))
	if found := n.find(); len(found) != 2 || found[0].Provider != "llamacpp" || found[1].Provider != "ollama" {
		t.Errorf("found %s", describe(found))
	}
}

// BenchmarkNothingThere measures a search without any server.
func BenchmarkNothingThere(b *testing.B) {
	for b.Loop() {
		discover.Find(b.Context(), discover.Options{Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, fmt.Errorf("refused")
		}})
	}
}
