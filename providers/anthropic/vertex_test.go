package anthropic_test

import (
	"io"
	"net/http"
	"testing"

	"parley/providers/anthropic"
	"parley/providers/llm"
)

// addressed keeps the address of a request, which it refuses.
type addressed struct{ url string }

func (a *addressed) RoundTrip(r *http.Request) (*http.Response, error) {
	a.url = r.URL.String()
	return nil, io.ErrUnexpectedEOF
}

// TestAddresses: on Vertex AI the model's name is a part of the address, which it cannot change otherwise.
func TestAddresses(t *testing.T) {
	const cloud = "https://cloud.invalid/v1/projects/p/publishers/anthropic"
	for _, tt := range []struct {
		base, model string
		whole       bool // the answer is not streamed
		want        string
	}{
		{vendor, "claude-opus-4-5", false, vendor + "/v1/messages"},
		{elsewhere, "a/b", false, elsewhere + "/messages"},
		{cloud, "claude-opus-4-5@20251101", false, cloud + "/models/claude-opus-4-5@20251101:streamRawPredict"},
		{cloud, "claude-opus-4-5", true, cloud + "/models/claude-opus-4-5:rawPredict"},
		{cloud, "a/b", false, ""},
		{cloud, "..", false, ""},
		{cloud, "a:b", false, ""},
		{cloud, "", false, ""},
	} {
		to := &addressed{}
		m := anthropic.New(anthropic.Options{Model: tt.model, BaseURL: tt.base, NoStream: tt.whole, HTTP: &http.Client{Transport: to}})
		var failed error
		for _, err := range m.Stream(t.Context(), llm.Request{Messages: []llm.Message{llm.UserText("hi")}}) {
			failed = err
		}
		if to.url != tt.want || failed == nil {
			t.Errorf("%s of %s: sent to %q, want %q; %v", tt.model, tt.base, to.url, tt.want, failed)
		}
	}
}
