package formats

import (
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

func TestOpenDrawing(t *testing.T) {
	getenv := keys("OPENAI_API_KEY", "GEMINI_API_KEY", "XAI_API_KEY", "DASHSCOPE_API_KEY", "ZAI_API_KEY", "MINIMAX_API_KEY", "OPENROUTER_API_KEY", "ANTHROPIC_API_KEY")
	own := providers.Config{Providers: map[string]providers.Provider{
		"mine": {Kind: "openai", BaseURL: "http://127.0.0.1:1/v1"}, "omni": {Kind: "vllm", BaseURL: "http://127.0.0.1:1/v1"},
	}}
	for name, want := range map[string]string{
		"":                       "openai/gpt-image-2.6-flare",
		"gpt-image-2":            "openai/gpt-image-2",
		"gemini":                 "gemini/gemini-3.1-flash-image",
		"grok":                   "xai/grok-imagine-image",
		"qwen":                   "qwen/qwen-image-3.0",
		"zai":                    "zai/glm-image",
		"minimax":                "minimax/image-01",
		"openrouter/some/new":    "openrouter/some/new",
		"mine/flux":              "mine/flux",
		"omni/Qwen/Qwen-Image-2": "omni/Qwen/Qwen-Image-2",
	} {
		m, err := media.Images.Open(t.Context(), own, name, providers.OpenOptions{Getenv: getenv})
		if err != nil || m.Name != want {
			t.Errorf("%q: opened %q, %v, want %q", name, m.Name, err, want)
		}
	}
	for _, name := range []string{"anthropic", "deepseek", "groq", "mistral/x", "claude-cli", "llamacpp"} {
		_, err := media.Images.Open(t.Context(), own, name, providers.OpenOptions{Getenv: getenv})
		if llm.FaultOf(err) != llm.Unsupported || !strings.Contains(err.Error(), "no image models") || !strings.Contains(err.Error(), "openai, gemini, xai") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A base URL without a version, as from the environment, is completed as for chat.
func TestDrawingAtGeminiWithoutVersion(t *testing.T) {
	server := newImageServer(t, saysJSON(geminiDrew(pngImage)))
	getenv := func(name string) string {
		return map[string]string{"GEMINI_API_KEY": testKey, "GOOGLE_GEMINI_BASE_URL": server.URL}[name]
	}
	m, err := media.Images.Open(t.Context(), providers.Config{}, "gemini", providers.OpenOptions{Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	if o := made(t, m.Service, works.ImageRequest{Prompt: "a fox"}); o.err != nil || server.seen()[0].path != "/v1beta/models/gemini-3.1-flash-image:generateContent" {
		t.Errorf("asked %s, %v", server.seen()[0].path, o.err)
	}
}

// The error for an unknown name lists similar names, each once, and where models are chosen; a
// model with a vendor prefix is found without it.
func TestUnknownImageModel(t *testing.T) {
	open := func(name string) (string, error) {
		m, err := media.Images.Open(t.Context(), providers.Config{}, name, providers.OpenOptions{Getenv: keys("OPENROUTER_API_KEY", "GEMINI_API_KEY")})
		return m.Name, err
	}
	_, err := open("gemini-3.1-flash-imag")
	message := strings.TrimSuffix(err.Error(), "?")
	_, list, _ := strings.Cut(message, "did you mean ")
	near := strings.Split(list, ", ")
	if len(near) != 3 || near[0] != "gemini/gemini-3.1-flash-image" || near[0] == near[1] || near[1] == near[2] {
		t.Errorf("near: %q", message)
	}
	for _, name := range near {
		if got, err := open(name); err != nil || got != name {
			t.Errorf("%s: opened %q, %v", name, got, err)
		}
	}
	if hint := llm.InChat.Hint(err); hint != "Choose another model with /image" {
		t.Errorf("hint %q", hint)
	}
	if _, err := open("nothing-like-it"); err == nil || strings.Contains(err.Error(), "mean") {
		t.Errorf("%v", err)
	}
	_, id, _ := strings.Cut(near[len(near)-1], "/")
	if got, err := open(id); err != nil || !strings.HasSuffix(got, id) {
		t.Errorf("%s: opened %q, %v", id, got, err)
	}
}
