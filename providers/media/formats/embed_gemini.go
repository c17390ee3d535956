package formats

import (
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
)

// geminiTask returns Google's name of a task, and the prefix for models that expect the task in the
// text (gemini-embedding-2 and later, November 2026).
func geminiTask(task works.Task) (word, prefix string) {
	switch task {
	case works.TaskDocument:
		return "RETRIEVAL_DOCUMENT", "title: none | text: "
	case works.TaskQuery:
		return "RETRIEVAL_QUERY", "task: search result | query: "
	case works.TaskSimilarity:
		return "SEMANTIC_SIMILARITY", "task: sentence similarity | query: "
	case works.TaskClassify:
		return "CLASSIFICATION", "task: classification | query: "
	case works.TaskCluster:
		return "CLUSTERING", "task: clustering | query: "
	case works.TaskQuestion:
		return "QUESTION_ANSWERING", "task: question answering | query: "
	case works.TaskFact:
		return "FACT_VERIFICATION", "task: fact checking | query: "
	case works.TaskCode:
		return "CODE_RETRIEVAL_QUERY", "task: code retrieval | query: "
	}
	return "", ""
}

// compileGemini returns a batchEmbedContents request. The service counts no tokens.
func compileGemini(_ embeddingFormat, o adapter.Options, inputs []string, want works.EmbedOptions) embeddingRequest {
	model := o.Model
	if !strings.HasPrefix(model, "models/") {
		model = "models/" + model
	}
	field := strings.Contains(model, "embedding-001") || strings.Contains(model, "embedding-004")
	requests := make([]map[string]any, len(inputs))
	for i, text := range inputs {
		r := map[string]any{"model": model}
		if word, prefix := geminiTask(want.Task); !field {
			text = prefix + text
		} else if word != "" {
			r["taskType"] = word
		}
		if want.Dimensions > 0 {
			r["outputDimensionality"] = want.Dimensions
		}
		r["content"] = map[string]any{"parts": []any{map[string]any{"text": text}}}
		requests[i] = r
	}
	return embeddingRequest{
		url:  strings.TrimRight(o.BaseURL, "/") + "/" + model + ":batchEmbedContents",
		body: map[string]any{"requests": requests},
	}
}

func decodeGemini(text []byte, _ int) (*works.Embedded, error) {
	var answer struct {
		Embeddings []struct{ Values vector }
	}
	err := adapter.DecodeLenient(text, &answer)
	out := &works.Embedded{}
	for _, e := range answer.Embeddings {
		out.Vectors = append(out.Vectors, e.Values)
	}
	return out, err
}
