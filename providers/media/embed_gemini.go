package media

import (
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm"
)

// geminiTasks holds Google's names of tasks, and the prefixes for models that expect the task in the
// text (gemini-embedding-2 and later, November 2026).
var geminiTasks = map[llm.Task]struct{ word, prefix string }{
	llm.TaskDocument:   {"RETRIEVAL_DOCUMENT", "title: none | text: "},
	llm.TaskQuery:      {"RETRIEVAL_QUERY", "task: search result | query: "},
	llm.TaskSimilarity: {"SEMANTIC_SIMILARITY", "task: sentence similarity | query: "},
	llm.TaskClassify:   {"CLASSIFICATION", "task: classification | query: "},
	llm.TaskCluster:    {"CLUSTERING", "task: clustering | query: "},
	llm.TaskQuestion:   {"QUESTION_ANSWERING", "task: question answering | query: "},
	llm.TaskFact:       {"FACT_VERIFICATION", "task: fact checking | query: "},
	llm.TaskCode:       {"CODE_RETRIEVAL_QUERY", "task: code retrieval | query: "},
}

// compileGemini returns a batchEmbedContents request. The service counts no tokens.
func compileGemini(o adapter.Options, inputs []string, want llm.EmbedOptions) embeddingRequest {
	model := o.Model
	if !strings.HasPrefix(model, "models/") {
		model = "models/" + model
	}
	field := strings.Contains(model, "embedding-001") || strings.Contains(model, "embedding-004")
	requests := make([]map[string]any, len(inputs))
	for i, text := range inputs {
		r := map[string]any{"model": model}
		if task, ok := geminiTasks[want.Task]; ok && field {
			r["taskType"] = task.word
		} else if ok {
			text = task.prefix + text
		}
		if want.Dimensions > 0 {
			r["outputDimensionality"] = want.Dimensions
		}
		r["content"] = map[string]any{"parts": []any{map[string]any{"text": text}}}
		requests[i] = r
	}
	return embeddingRequest{
		url:     strings.TrimRight(o.BaseURL, "/") + "/" + model + ":batchEmbedContents",
		headers: map[string]string{"X-Goog-Api-Key": o.Key},
		body:    map[string]any{"requests": requests},
	}
}

func decodeGemini(text []byte) (vectors [][]float32, tokens int, err error) {
	var answer struct {
		Embeddings []struct{ Values vector }
	}
	err = adapter.DecodeLenient(text, &answer)
	for _, e := range answer.Embeddings {
		vectors = append(vectors, e.Values)
	}
	return vectors, 0, err
}
