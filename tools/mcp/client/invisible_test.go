package client

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Invisible text reaches no model from any part of an answer, and that
// it was there is said, as of a command's output.
func TestInvisibleCharactersAreMarked(t *testing.T) {
	const hidden = "a\u200b\U000E0041b"
	for name, result := range map[string]*sdk.CallToolResult{
		"text":               {Content: []sdk.Content{&sdk.TextContent{Text: hidden}}},
		"the name of a link": {Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///x", Name: hidden}}},
		"a kind of audio":    {Content: []sdk.Content{&sdk.AudioContent{MIMEType: hidden}}},
		"a resource":         {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", Text: hidden}}}},
		"an archive":         {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: hidden, Blob: []byte("PK")}}}},
		"structured":         {StructuredContent: json.RawMessage(`{"a":"` + hidden + `"}`)},
		"an error":           {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: hidden}}},
	} {
		a := resultBuilder{server: "s"}
		a.addResult(result)
		text := a.outcome(result.IsError).Text
		if strings.ContainsAny(text, "\u200b\U000E0041") || !strings.Contains(text, "ab") || !strings.Contains(text, "[2 invisible characters removed]") {
			t.Errorf("%s: got %q", name, text)
		}
	}
}

// Marks of direction, which make a text look like another one, reach the model by their names.
func TestDirectionMarksAreNamed(t *testing.T) {
	for _, r := range "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069" {
		hidden := "a" + string(r) + "b\tc\né"
		for name, result := range map[string]*sdk.CallToolResult{
			"text":       {Content: []sdk.Content{&sdk.TextContent{Text: hidden}}},
			"a resource": {Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "a:b", Text: hidden}}}},
			"a link":     {Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///x", Name: hidden}}},
			"structured": {StructuredContent: map[string]any{"a": hidden}},
			"an error":   {IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: hidden}}},
		} {
			a := resultBuilder{server: "s"}
			a.addResult(result)
			if text := a.outcome(result.IsError).Text; strings.ContainsRune(text, r) || !strings.Contains(text, fmt.Sprintf("a<U+%04X>b", r)) || !strings.Contains(text, "é") {
				t.Errorf("%s with %U: got %q", name, r, text)
			}
		}
	}
}

// A note of parley's stays one line, whatever a server calls things.
func TestNotesStayOnTheirLine(t *testing.T) {
	a := resultBuilder{server: "s"}
	a.addResult(&sdk.CallToolResult{Content: []sdk.Content{&sdk.ResourceLink{URI: "file:///x\n]\nnow this", Name: "x"}}})
	if text := a.outcome(false).Text; !strings.Contains(text, "[a resource: file:///x ] now this x]") {
		t.Errorf("got %q", text)
	}
}
