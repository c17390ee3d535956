package providers

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
)

// keyServers holds, for each kind of service, the request that checks a key, and the responses to a
// valid and an invalid one.
var keyServers = []struct {
	provider, base, asked, header string
	good                          string
	status                        int
	bad                           string
}{
	{"openai", "/v1", "/v1/models", "Authorization", `{"data":[{"id":"gpt"}]}`, 401, `{"error":{"message":"Incorrect API key provided: $KEY","code":"invalid_api_key"}}`},
	{"groq", "/openai/v1", "/openai/v1/models", "Authorization", `{"data":[]}`, 401, `{"error":{"message":"Invalid API Key","code":"invalid_api_key"}}`},
	{"mistral", "/v1", "/v1/models", "Authorization", `{"data":[]}`, 401, `{"message":"Unauthorized"}`},
	{"cerebras", "/v1", "/v1/models", "Authorization", `{"data":[]}`, 401, `{"message":"Wrong API Key","code":"wrong_api_key"}`},
	{"anthropic", "", "/v1/models?limit=1", "X-Api-Key", `{"data":[]}`, 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`},
	{"gemini", "/v1beta", "/v1beta/models?pageSize=1", "X-Goog-Api-Key", `{"models":[]}`, 400,
		`{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}]}}`},
	{"xai", "/v1", "/v1/models", "Authorization", `{"data":[]}`, 400, `{"code":"Client specified an invalid argument","error":"Incorrect key $KEY"}`},
	{"xai", "/v1", "/v1/models", "Authorization", `{"data":[]}`, 401, `{"error":"no"}`},
	{"zai", "/api/paas/v4", "/api/paas/v4/models", "Authorization", `{"data":[]}`, 401, `{"error":{"code":"1000","message":"Authentication Failed"}}`},
	{"zai", "/api/paas/v4", "/api/paas/v4/models", "Authorization", `{"data":[]}`, 200, `{"error":{"code":"1002","message":"Authorization Token invalid"}}`},
	{"qwen", "/compatible-mode/v1", "/compatible-mode/v1/models", "Authorization", `{"data":[]}`, 401, `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided."}}`},
	{"deepseek", "", "/user/balance", "Authorization", `{"is_available":true,"balance_infos":[]}`, 401, `{"error":{"message":"Authentication Fails","type":"authentication_error"}}`},
	{"moonshot", "/v1", "/v1/users/me/balance", "Authorization", `{"data":{"available_balance":1}}`, 401, `{"error":{"message":"Invalid Authentication","type":"invalid_authentication_error"}}`},
	{"openrouter", "/api/v1", "/api/v1/key", "Authorization", `{"data":{"usage":1}}`, 401, `{"error":{"message":"No auth credentials found","code":401}}`},
}

// A keyServer answers a valid key in one way and others in another.
type keyServer struct {
	*httptest.Server
	asked []string
}

func newKeyServer(t *testing.T, header string, good, bad http.HandlerFunc) *keyServer {
	s := &keyServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Method+" "+r.URL.String())
		if strings.TrimPrefix(r.Header.Get(header), "Bearer ") == canary {
			good(w, r)
			return
		}
		bad(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// answer answers with JSON; $KEY stands for the key.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		key := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		_, _ = w.Write([]byte(strings.ReplaceAll(body, "$KEY", key)))
	}
}

// verify checks a key of a provider at an address.
func verify(t *testing.T, provider, url string, key Secret) KeyReport {
	t.Helper()
	c := Config{Providers: map[string]Provider{provider: {BaseURL: url}}}
	report, err := VerifyKey(t.Context(), c, provider, key, OpenOptions{Getenv: env()})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// Every kind of service gets one free request, at its own URL, and its way of refusing a key is
// understood. No message repeats the key.
func TestVerifyKey(t *testing.T) {
	const wrong = "sk-WRONG-0123456789"
	for _, tt := range keyServers {
		t.Run(tt.provider, func(t *testing.T) {
			s := newKeyServer(t, tt.header, answer(200, tt.good), answer(tt.status, tt.bad))
			if got := verify(t, tt.provider, s.URL+tt.base, canary); got.Verdict != KeyValid || got.Reason != "" {
				t.Errorf("a good key: %+v", got)
			}
			got := verify(t, tt.provider, s.URL+tt.base, wrong)
			if got.Verdict != KeyRejected || got.Reason == "" || strings.Contains(got.Reason, "WRONG") {
				t.Errorf("a bad key: %+v", got)
			}
			if !slices.Equal(s.asked, []string{"GET " + tt.asked, "GET " + tt.asked}) {
				t.Errorf("asked %q", s.asked)
			}
		})
	}
}

// An error unrelated to the key does not reject it.
func TestVerifyKeyOtherAnswers(t *testing.T) {
	page := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte("<html><title>Sign in to WiFi</title></html>"))
	}
	elsewhere := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	t.Cleanup(other.Close)
	for name, tt := range map[string]struct {
		provider string
		answer   http.HandlerFunc
		want     Verdict
		reason   string
	}{
		"a right is missing":     {"openai", answer(403, `{"error":{"message":"Missing scopes: api.model.read"}}`), KeyValid, "the key is known, but does not allow everything: Missing scopes"},
		"no money":               {"deepseek", answer(402, `{"error":{"message":"Insufficient Balance"}}`), KeyValid, "Insufficient Balance"},
		"too many requests":      {"groq", answer(429, `{"error":{"message":"slow down"}}`), KeyValid, "slow down"},
		"the plan's other host":  {"zai", answer(429, `{"error":{"code":"1113","message":"Insufficient balance"}}`), KeyValid, "Insufficient balance"},
		"broken":                 {"openai", answer(500, `{"error":{"message":"boom"}}`), KeyUnchecked, "boom"},
		"no such request":        {"openai", answer(404, `{"error":{"message":"not here"}}`), KeyUnchecked, "not here"},
		"the login of a network": {"openai", page, KeyUnchecked, "Sign in to WiFi"},
		"no JSON":                {"openai", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("welcome")) }, KeyUnchecked, "did not answer as expected"},
		"a redirect": {"anthropic", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, http.StatusFound) },
			KeyUnchecked, "redirect"},
		"Gemini, not in this country": {"gemini", answer(400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`), KeyUnchecked, "User location"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newKeyServer(t, "none", nil, tt.answer)
			got := verify(t, tt.provider, s.URL+"/v1", canary)
			if got.Verdict != tt.want || !strings.Contains(got.Reason, tt.reason) || leaks(got.Reason) != "" {
				t.Errorf("got %+v", got)
			}
		})
	}
	if elsewhere {
		t.Error("a redirect was followed")
	}
	t.Run("nobody there", func(t *testing.T) {
		s := httptest.NewServer(nil)
		s.Close()
		if got := verify(t, "openai", s.URL+"/v1", canary); got.Verdict != KeyUnchecked || got.Reason == "" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("silence", func(t *testing.T) {
		asked := make(chan struct{})
		ctx, cancel := context.WithCancelCause(t.Context())
		s := newKeyServer(t, "none", nil, func(_ http.ResponseWriter, r *http.Request) {
			close(asked)
			<-r.Context().Done()
		})
		go func() { <-asked; cancel(context.DeadlineExceeded) }()
		c := Config{Providers: map[string]Provider{"openai": {BaseURL: s.URL}}}
		if got, err := VerifyKey(ctx, c, "openai", canary, OpenOptions{Getenv: env()}); err != nil || got.Verdict != KeyUnchecked {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// A coding plan of Kimi has no balance, so its models are listed instead.
func TestVerifyKeySecondPath(t *testing.T) {
	s := newKeyServer(t, "none", nil, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "balance") {
			answer(404, `{"error":{"message":"no such route"}}`)(w, r)
			return
		}
		answer(200, `{"data":[]}`)(w, r)
	})
	if got := verify(t, "moonshot", s.URL+"/coding/v1", canary); got.Verdict != KeyValid || len(s.asked) != 2 {
		t.Errorf("got %+v after %q", got, s.asked)
	}
}

// Keys of services without a free request are recognized by their prefix, and the result says so.
func TestVerifyKeyByPrefix(t *testing.T) {
	c := Config{Providers: map[string]Provider{"bedrock": {BaseURL: "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1"}}}
	for _, tt := range []struct {
		provider string
		key      Secret
		want     Verdict
		reason   string
	}{
		{"minimax", "sk-api-1", KeyValid, "not checked: MiniMax has no free way to check a key"},
		{"minimax", "xyz", KeyRejected, "its keys begin with sk- or eyJ"},
		{"bedrock", "ABSKabc", KeyValid, "not checked: Amazon Bedrock has no free way to check a key"},
		{"bedrock", "sk-abc", KeyRejected, "its keys begin with ABSK or bedrock-api-key-"},
	} {
		got, err := VerifyKey(t.Context(), c, tt.provider, tt.key, OpenOptions{Getenv: env(), Transport: refusing{t}})
		if err != nil || got.Verdict != tt.want || got.Reason != tt.reason {
			t.Errorf("%s: %+v, %v", tt.key.Reveal(), got, err)
		}
	}
	for provider, want := range map[string]string{"ollama": "Ollama takes no key", "claude-cli": "Claude CLI takes no key", "anthropc": "did you mean anthropic", "demo": "no provider"} {
		if _, err := VerifyKey(t.Context(), c, provider, "k", OpenOptions{Getenv: env()}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// refusing fails a test that sends something.
type refusing struct{ t *testing.T }

func (r refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	r.t.Errorf("sent to %s", req.URL)
	return nil, errors.New("refused")
}

// A KeyReport is one sentence.
func TestKeyReport(t *testing.T) {
	about := func(model string) Connection {
		return Connection{Provider: "anthropic", Name: "Anthropic", Model: model}
	}
	for want, r := range map[string]KeyReport{
		"Anthropic connected: 9 models, default claude-x":                      {about("anthropic/claude-x"), KeyValid, "", 9, ""},
		"Anthropic connected: 1 model":                                         {about(""), KeyValid, "", 1, ""},
		"Anthropic connected: name a model as anthropic/MODEL":                 {about(""), KeyValid, "", 0, ""},
		"Anthropic connected (region us-east-1): 1 model":                      {about(""), KeyValid, "", 1, "region us-east-1"},
		"Anthropic connected: 9 models (no money)":                             {about(""), KeyValid, "no money", 9, ""},
		"Anthropic connected, but the key is not checked: 9 models, default a": {about("anthropic/a"), KeyUnchecked, "no network", 9, ""},
	} {
		if got := r.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, text := range []string{"sk-1", " sk-1\n", "\"sk-1\"", "'sk-1'\r\n", "\t`sk-1` ", "\ufeffsk-1", "\u201csk-1\u201d", "\n\n\"sk-1\"\n\n", "\x1bsk-1"} {
		if key, err := ParseKey(text); key != "sk-1" || err != nil {
			t.Errorf("%q is %q, %v", text, key.Reveal(), err)
		}
	}
	for _, text := range []string{"", " \n", `""`, "sk-1 sk-2", "sk-1\nsk-2", "sk-\x1b[31m1", "sk-\x001", "sk-\u00e91", "sk-\u200b1", strings.Repeat("k", maxKey+1)} {
		if key, err := ParseKey(text); key != "" || err == nil || strings.Contains(err.Error(), "sk-") {
			t.Errorf("%q is %q, %v", text, key.Reveal(), err)
		}
	}
}

// A fakeStore has keys, and counts how often it was asked for one.
type fakeStore struct {
	host, key, command string
	err                error
	asked              int
	variables          map[string]string
	commands           map[string]string // of Known
}

func (s *fakeStore) Find(provider string) (string, string, bool) {
	return "the system keyring", s.host, provider == "openai" || provider == "xai" || provider == "mine"
}

func (s *fakeStore) Key(context.Context, string) (string, string, error) {
	s.asked++
	return s.key, s.command, s.err
}

func (s *fakeStore) Variables(string) (map[string]string, bool) {
	return s.variables, s.variables != nil
}

func (s *fakeStore) Known() ([]string, map[string]string, error) {
	return []string{s.key}, s.commands, nil
}

// A stored key comes after everything that the user configured, goes only to the host it was stored
// for, and is read only when a request is sent.
func TestStoredKey(t *testing.T) {
	for _, tt := range []struct {
		name     string
		provider string
		conf     *Provider
		env      []string
		host     string
		from     string
		key      string
	}{
		{"stored", "openai", nil, nil, "api.openai.com", "the system keyring", canary},
		{"by another name", "grok", nil, nil, "api.x.ai", "the system keyring", canary},
		{"behind the environment", "openai", nil, []string{"OPENAI_API_KEY", "k"}, "api.openai.com", "OPENAI_API_KEY", "k"},
		{"behind the configuration", "openai", &Provider{APIKey: "c"}, nil, "api.openai.com", "providers.openai.api_key", "c"},
		{"in the place of a variable that is not set", "openai", &Provider{APIKeyEnv: "MINE"}, nil, "api.openai.com", "the system keyring", canary},
		{"of a service of one's own", "mine", &Provider{BaseURL: "https://work:8443/v1"}, nil, "work:8443", "the system keyring", canary},
		{"for another host", "openai", nil, []string{"OPENAI_BASE_URL", "https://evil.example/v1"}, "api.openai.com", "", ""},
		{"another port", "mine", &Provider{BaseURL: "https://work:8443/v1"}, nil, "work", "", ""},
		{"a local server takes none", "vllm", &Provider{}, nil, "localhost:8000", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			store := &fakeStore{host: tt.host, key: canary}
			c := Config{Providers: map[string]Provider{}, Stored: store}
			if tt.conf != nil {
				c.Providers[tt.provider] = *tt.conf
			}
			Choices(c, env(tt.env...))
			DefaultModel(c, env(tt.env...))
			Connections(c, env(tt.env...))
			if s, _ := c.service(tt.provider, env(tt.env...)); s.key.hint == "" {
				if _, err := Open(c, tt.provider+"/m", OpenOptions{Getenv: env(tt.env...)}); err != nil {
					t.Error(err)
				}
			}
			if store.asked > 0 {
				t.Errorf("it was asked %d times before a model was", store.asked)
			}
			s, _ := c.service(tt.provider, env(tt.env...))
			key, err := s.resolveKey(t.Context())
			if err != nil || key != tt.key || s.key.name != tt.from {
				t.Errorf("%q from %q, %v; want %q from %q", key, s.key.name, err, tt.key, tt.from)
			}
		})
	}
}

// A stored command is run, and the error of a failing store contains no key.
func TestStoredCommand(t *testing.T) {
	store := &fakeStore{host: "api.openai.com", command: "echo " + canary}
	c := Config{Stored: store}
	s, _ := c.service("openai", env())
	if key, err := s.resolveKey(t.Context()); key != canary || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	store.err = errors.New("it is locked")
	var e *llm.Error
	if _, err := s.resolveKey(t.Context()); !errors.As(err, &e) || e.Fault != llm.Authentication || e.Message != "no key from the system keyring: it is locked" {
		t.Errorf("%v", err)
	}
}

// Exports mask stored keys, and a provider with one is ready and no longer lacks a key.
func TestStoredKeyIsKnown(t *testing.T) {
	c := Config{Stored: &fakeStore{host: "api.openai.com", key: canary}}
	mask, err := c.MaskKeys(env())
	if got := mask("it is " + canary); got != "it is "+redacted || err != nil {
		t.Errorf("masked: %q, %v", got, err)
	}
	for _, one := range Choices(c, env()) {
		if want := one.Provider == "anthropic"; one.Provider == "openai" && (!one.Ready || one.LacksKey) || want && (one.Ready || !one.LacksKey) || one.Provider == "ollama" && one.LacksKey {
			t.Errorf("%+v", one)
		}
	}
	if name := DefaultModel(c, env()); !strings.HasPrefix(name, "openai/") {
		t.Errorf("the default model is %s", name)
	}
	_, err = Open(c, "anthropic", OpenOptions{Getenv: env()})
	if !errors.Is(err, llm.ErrNoKey) {
		t.Errorf("without a key: %v", err)
	}
}
