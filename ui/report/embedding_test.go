package report

import (
	"strings"
	"testing"

	"parley/providers/catalog"
)

// TestEmbeddingModels checks the row of each kind of embedding model, and the note about omitted ones.
func TestEmbeddingModels(t *testing.T) {
	models := []ModelRow{
		EmbeddingModel{Name: "a/plain", Ready: true, Dimensions: 768},
		EmbeddingModel{Name: "a/range", Ready: true, Dimensions: 3072, Least: 256, Most: 3072, MaxInput: 8000, Price: catalog.Price{Input: 0.13, Output: 0}},
		EmbeddingModel{Name: "b/free", Ready: true, Price: catalog.Price{Free: true}},
		EmbeddingModel{Name: "b/unknown", Ready: true},
		EmbeddingModel{Name: "c/keyless", Why: "no key: parley connect c"},
	}
	for _, tt := range []struct {
		name  string
		words []string
		all   bool
		want  []string
		notes string
	}{
		{"all that are ready", nil, false, []string{"a/plain 768 dimensions", "a/range 3072 dimensions (256 to 3072) · 8K tokens a text · $0.13 a million tokens", "b/free free", "b/unknown"}, "1 more are not ready: --all shows why"},
		{"with those that are not", []string{"C/"}, true, []string{"c/keyless no key: parley connect c"}, ""},
		{"words in any case, all of them", []string{"A", "RAN"}, false, []string{"a/range 3072 dimensions (256 to 3072) · 8K tokens a text · $0.13 a million tokens"}, ""},
		{"none", []string{"zebra"}, false, nil, "no model matches zebra"},
	} {
		var b, notes strings.Builder
		if err := Models(&b, models, tt.words, tt.all, "text", func(s string) { notes.WriteString(s) }); err != nil {
			t.Fatal(err)
		}
		var got []string
		for line := range strings.Lines(b.String()) {
			got = append(got, strings.Join(strings.Fields(line), " "))
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") || notes.String() != tt.notes {
			t.Errorf("%s: got %q, note %q\nwant %q, note %q", tt.name, got, notes.String(), tt.want, tt.notes)
		}
	}
}
