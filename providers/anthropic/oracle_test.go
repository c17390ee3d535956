//go:build oracle

package anthropic_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"parley/providers/adapter/adaptertest"
	"parley/providers/anthropic"
	"parley/providers/llm"
	"parley/providers/wire"
)

// differs lists the allowed differences between parley's bodies and those of Anthropic's SDK. Its
// types drop unknown fields, so a field missing on the SDK's side is one that it does not know.
var differs = adaptertest.Exceptions{
	{Path: "stream", Reason: "the SDK adds it as it sends, by the method that is called"},
	{Path: "messages[].content[].content", Reason: "a result that is one text may be a string; the SDK writes a list of one block", Fits: func(want, got any) bool {
		return reflect.DeepEqual(got, []any{map[string]any{"type": "text", "text": want}})
	}},
}

// oracleModels have one of each generation, and one of another vendor's.
var oracleModels = []string{
	"claude-3-haiku-20240307", "claude-3-7-sonnet@20250219", "claude-opus-4-1", "claude-sonnet-4-5", "claude-opus-4-5",
	"claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-5", "claude-sonnet-5-5", "claude-opus-5-5", "claude-fable-5", "glm-5.3",
}

// TestSDKTakesRequests checks every kind of request with Anthropic's SDK: its types keep all
// fields.
func TestSDKTakesRequests(t *testing.T) {
	sign := func(p llm.Part) llm.Part {
		if p.Kind == llm.Thinking {
			p.State = json.RawMessage(`{"type":"thinking","thinking":` + quote(p.Text) + `,"signature":"c2ln+/=="}`)
		}
		return p
	}
	for _, model := range oracleModels {
		base := vendor
		if !strings.HasPrefix(model, "claude") {
			base = elsewhere
		}
		m := build(base, model)
		for name, req := range adaptertest.Requests(m.Origin(), sign) {
			body, err := m.Body(req)
			if err != nil {
				t.Fatal(model, name, err)
			}
			taken(t, model+"/"+name, body)
		}
	}
	differs.CheckUsed(t)
}

// TestSDKTakesWhatIsSent compares the bodies of whole conversations with Anthropic's SDK.
func TestSDKTakesWhatIsSent(t *testing.T) {
	watched := func(t *testing.T, base, model string) *anthropic.Model {
		client := wire.Client(wire.Options{Provider: "mock", URL: base})
		t.Cleanup(client.CloseIdleConnections)
		adaptertest.Watch(client, func(body []byte) { taken(t, t.Name(), body) })
		return anthropic.New(anthropic.Options{Provider: "mock", Model: model, BaseURL: base, Key: "test-key", HTTP: client})
	}
	for _, model := range []string{"claude-sonnet-4-5", "claude-opus-5-5", "glm-5.3"} {
		w := anthropicWire(model)
		w.Open = func(t *testing.T, base string) llm.Model { return watched(t, base, model) }
		t.Run(model, func(t *testing.T) { adaptertest.Suite(t, w) })
	}
	t.Run("recordings", adaptertest.Replay{
		Kinds: "anthropic",
		Open: func(t *testing.T, base string, r adaptertest.Recording) adaptertest.Adapter {
			return watched(t, base, r.Model)
		},
	}.Run)
}

// taken decodes a body with the SDK's types: the API's or, for a request with a beta, those of the
// betas.
func taken(t *testing.T, name string, body []byte) {
	t.Helper()
	list := lost(t, body, &sdk.MessageNewParams{})
	if len(list) == 1 && list[0].Path == "thinking.block_binding" { // its beta goes with it in a header; see TestRequest
		list = lost(t, body, &sdk.BetaMessageNewParams{})
	}
	for _, d := range list {
		t.Errorf("%s: %s is %v, the SDK has %v", name, d.Path, d.Want, d.Got)
	}
}

// lost lists the fields of a body that the SDK's types drop.
func lost(t *testing.T, body []byte, params any) []adaptertest.Difference {
	t.Helper()
	if err := json.Unmarshal(body, params); err != nil {
		t.Errorf("%v in %s", err, body)
	}
	again, err := json.Marshal(params)
	if err != nil {
		t.Fatalf("%v of %s", err, body)
	}
	return slices.DeleteFunc(adaptertest.Differences(body, again), differs.Allow)
}
