package catalog

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Regular expressions equivalent to words.
var (
	specWord = regexp.MustCompile(`[a-z]+|[0-9]+(?:\.[0-9]+)*[a-z]*`)
	specMark = regexp.MustCompile(`^(?:latest|preview|free|beta|nitro|floor|exacto|versatile|instruct|it|` +
		`gguf|awq|gptq|fp8|fp16|bf16|int4|int8|\d{4,8}|\d{2}(?:\.\d{2})?)$`)
)

func specWords(id string) []string {
	id = strings.ToLower(id)
	id = id[strings.LastIndex(id, "/")+1:]
	if _, after, ok := strings.Cut(id, "anthropic."); ok {
		id = after
	}
	id = quantized.ReplaceAllString(id, "")
	id = strings.NewReplacer("_", "-", "@", "-").Replace(id) // Vertex: claude-…@20251101
	id = dashed.ReplaceAllString(id, "$1.$2-")
	list := specWord.FindAllString(id, -1)
	for len(list) > 1 && specMark.MatchString(list[len(list)-1]) {
		list = list[:len(list)-1]
	}
	return list
}

// Ids are split like by the regular expressions.
func FuzzWords(f *testing.F) {
	for _, e := range entries() {
		for _, r := range e.rows() {
			f.Add(r.id)
		}
	}
	for _, id := range []string{
		"", "/", "a/", "qwen3:8b", "qwen3-8b-q4_K_M", "x:iq2_xs", "X-IQ3", "llama-3_1-70b-instruct-fp8", "us.anthropic.claude-opus-4-5-20251101-v1:0",
		"gpt-6-sol-2026-01", "m-01.02", "m-1.02", "m-01.2", "m-12", "m-123", "m-1234567890", "gemma-3-27b-it-gguf", "v1..2b", "1.2.x", "\xff-1-2", "é-1",
		"latest", "a-latest-latest", "4-5-6", "x-6-3@", "claude-opus-4-5@20251101", "_1_2_", "10-10-10", "k2-0905-preview",
	} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if got, want := words(id), specWords(id); !slices.Equal(got, want) {
			t.Errorf("%q: got %q, want %q", id, got, want)
		}
	})
}
