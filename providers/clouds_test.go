package providers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/tools/process"
)

// A cloud is a server that answers for all hosts of a cloud.
type cloud struct {
	mu     sync.Mutex
	asked  []request
	refuse map[string]bool // keys and tokens that it rejects with 401
	answer string          // answer to requests that refuse accepts; "" for the format's default
	status int
	server *httptest.Server
}

// A request is a received request.
type request struct {
	url    string
	header http.Header
	body   map[string]any
}

// The shortest answers of the formats.
var cloudAnswers = map[string]string{
	"openai":           "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	"openai-responses": "data: {\"type\":\"response.output_text.delta\",\"item_id\":\"m\",\"output_index\":0,\"content_index\":0,\"delta\":\"hello\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\",\"output\":[]}}\n\n",
	"gemini":           "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":\"STOP\"}]}\n\n",
	"anthropic": "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{\"input_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\n" +
		"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":1}}\n\n" +
		"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
}

func newCloud(t *testing.T, kind string) *cloud {
	c := &cloud{refuse: map[string]bool{}}
	c.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		got := request{url: "https://" + r.Host + r.URL.RequestURI(), header: r.Header, body: map[string]any{}}
		data, _ := io.ReadAll(r.Body)
		_ = json.Unmarshal(data, &got.body)
		c.asked = append(c.asked, got)
		for _, value := range []string{r.Header.Get("Authorization"), r.Header.Get("Api-Key"), r.Header.Get("X-Key")} {
			if c.refuse[value] {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprintf(w, `{"error":{"message":"the token %s is not accepted"}}`, value)
				return
			}
		}
		if c.status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(c.status)
			fmt.Fprint(w, c.answer)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, cloudAnswers[kind])
	}))
	t.Cleanup(c.server.Close)
	return c
}

// RoundTrip carries requests to all hosts to the server.
func (c *cloud) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" {
		return nil, errors.New("not over https")
	}
	same := req.Clone(req.Context())
	same.Host = req.URL.Host
	same.URL.Scheme, same.URL.Host = "http", strings.TrimPrefix(c.server.URL, "http://")
	return http.DefaultTransport.RoundTrip(same)
}

// ask sends a short prompt to a model of the cloud.
func (c *cloud) ask(t *testing.T, conf Config, model string, getenv func(string) string) error {
	t.Helper()
	e, err := Open(conf, model, OpenOptions{Getenv: getenv, Transport: c})
	if err != nil {
		return err
	}
	var text strings.Builder
	for event, err := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("say hello")}}) {
		if err != nil {
			return err
		}
		if d, ok := event.(llm.Delta); ok {
			text.WriteString(d.Text)
		}
	}
	if text.String() != "hello" {
		return fmt.Errorf("the answer is %q", text.String())
	}
	return nil
}

// keyHeaders returns the headers of a request that hold keys.
func (r request) keyHeaders() string {
	var list []string
	for _, name := range []string{"Authorization", "Api-Key", "X-Api-Key", "X-Goog-Api-Key", "X-Key"} {
		if value := r.header.Get(name); value != "" {
			list = append(list, name+": "+value)
		}
	}
	return strings.Join(list, ", ")
}

// printing returns a shell command that prints the next line of a file on each run, and a function
// that counts the runs.
func printing(t *testing.T, lines ...string) (command string, runs func() int) {
	t.Helper()
	if os.PathSeparator == '\\' {
		t.Skip("needs a Unix shell")
	}
	dir := t.TempDir()
	for i, line := range lines {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i+1)), []byte(line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return fmt.Sprintf("cd %s && echo run >> runs && cat $(wc -l < runs | tr -d ' ')", dir), func() int {
		text, _ := os.ReadFile(filepath.Join(dir, "runs"))
		return strings.Count(string(text), "\n")
	}
}

// Each cloud gets the documented request: URL, header and body.
func TestCloudForms(t *testing.T) {
	azure := []string{"AZURE_OPENAI_API_KEY", "k-1", "AZURE_RESOURCE_NAME", "Contoso"}
	for _, tt := range []struct {
		name, model string
		env         []string
		conf        Provider
		url, key    string
		model2      any               // value in the body; nil if missing
		headers     map[string]string // besides
		fields      map[string]any    // of the body
	}{
		{name: "Azure v1", model: "azure/my-gpt", env: azure,
			url: "https://contoso.openai.azure.com/openai/v1/responses", key: "Api-Key: k-1", model2: "my-gpt"},
		{name: "Azure v1, by its endpoint", model: "azure/my-gpt", env: []string{"AZURE_OPENAI_API_KEY", "k-1", "AZURE_OPENAI_ENDPOINT", "https://contoso.openai.azure.com/"},
			url: "https://contoso.openai.azure.com/openai/v1/responses", key: "Api-Key: k-1", model2: "my-gpt"},
		{name: "Azure v1, chat completions", model: "azure/my-llama", env: azure, conf: Provider{Kind: "openai"},
			url: "https://contoso.openai.azure.com/openai/v1/chat/completions", key: "Api-Key: k-1", model2: "my-llama"},
		{name: "Azure v1, deployments of connect", model: "azure", env: azure, conf: Provider{Variables: map[string]string{"deployment": "first,second"}},
			url: "https://contoso.openai.azure.com/openai/v1/responses", key: "Api-Key: k-1", model2: "first"},
		{name: "Azure v1, its newer address", model: "azure/my-gpt", env: azure, conf: Provider{BaseURL: "foundry"},
			url: "https://contoso.services.ai.azure.com/openai/v1/responses", key: "Api-Key: k-1", model2: "my-gpt"},
		{name: "Foundry", model: "foundry/my-grok", env: []string{"AZURE_AI_API_KEY", "k-1", "AZURE_AI_RESOURCE", "contoso"},
			url: "https://contoso.services.ai.azure.com/openai/v1/chat/completions", key: "Api-Key: k-1", model2: "my-grok"},
		{name: "Claude on Foundry", model: "foundry-claude", env: []string{"ANTHROPIC_FOUNDRY_API_KEY", "k-1", "ANTHROPIC_FOUNDRY_RESOURCE", "contoso"},
			url: "https://contoso.services.ai.azure.com/anthropic/v1/messages", key: "X-Api-Key: k-1", model2: "claude-sonnet-5-5", headers: map[string]string{"Anthropic-Version": "2023-06-01"}},
		{name: "Bedrock", model: "bedrock", env: []string{"AWS_BEARER_TOKEN_BEDROCK", "ABSK1", "AWS_REGION", "eu-west-1"},
			url: "https://bedrock-runtime.eu-west-1.amazonaws.com/openai/v1/chat/completions", key: "Authorization: Bearer ABSK1", model2: "openai.gpt-oss-120b-1:0"},
		{name: "Bedrock, mantle", model: "bedrock/openai.gpt-oss-120b", env: []string{"AWS_BEARER_TOKEN_BEDROCK", "ABSK1"}, conf: Provider{BaseURL: "mantle"},
			url: "https://bedrock-mantle.us-east-1.api.aws/v1/chat/completions", key: "Authorization: Bearer ABSK1", model2: "openai.gpt-oss-120b"},
		{name: "Claude on Bedrock", model: "bedrock-claude", env: []string{"AWS_BEARER_TOKEN_BEDROCK", "ABSK1", "AWS_REGION", "eu-west-1"},
			url: "https://bedrock-mantle.eu-west-1.api.aws/anthropic/v1/messages", key: "Authorization: Bearer ABSK1", model2: "anthropic.claude-sonnet-5-5", headers: map[string]string{"Anthropic-Version": "2023-06-01"}},
		{name: "Vertex, Gemini", model: "vertex", env: []string{"GOOGLE_CLOUD_PROJECT", "my-project"}, conf: Provider{TokenCommand: "echo ya29.gemini"},
			url: "https://aiplatform.googleapis.com/v1/projects/my-project/locations/global/publishers/google/models/gemini-4-argon:streamGenerateContent?alt=sse", key: "Authorization: Bearer ya29.gemini"},
		{name: "Vertex, of two continents", model: "vertex", env: []string{"GOOGLE_CLOUD_PROJECT", "example.com:p", "GOOGLE_CLOUD_LOCATION", "eu"}, conf: Provider{TokenCommand: "echo ya29.gemini"},
			url: "https://aiplatform.eu.rep.googleapis.com/v1/projects/example.com:p/locations/eu/publishers/google/models/gemini-4-argon:streamGenerateContent?alt=sse", key: "Authorization: Bearer ya29.gemini"},
		{name: "Vertex, Claude", model: "vertex-claude", env: []string{"GOOGLE_CLOUD_PROJECT", "my-project", "GOOGLE_CLOUD_LOCATION", "europe-west4"}, conf: Provider{TokenCommand: "echo ya29.claude"},
			url: "https://europe-west4-aiplatform.googleapis.com/v1/projects/my-project/locations/europe-west4/publishers/anthropic/models/claude-sonnet-5-5:streamRawPredict", key: "Authorization: Bearer ya29.claude",
			fields: map[string]any{"anthropic_version": "vertex-2023-10-16", "stream": true}},
		{name: "Vertex, express", model: "vertex-express", env: []string{"GOOGLE_VERTEX_API_KEY", "AQ.1"},
			url: "https://aiplatform.googleapis.com/v1/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse", key: "X-Goog-Api-Key: AQ.1"},
		{name: "Azure by Entra", model: "azure/my-gpt", env: azure[2:], conf: Provider{TokenCommand: `echo '{"accessToken":"entra-1","expires_on":4000000000}'`},
			url: "https://contoso.openai.azure.com/openai/v1/responses", key: "Authorization: Bearer entra-1", model2: "my-gpt"},
		{name: "Claude on Foundry by Entra", model: "foundry-claude", env: []string{"ANTHROPIC_FOUNDRY_RESOURCE", "contoso"}, conf: Provider{TokenCommand: "echo entra-2"},
			url: "https://contoso.services.ai.azure.com/anthropic/v1/messages", key: "Authorization: Bearer entra-2", model2: "claude-sonnet-5-5"},
		{name: "a gateway with a header of its own", model: "gate/m", conf: Provider{BaseURL: "https://gate.example/v1", TokenCommand: "echo short-lived", KeyHeader: "X-Key"},
			url: "https://gate.example/v1/chat/completions", key: "X-Key: short-lived", model2: "m"},
		{name: "a gateway with a key in a header of its own", model: "gate/m", conf: Provider{BaseURL: "https://gate.example/v1", APIKey: "k-1", KeyHeader: "x-key"},
			url: "https://gate.example/v1/chat/completions", key: "X-Key: k-1", model2: "m"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			name, _, _ := strings.Cut(tt.model, "/")
			conf := Config{Providers: map[string]Provider{name: tt.conf}}
			if err := conf.Validate(); err != nil {
				t.Fatal(err)
			}
			s, _ := conf.service(name, env(tt.env...))
			c := newCloud(t, s.kind)
			if err := c.ask(t, conf, tt.model, env(tt.env...)); err != nil || len(c.asked) != 1 {
				t.Fatalf("%v after %d requests", err, len(c.asked))
			}
			got := c.asked[0]
			if got.url != tt.url || got.keyHeaders() != tt.key || got.body["model"] != tt.model2 {
				t.Errorf("asked %s\nwith %s for %v, want\n%s\nwith %s for %v", got.url, got.keyHeaders(), got.body["model"], tt.url, tt.key, tt.model2)
			}
			for name, want := range tt.headers {
				if got.header.Get(name) != want {
					t.Errorf("%s is %q, want %q", name, got.header.Get(name), want)
				}
			}
			for field, want := range tt.fields {
				if got.body[field] != want {
					t.Errorf("%s is %v, want %v", field, got.body[field], want)
				}
			}
		})
	}
}

// A rejected token is renewed and the request sent again, once, for each request with that token,
// with one run of the command for all.
func TestTokenIsRenewedOn401(t *testing.T) {
	command, runs := printing(t, "old-token-1", "new-token-2", "third-token-3")
	conf := Config{Providers: map[string]Provider{"gate": {BaseURL: "https://gate.example/v1", TokenCommand: process.ShellText(command)}}}
	c := newCloud(t, "openai")
	if err := c.ask(t, conf, "gate/m", env()); err != nil || runs() != 1 {
		t.Fatalf("%v after %d runs", err, runs())
	}
	c.refuse["Bearer old-token-1"] = true
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := c.ask(t, conf, "gate/m", env()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if runs() != 2 {
		t.Errorf("the command ran %d times, want 2", runs())
	}
	for _, got := range c.asked[1:] {
		if got.body["model"] != "m" || len(got.body["messages"].([]any)) != 1 {
			t.Errorf("it was sent again as %v", got.body)
		}
	}
	c.refuse["Bearer new-token-2"], c.refuse["Bearer third-token-3"] = true, true
	before := len(c.asked)
	err := c.ask(t, conf, "gate/m", env())
	if llm.FaultOf(err) != llm.Authentication || len(c.asked) != before+2 || runs() != 3 {
		t.Errorf("%v after %d requests and %d runs", err, len(c.asked)-before, runs())
	}
	for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err)} {
		if strings.Contains(text, "-token-") {
			t.Errorf("the error holds a token: %s", text)
		}
	}
	if mask, err := conf.MaskKeys(env()); err != nil || strings.Contains(mask("saw new-token-2 here"), "new-token-2") {
		t.Errorf("an export holds a token: %v", err)
	}
}

// A token is renewed before it expires, without a refusal: with a lifetime that has already ended,
// each request gets a new one.
func TestTokenIsRenewedAtExpiry(t *testing.T) {
	command, runs := printing(t, `{"access_token":"a-1","expires_in":0}`, `{"access_token":"a-2","expires_in":3600}`, "never")
	conf := Config{Providers: map[string]Provider{"gate": {BaseURL: "https://gate.example/v1", TokenCommand: process.ShellText(command)}}}
	c := newCloud(t, "openai")
	for _, want := range []string{"Bearer a-1", "Bearer a-2", "Bearer a-2"} {
		if err := c.ask(t, conf, "gate/m", env()); err != nil {
			t.Fatal(err)
		}
		if got := c.asked[len(c.asked)-1].header.Get("Authorization"); got != want {
			t.Errorf("sent %q, want %q", got, want)
		}
	}
	if runs() != 2 {
		t.Errorf("the command ran %d times", runs())
	}
}

// The error for a command without a token names the command but contains nothing of its output; no
// request is sent.
func TestTokenCommandFails(t *testing.T) {
	for command, want := range map[string]string{"echo " + canary + "; exit 3": "failed (exit status 3)", "echo '{\"error\":\"" + canary + "\"}'": "JSON without a token", "echo " + canary + " and more": "characters that no token has"} {
		conf := Config{Providers: map[string]Provider{"gate": {BaseURL: "https://gate.example/v1", TokenCommand: process.ShellText(command)}}}
		c := newCloud(t, "openai")
		err := c.ask(t, conf, "gate/m", env())
		var e *llm.Error
		if !errors.As(err, &e) || e.Fault != llm.Authentication || e.Key != "providers.gate.token_command" || !strings.Contains(e.Message, want) || leaks(err.Error()) != "" || len(c.asked) != 0 {
			t.Errorf("%v after %d requests, want %q", err, len(c.asked), want)
		}
	}
}

// Google's login is used only if the user wants it: named in the environment, or connected.
func TestGoogleLogin(t *testing.T) {
	project := []string{"GOOGLE_CLOUD_PROJECT", "p"}
	for _, tt := range []struct {
		name  string
		c     Config
		env   []string
		ready bool
	}{
		{"nothing", Config{}, nil, false},
		{"a project for other programs", Config{}, project, false},
		{"a key file", Config{}, append([]string{"GOOGLE_APPLICATION_CREDENTIALS", "/f"}, project...), true},
		{"a key file alone", Config{}, []string{"GOOGLE_APPLICATION_CREDENTIALS", "/f"}, false},
		{"a table", Config{Providers: map[string]Provider{"vertex": {Variables: map[string]string{"project": "p"}}}}, nil, true},
		{"connected", Config{Stored: &fakeStore{variables: map[string]string{"project": "p"}}}, nil, true},
	} {
		_, err := Open(tt.c, "vertex", OpenOptions{Getenv: env(tt.env...)})
		if (err == nil) != tt.ready || err != nil && !errors.Is(err, llm.ErrNoKey) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

// The user's value for a variable changes no other part of an address.
func TestHostileVariables(t *testing.T) {
	for _, tt := range []struct{ provider, name, value string }{
		{"bedrock", "region", "us-east-1.evil.com/"}, {"bedrock", "region", "evil.com#"}, {"bedrock", "region", "x@evil.com"}, {"bedrock", "region", "a b"},
		{"bedrock", "region", "evil.com"}, {"bedrock", "region", "evil.com:443"}, {"bedrock", "region", "{region}"}, {"bedrock", "region", "-x"}, {"bedrock", "region", "x-"},
		{"bedrock", "region", strings.Repeat("a", 64)}, {"bedrock", "region", "https://bedrock-runtime.evil.com/.amazonaws.com"}, {"bedrock", "region", "euｗ"}, {"bedrock", "region", "x\nHost: evil.com"},
		{"azure", "resource", "evil.com/?"}, {"azure", "resource", "https://evil.com/x.openai.azure.com"}, {"azure", "resource", "https://evil.com"}, {"azure", "resource", "https://a.b.openai.azure.com"},
		{"azure", "deployment", "../../x y"}, {"vertex", "location", "evil.com/"}, {"vertex", "location", "x/../.."}, {"vertex", "project", "../../evil"}, {"vertex", "project", "a/b"}, {"vertex", "project", "p?alt=x"},
		{"vertex", "project", "a..b"}, {"vertex", "project", "%2e%2e"},
	} {
		conf := Config{Providers: map[string]Provider{tt.provider: {APIKey: "k", Variables: map[string]string{"project": "p", "resource": "r"}}}}
		if tt.provider == "bedrock" {
			conf.Providers["bedrock"] = Provider{APIKey: "k", Variables: map[string]string{}}
		} else if tt.provider == "vertex" {
			delete(conf.Providers["vertex"].Variables, "resource")
		} else {
			delete(conf.Providers["azure"].Variables, "project")
		}
		conf.Providers[tt.provider].Variables[tt.name] = tt.value
		if err := conf.Validate(); err == nil || !strings.Contains(err.Error(), "providers."+tt.provider+".variables."+tt.name) {
			t.Errorf("%s = %q is taken: %v", tt.name, tt.value, err)
		}
		if _, err := Open(conf, tt.provider+"/m", OpenOptions{Getenv: env(), Transport: refusing{t}}); err == nil || !strings.Contains(err.Error(), tt.name+": ") || errors.Is(err, llm.ErrNoKey) {
			t.Errorf("%s = %q opens: %v", tt.name, tt.value, err)
		}
		s, _ := conf.service(tt.provider, env())
		if strings.Contains(hostOf(s.url), "evil") || strings.Contains(s.url, "..") {
			t.Errorf("%s = %q leads to %s", tt.name, tt.value, s.url)
		}
	}
	if _, err := Open(Config{}, "bedrock", OpenOptions{Getenv: env("AWS_BEARER_TOKEN_BEDROCK", "k", "AWS_REGION", "us-east-1.evil.com/")}); err == nil || !strings.Contains(err.Error(), "AWS_REGION") {
		t.Errorf("of the environment: %v", err)
	}
	for name, text := range map[string]string{"bedrok": `variables: the address of bedrok has none`, "bedrock": `variables: unknown "regon", did you mean "region"?`} {
		err := (&Config{Providers: map[string]Provider{name: {Variables: map[string]string{"regon": "x"}}}}).Validate()
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%v, want %s", err, text)
		}
	}
}

// A token goes only to the provider's host, even if its client is used for other hosts.
func TestTokenStaysAtHome(t *testing.T) {
	conf := Config{Providers: map[string]Provider{"gate": {BaseURL: "https://gate.example/v1", TokenCommand: "echo at-home"}}}
	c := newCloud(t, "openai")
	target, err := conf.Target(t.Context(), "gate", "m", OpenOptions{Getenv: env(), Transport: c})
	if err != nil {
		t.Fatal(err)
	}
	for address, want := range map[string]string{"https://gate.example/v1/x": "Authorization: Bearer at-home", "https://evil.example/v1/x": "", "https://gate.example.evil.com/v1/x": "", "https://gate.example:444/": ""} {
		req, _ := http.NewRequestWithContext(context.Background(), http.MethodGet, address, nil)
		res, err := target.HTTP.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if got := c.asked[len(c.asked)-1].keyHeaders(); got != want {
			t.Errorf("%s got %q, want %q", address, got, want)
		}
	}
}

// Clouds report errors in their own words; advice is added.
func TestCloudErrors(t *testing.T) {
	project := []string{"GOOGLE_CLOUD_PROJECT", "my-project"}
	for _, tt := range []struct {
		model  string
		env    []string
		status int
		answer string
		fault  llm.Fault
		want   string
	}{
		{"azure/x", nil, 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, llm.ModelNotFound, "called as its deployment in the resource contoso"},
		{"azure/x", nil, 401, `{"error":{"code":"401","message":"Access denied due to invalid subscription key or wrong API endpoint."}}`, llm.Authentication, "one of the resource contoso"},
		{"azure/x", nil, 401, `{"error":{"code":"PermissionDenied","message":"Principal does not have access to API/Operation."}}`, llm.Permission, "Cognitive Services OpenAI User"},
		{"bedrock", nil, 403, `{"Message":"Bearer Token has expired"}`, llm.Authentication, "last twelve hours"},
		{"bedrock", nil, 400, `{"message":"The provided model identifier is invalid."}`, llm.ModelNotFound, "us-east-1 may not have this model"},
		{"bedrock", nil, 400, `{"message":"Invocation of model ID x with on-demand throughput isn't supported. Retry with an inference profile."}`, llm.ModelNotFound, "us., eu., apac. or global."},
		{"bedrock-claude", nil, 403, `{"error":{"message":"You don't have access to the model with the specified model ID."}}`, llm.Permission, "request it in the Amazon Bedrock console"},
		{"vertex", project, 403, `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Vertex AI API has not been used in project my-project before or it is disabled."}}`, llm.Permission, "gcloud services enable aiplatform.googleapis.com --project my-project"},
		{"vertex", project, 404, `{"error":{"code":404,"status":"NOT_FOUND","message":"Publisher Model gemini-4-argon was not found or your project does not have access to it."}}`, llm.ModelNotFound, "location global"},
		{"vertex-claude", project, 403, `{"error":{"code":403,"status":"PERMISSION_DENIED","message":"Permission 'aiplatform.endpoints.predict' denied"}}`, llm.Permission, "Vertex AI User in the project my-project"},
		{"vertex", project, 401, `{"error":{"code":401,"status":"UNAUTHENTICATED","message":"Request had invalid authentication credentials."}}`, llm.Authentication, "gcloud auth application-default login"},
		{"vertex-express", nil, 400, `{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"API key not valid. Please pass a valid API key."}}`, llm.Authentication, "express keys"},
	} {
		name, _, _ := strings.Cut(tt.model, "/")
		conf := Provider{APIKey: "k-1"}
		switch name {
		case "azure":
			conf.Variables = map[string]string{"resource": "contoso"}
		case "vertex", "vertex-claude":
			conf = Provider{TokenCommand: "echo ya29.x"}
		}
		c := newCloud(t, "")
		c.status, c.answer = tt.status, tt.answer
		err := c.ask(t, Config{Providers: map[string]Provider{name: conf}}, tt.model, env(tt.env...))
		if llm.FaultOf(err) != tt.fault || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %s:\ngot %v (%s), want %q (%s)", tt.model, tt.answer, err, llm.FaultOf(err), tt.want, tt.fault)
		}
	}
}

// Facts are known for every id listed for a cloud.
func TestCloudModels(t *testing.T) {
	for _, p := range catalog.Providers() {
		if len(p.Offers) == 0 {
			continue
		}
		if len(p.Models) != len(p.Offers) {
			t.Errorf("%s offers %d models, of which %d are known", p.ID, len(p.Offers), len(p.Models))
		}
		for _, m := range p.Models {
			if same, ok := catalog.Guess(m.ID); !ok || m.Context == 0 || same.Context != m.Context || !slices.Contains(p.Offers, m.ID) || m.Provider != p.ID {
				t.Errorf("%s/%s: %+v", p.ID, m.ID, m)
			}
		}
	}
}

// Clouds without a list offer the built-in models and the deployments that the user named.
func TestCloudLists(t *testing.T) {
	conf := Config{Providers: map[string]Provider{"azure": {APIKey: "k", Variables: map[string]string{"resource": "r", "deployment": "mine, yours"}}}}
	_, offers, err := conf.listModels(t.Context(), "azure", OpenOptions{Getenv: env(), Transport: refusing{t}}.withDefaults())
	if err != nil || len(offers) != 2 || offers[0].ID != "mine" || offers[1].ID != "yours" {
		t.Errorf("azure lists %v, %v", offers, err)
	}
	if got := DefaultModel(conf, env()); got != "azure/mine" {
		t.Errorf("the default is %s", got)
	}
	_, offers, err = Config{}.listModels(t.Context(), "bedrock", OpenOptions{Getenv: env("AWS_BEARER_TOKEN_BEDROCK", "k"), Transport: refusing{t}}.withDefaults())
	if err != nil || len(offers) != 2 {
		t.Errorf("bedrock lists %v, %v", offers, err)
	}
}
