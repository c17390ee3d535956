package providers

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/providers/llm"
)

// The error for a key at the wrong address names the right addresses; no other error does.
func TestMisplacedKeys(t *testing.T) {
	const (
		balance = `{"error":{"code":"1113","message":"Insufficient balance or no resource package."}}`
		wrong   = `{"error":{"code":"invalid_api_key","message":"Incorrect API key provided."}}`
	)
	for _, tt := range []struct {
		name, provider string
		conf           Provider
		status         int
		answer         string
		want           string // addresses, separated by spaces
		fault          llm.Fault
	}{
		{"GLM, of the coding plan", "zai", Provider{}, 429, balance, "https://api.z.ai/api/coding/paas/v4", llm.Quota},
		{"GLM, of the general one", "zai", Provider{BaseURL: "coding-china"}, 429, balance, "https://open.bigmodel.cn/api/paas/v4", llm.Quota},
		{"GLM, of another country", "zai", Provider{}, 401, wrong,
			"https://open.bigmodel.cn/api/paas/v4 https://open.bigmodel.cn/api/coding/paas/v4 https://api.z.ai/api/coding/paas/v4", llm.Authentication},
		{"Qwen, of another region", "qwen", Provider{}, 401, wrong,
			"https://dashscope.aliyuncs.com/compatible-mode/v1 https://token-plan.ap-southeast-1.maas.aliyuncs.com/compatible-mode/v1 https://dashscope-us.aliyuncs.com/compatible-mode/v1", llm.Authentication},
		{"Kimi, from China", "moonshot", Provider{BaseURL: "china"}, 401, wrong, "https://api.moonshot.ai/v1 https://api.kimi.com/coding/v1", llm.Authentication},
		{"MiniMax, not its other wire format", "minimax", Provider{}, 401, wrong, "https://api.minimaxi.com/v1", llm.Authentication},
		{"MiniMax, its other wire format", "minimax", Provider{Kind: "anthropic", BaseURL: "anthropic"}, 401, wrong, "https://api.minimaxi.com/anthropic", llm.Authentication},
		{"a service with one address", "deepseek", Provider{}, 401, wrong, "", llm.Authentication},
		{"an address of the user's", "zai", Provider{BaseURL: "https://gateway.invalid/v4"}, 429, balance, "", llm.Quota},
		{"no money", "zai", Provider{}, 429, `{"error":{"code":"1308","message":"Usage limit reached"}}`, "", llm.Quota},
		{"the number of somebody else", "qwen", Provider{}, 429, balance, "", llm.Quota},
	} {
		tt.conf.APIKey = "k"
		answer := roundTrip(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: tt.status, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(tt.answer)), Request: r}, nil
		})
		c, o := Config{Providers: map[string]Provider{tt.provider: tt.conf}}, OpenOptions{Getenv: env(), Transport: answer}
		e, err := Open(c, tt.provider, o)
		if err != nil {
			t.Fatal(err)
		}
		_, _, listing := c.listModels(t.Context(), tt.provider, o)
		for _, err := range []error{hold(t, e, llm.Request{}).err, listing} {
			if llm.FaultOf(err) != tt.fault {
				t.Fatalf("%s: %v", tt.name, err)
			}
			var got string
			if _, rest, ok := strings.Cut(err.Error(), "base_url = "); ok {
				got = strings.NewReplacer(`"`, "", " or ", " ").Replace(rest)
			}
			if got != tt.want {
				t.Errorf("%s: names %q, want %q\n%v", tt.name, got, tt.want, err)
			}
		}
	}
}

// The advice for a missing model is to fetch it, if the server can.
func TestModelsToFetch(t *testing.T) {
	server := scripted(t, func(map[string]any) (int, string) {
		return 404, `{"error":{"message":"model 'qwen3:8b' not found","type":"api_error"}}`
	})
	c := Config{Providers: map[string]Provider{"ollama": {BaseURL: server.URL, Models: []string{"qwen3:8b"}}}}
	if got := hold(t, opens(t, c, "ollama/qwen3:8b", OpenOptions{}), llm.Request{}); llm.FaultOf(got.err) != llm.ModelNotFound || !strings.HasSuffix(got.err.Error(), "fetch it with: ollama pull qwen3:8b") {
		t.Errorf("%v", got.err)
	}
}
