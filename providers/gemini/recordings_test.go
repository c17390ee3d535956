package gemini_test

import (
	"regexp"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

func TestRecordings(t *testing.T) {
	adaptertest.Replay{
		Kinds: "gemini",
		Open: func(t *testing.T, base string, r adaptertest.Recording) adaptertest.Adapter {
			client := wire.Client(wire.Options{Provider: "mock", URL: base})
			t.Cleanup(client.CloseIdleConnections)
			return gemini.New(gemini.Options{
				Provider: "mock", Model: r.Model, BaseURL: base + "/v1beta", Key: "test-key",
				HTTP: client, NoStream: r.Mode == "json",
			})
		},
		Coarse: map[llm.Fault]llm.Fault{llm.Permission: llm.Authentication},
		Signed: regexp.MustCompile(`"thoughtSignature":\s*("[^"]+")`),
	}.Run(t)
}
