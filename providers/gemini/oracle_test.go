//go:build oracle

package gemini_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/genai"

	"parley/providers/adapter/adaptertest"
	"parley/providers/gemini"
	"parley/providers/llm"
	"parley/providers/wire"
)

// differs lists the allowed differences between parley's body and the one that Google's SDK sends
// for the same request.
var differs = adaptertest.Exceptions{
	{Path: "systemInstruction.role", Reason: "the SDK gives every content a role; the API reads none there", Fits: adds("user")},
	{Path: "generationConfig", Reason: "the SDK sends an empty one where nothing is set", Fits: adds(map[string]any{})},
	{Path: "contents[].parts[].text", Reason: "a signature came with an empty text and goes back with it; the SDK sends the signature alone", Fits: drops("")},
	{Path: "safetySettings", Reason: "an empty list of the user's own; the SDK leaves it out", Fits: drops([]any{})},
}

// adds returns a check that allows a value that only the SDK sends; drops allows the reverse.
func adds(value any) func(want, got any) bool {
	return func(want, got any) bool { return want == nil && reflect.DeepEqual(got, value) }
}

func drops(value any) func(want, got any) bool {
	return func(want, got any) bool { return got == nil && reflect.DeepEqual(want, value) }
}

// oracleModels have one of each generation: by budget, by level, without either.
var oracleModels = []string{
	"gemini-2.0-flash", "gemini-2.5-pro", "gemini-2.5-flash", "gemini-2.5-flash-lite", "gemini-3-pro-preview",
	"gemini-3.1-pro-preview", "gemini-3.5-flash", "gemini-4-argon", "gemma-4-31b-it",
}

// TestSDKSendsTheSame compares the body of every kind of request with Google's SDK: its types know
// each field, and encode the same JSON.
func TestSDKSendsTheSame(t *testing.T) {
	sdk := newSDK(t)
	sign := func(p llm.Part) llm.Part {
		if p.Kind != llm.Media {
			p.State = json.RawMessage(`"c2lnbmF0dXJl"`)
		}
		return p
	}
	for _, model := range oracleModels {
		m := gemini.New(gemini.Options{Provider: "mock", Model: model})
		for name, req := range adaptertest.Requests(m.Origin(), sign) {
			body, err := m.Body(req)
			if err != nil {
				t.Fatal(model, name, err)
			}
			sdk.check(t, model+"/"+name, body)
		}
	}
	golden, err := filepath.Glob("testdata/*.json")
	if err != nil || len(golden) == 0 {
		t.Fatal("no requests in testdata", err)
	}
	for _, file := range golden {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sdk.check(t, file, body)
	}
	differs.CheckUsed(t)
}

// TestSDKTakesWhatIsSent compares the bodies of whole conversations with Google's SDK.
func TestSDKTakesWhatIsSent(t *testing.T) {
	sdk := newSDK(t)
	watched := func(t *testing.T, base string, o gemini.Options) *gemini.Model {
		client := wire.Client(wire.Options{Provider: "mock", URL: base})
		t.Cleanup(client.CloseIdleConnections)
		adaptertest.Watch(client, func(body []byte) { sdk.check(t, t.Name(), body) })
		o.Provider, o.BaseURL, o.Key, o.HTTP = "mock", base+"/v1beta", "test-key", client
		return gemini.New(o)
	}
	for _, model := range []string{"gemini-3.1-pro-preview", "gemini-2.5-flash"} {
		w := geminiWire(model, llm.Call)
		w.Open = func(t *testing.T, base string) llm.Model { return watched(t, base, gemini.Options{Model: model}) }
		t.Run(model, func(t *testing.T) { adaptertest.Suite(t, w) })
	}
	t.Run("recordings", adaptertest.Replay{
		Kinds: "gemini",
		Open: func(t *testing.T, base string, r adaptertest.Recording) adaptertest.Adapter {
			return watched(t, base, gemini.Options{Model: r.Model, NoStream: r.Mode == "json"})
		},
		Coarse: map[llm.Fault]llm.Fault{llm.Permission: llm.Authentication},
	}.Run)
}

// An sdk is Google's SDK on a network that records the request and sends no answer.
type sdk struct {
	*genai.Client
	sent []byte
}

func newSDK(t *testing.T) *sdk {
	t.Helper()
	s := &sdk{}
	client, err := genai.NewClient(t.Context(), &genai.ClientConfig{
		APIKey: "test-key", Backend: genai.BackendGeminiAPI, HTTPClient: &http.Client{Transport: s},
		HTTPOptions: genai.HTTPOptions{BaseURL: "http://mock.invalid"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Client = client
	return s
}

func (s *sdk) RoundTrip(req *http.Request) (res *http.Response, err error) {
	s.sent, err = io.ReadAll(req.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, err
}

// check decodes a body with the SDK's types, which must know all fields, and makes the SDK send it
// again.
func (s *sdk) check(t *testing.T, name string, body []byte) {
	t.Helper()
	// The documented stand-in for a signature is not base64, unlike real signatures.
	body = bytes.ReplaceAll(body, []byte(`"skip_thought_signature_validator"`), []byte(`"c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="`))
	var outer map[string]json.RawMessage
	if err := json.Unmarshal(body, &outer); err != nil {
		t.Fatal(name, err)
	}
	var contents []*genai.Content
	strict(t, name, outer["contents"], &contents)
	// The SDK has one type for the fields beside the contents, at two levels.
	generation := map[string]json.RawMessage{}
	if raw := outer["generationConfig"]; raw != nil {
		strict(t, name, raw, &genai.GenerationConfig{})
		strict(t, name, raw, &generation)
	}
	delete(outer, "contents")
	delete(outer, "generationConfig")
	for field, value := range generation {
		outer[field] = value
	}
	flat, err := json.Marshal(outer)
	if err != nil {
		t.Fatal(name, err)
	}
	var config genai.GenerateContentConfig
	strict(t, name, flat, &config)
	if _, err := s.Models.GenerateContent(t.Context(), "models/m", contents, &config); err != nil {
		t.Errorf("%s: %v\n%s", name, err, body)
		return
	}
	for _, d := range adaptertest.Differences(body, s.sent) {
		if !differs.Allow(d) {
			t.Errorf("%s: %s is %v, the SDK sends %v", name, d.Path, d.Want, d.Got)
		}
	}
}

// strict decodes JSON; v must have all its fields.
func strict(t *testing.T, name string, data []byte, v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		t.Errorf("%s: %v in %s", name, err, data)
	}
}
