package anthropic_test

import (
	"regexp"
	"testing"

	"parley/providers/adapter/adaptertest"
)

func TestRecordings(t *testing.T) {
	adaptertest.Replay{
		Kinds: "anthropic",
		Open: func(t *testing.T, base string, r adaptertest.Recording) adaptertest.Adapter {
			return connect(t, base, r.Model)
		},
		Signed: regexp.MustCompile(`"(?:signature|data|encrypted_content)":\s*("[^"]+")`),
	}.Run(t)
}
