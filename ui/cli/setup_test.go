package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/providers"
	"parley/session"
)

// TestFirstModel checks that a provider without a default model is asked for its models. The last used one is chosen;
// otherwise the first of a local server or, for other providers, the only one.
func TestFirstModel(t *testing.T) {
	for _, tt := range []struct {
		name, kind, models, used, want string
	}{
		{"one", "openai", `{"id":"a"}`, "", "local/a"},
		{"several", "llamacpp", `{"id":"a"},{"id":"b"}`, "", "local/a"},
		{"several elsewhere", "openai", `{"id":"a"},{"id":"b"}`, "", ""},
		{"files", "openai", `{"id":"/models/x/a.gguf"},{"id":"/models/y/b.gguf"}`, "local/b.gguf", "local/b.gguf"},
		{"used before", "openai", `{"id":"a"},{"id":"b"}`, "openai/b\nlocal/gone\nlocal/b\nlocal/a", "local/b"},
		{"none", "openai", ``, "local/a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, `{"object":"list","data":[%s]}`, tt.models)
			}))
			defer server.Close()
			a := newProgram()
			a.library = session.MemoryStore()
			a.config.Config = providers.Config{Providers: map[string]providers.Provider{"local": {Kind: tt.kind, BaseURL: server.URL + "/v1"}}}
			if err := a.library.Set("models", tt.used); err != nil {
				t.Fatal(err)
			}
			if got, err := a.local.firstModel(t.Context(), "local"); got != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("got %q, want %q: %v", got, tt.want, err)
			}
		})
	}
}
