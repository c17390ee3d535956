package formats

import (
	"cmp"
	"fmt"
	"net/url"
	"os"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// compileMiniMax returns a request in MiniMax's own format, whose vectors are either for documents
// ("db") or for queries ("query"). The group of an account, which older keys need, comes from
// group_id in the options of the provider, or from MINIMAX_GROUP_ID.
func compileMiniMax(_ embeddingFormat, o adapter.Options, inputs []string, want works.EmbedOptions) (r embeddingRequest) {
	r.url = strings.TrimRight(o.BaseURL, "/") + "/embeddings"
	group, _ := o.Body["group_id"].(string)
	if group = cmp.Or(group, os.Getenv("MINIMAX_GROUP_ID")); group != "" {
		r.url += "?GroupId=" + url.QueryEscape(group)
	}
	use := "db"
	switch want.Task {
	case works.TaskQuery, works.TaskQuestion, works.TaskCode:
		use = "query"
	case works.TaskDocument, "":
	default:
		r.notes = append(r.notes, adapter.LeftOut(o.Model, fmt.Sprintf("the task %q", want.Task)))
	}
	r.body = map[string]any{"model": o.Model, "texts": inputs, "type": use}
	return r
}

func decodeMiniMax(text []byte, _ int) (*works.Embedded, error) {
	var answer struct {
		Vectors     []vector
		TotalTokens int `json:"total_tokens"`
	}
	err := adapter.DecodeLenient(text, &answer)
	return &works.Embedded{Vectors: float32s(answer.Vectors), Bill: works.Bill{Tokens: answer.TotalTokens}}, err
}
