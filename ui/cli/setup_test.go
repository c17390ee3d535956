package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"parley/providers"
	"parley/session"
)

// A provider without a default model is asked for its models: the only one is
// meant, or the one that was used last. Nothing is guessed.
func TestLocalModel(t *testing.T) {
	for _, tt := range []struct {
		name, models, used, want string
	}{
		{"one", `{"id":"a"}`, "", "local/a"},
		{"several", `{"id":"a"},{"id":"b"}`, "", ""},
		{"used before", `{"id":"a"},{"id":"b"}`, "openai/b\nlocal/gone\nlocal/b\nlocal/a", "local/b"},
		{"none", ``, "local/a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				fmt.Fprintf(w, `{"object":"list","data":[%s]}`, tt.models)
			}))
			defer server.Close()
			a := newProgram()
			a.library = session.MemoryStore()
			a.config.Config = providers.Config{Providers: map[string]providers.Provider{"local": {Kind: "openai", BaseURL: server.URL + "/v1"}}}
			if err := a.library.Set("models", tt.used); err != nil {
				t.Fatal(err)
			}
			if got := a.localModel("local"); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
