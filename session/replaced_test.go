package session

import (
	"reflect"
	"testing"

	"parley/providers/llm"
)

// A cached history holds no message that was replaced, its last one or an earlier, and
// neither do those of other models.
func TestKeptHistoryReplaced(t *testing.T) {
	for seq := 1; seq <= 4; seq++ {
		var tree tree
		for range 2 {
			tree.Put(tree.newNode(llm.UserText("asked")))
			tree.Put(tree.newNode(llm.Message{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.Text, Text: "answered"}}}))
		}
		var kept historyCache
		models := []llm.Endpoint{{Origin: "a"}, {Origin: "b"}}
		for _, m := range models {
			kept.portable(&tree, m, nil)
		}
		if len(kept) != len(models) {
			t.Fatalf("%d histories are kept", len(kept))
		}
		n := *tree.at(seq)
		n.Parts = []llm.Part{{Kind: llm.Text, Text: "said otherwise"}}
		tree.Put(n)
		for _, m := range models {
			want, _ := m.Portable(tree.messages())
			if got := kept.portable(&tree, m, nil); !reflect.DeepEqual(got, want) {
				t.Errorf("%d is replaced, to %s: sent\n%+v\nwant\n%+v", seq, m.Origin, got, want)
			}
		}
	}
}
