package anthropic_test

import (
	"regexp"
	"testing"

	"parley/providers/llmtest"
)

func TestRecordings(t *testing.T) {
	llmtest.Replay{
		Kinds: "anthropic",
		Open: func(t *testing.T, base string, r llmtest.Recording) llmtest.Adapter {
			return connect(t, base, r.Model)
		},
		Signed: regexp.MustCompile(`"(?:signature|data|encrypted_content)":\s*("[^"]+")`),
	}.Run(t)
}
