package openai_test

import (
	"regexp"
	"testing"

	"parley/providers/adapter/adaptertest"
	"parley/providers/llm"
	"parley/providers/openai"
	"parley/providers/wire"
)

func TestRecordings(t *testing.T) {
	adaptertest.Replay{
		Kinds: "openai-[cr]*",
		Open: func(t *testing.T, base string, r adaptertest.Recording) adaptertest.Adapter {
			client := wire.Client(wire.Options{Provider: "mock", URL: base})
			t.Cleanup(client.CloseIdleConnections)
			return open(t, r.Kind, openai.Options{
				Provider: "mock", Model: r.Model, BaseURL: base + "/v1", Key: "test-key",
				HTTP: client, NoStream: r.Mode == "json",
			})
		},
		Coarse: map[llm.Fault]llm.Fault{llm.ModelNotFound: llm.InvalidRequest, llm.ContextOverflow: llm.InvalidRequest},
		Signed: regexp.MustCompile(`output_item\.done[^\n]*"encrypted_content":\s*("[^"]+")`),
	}.Run(t)
}

// A model speaks either format.
type model = adaptertest.Adapter

// open returns the model of either format that a kind names.
func open(t *testing.T, kind string, o openai.Options) model {
	t.Helper()
	if kind == openai.KindResponses {
		return openai.NewResponses(o)
	}
	dialect, ok := openai.DialectFor(kind, o.Model)
	if !ok {
		t.Fatalf("no dialect for kind %q", kind)
	}
	return openai.New(o, dialect)
}

// collect ranges over a stream and folds it into a message.
func collect(t *testing.T, s llm.Stream) (parts []llm.Part, finish llm.Finish, usage llm.Usage, err error) {
	t.Helper()
	var draft llm.Draft
	for e, failed := range s {
		if failed != nil {
			return draft.Interrupted(), finish, usage, failed
		}
		switch e := e.(type) {
		case llm.Delta:
			draft.Add(e)
		case llm.Usage:
			usage = e
		case llm.Finish:
			finish = e
		}
	}
	return draft.Complete(), finish, usage, nil
}
