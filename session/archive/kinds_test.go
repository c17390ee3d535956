package archive

import (
	"strings"
	"testing"

	"parley/providers/llmtest"
	"parley/session/store"
)

// TestKinds: exports have every kind of part.
func TestKinds(t *testing.T) {
	var c Conversation
	for i, m := range llmtest.KindsHistory() {
		c.Nodes = append(c.Nodes, store.Node{Seq: i + 1, Parent: i, Message: m})
		c.Session.Head = i + 1
	}
	for _, f := range formats {
		way := map[string]llmtest.Way{"md": llmtest.Markdown, "html": llmtest.HTML}[f.Name]
		if way == "" {
			continue
		}
		var b strings.Builder
		if err := f.Write(&b, c); err != nil {
			t.Fatal(err)
		}
		llmtest.CheckKinds(t, way, b.String())
	}
}
