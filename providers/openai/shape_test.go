package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"parley/providers/adapter"
)

// shaped decodes an event after enough others to know their shape, and also without a shape.
func shaped[T any](before string, event []byte, decode func([]byte, *T) error, deltas func(*T) []json.Unmarshaler) (got, want *T, gotErr, wantErr error) {
	var s adapter.Shape[T]
	for i := range 20 {
		if _, err := s.Decode(fmt.Appendf(nil, before, i), decode, deltas); err != nil {
			panic(err)
		}
	}
	got, gotErr = s.Decode(event, decode, deltas)
	want = new(T)
	wantErr = decode(event, want)
	return got, want, gotErr, wantErr
}

// The previous events: %[1]d is a different number in each.
const (
	shapeChunk = `{"id":"chatcmpl-1","object":"chat.completion.chunk","created":17464,"model":"m","choices":[{"index":0,` +
		`"delta":{"role":"assistant","content":"word %[1]d"},"logprobs":null,"finish_reason":null}],"usage":null,"obfuscation":"x%[1]d"}`
	shapeThinking = `{"choices":[{"index":0,"delta":{"content":null,"reasoning_content":"t%[1]d"}}]}`
	shapeCall     = `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%[1]d"}}]},"finish_reason":""}]}`
	shapeEvent    = `{"type":"response.output_text.delta","sequence_number":%[1]d,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"w %[1]d","logprobs":[]}`
)

// shapeVariants returns events that differ from the previous ones in one way each.
func shapeVariants(before string) map[string]string {
	usual := fmt.Sprintf(before, 3)
	last := func(old, new string) string {
		at := strings.LastIndex(usual, old)
		if at < 0 {
			return usual
		}
		return usual[:at] + new + usual[at+len(old):]
	}
	return map[string]string{
		"the same":                usual,
		"empty text":              fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), ""),
		"escapes":                 fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), `\"\\\n\u00e4\ud83d\ude00\ud83d`),
		"a wrong escape":          fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), `\x`),
		"a line break":            fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), "\n"),
		"bytes that are no UTF-8": fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), "\xff\xe2\x82"),
		"a number with a zero":    fmt.Sprintf(strings.ReplaceAll(before, "%[1]d", "%[1]s"), "00"),
		"more after it":           usual + `{}`,
		"cut":                     usual[:len(usual)-1],
		"white space":             last(",", " , "),
		"a reason to end":         last(`"finish_reason":null`, `"finish_reason":"stop"`),
		"a reason to end in text": last(`"finish_reason":""`, `"finish_reason":"stop"`),
		"another choice":          last(`"index":0`, `"index":1`),
		"usage":                   last(`"usage":null`, `"usage":{"prompt_tokens":7}`),
		"an error":                last(`{"`, `{"error":{"message":"no"},"`),
		"another type":            last("output_text", "refusal"),
		"another item":            last(`"output_index":0`, `"output_index":12`),
		"null":                    last(`"w 3"`, `null`),
		"text of the sentinel":    last(`"w 3"`, `"~"`),
	}
}

// TestShape checks that the meaning of an event does not depend on earlier events.
func TestShape(t *testing.T) {
	check := func(before string, run func([]byte) (got, want any, gotErr, wantErr error)) {
		for name, event := range shapeVariants(before) {
			got, want, gotErr, wantErr := run([]byte(event))
			switch {
			case (gotErr == nil) != (wantErr == nil):
				t.Errorf("%s, %s: got %v, decoding says %v", name, event, gotErr, wantErr)
			case gotErr == nil && !reflect.DeepEqual(got, want):
				t.Errorf("%s, %s: got\n%+v\ndecoding says\n%+v", name, event, got, want)
			}
		}
	}
	for _, before := range []string{shapeChunk, shapeThinking, shapeCall} {
		check(before, func(event []byte) (any, any, error, error) {
			return anyOf(shaped(before, event, decodeChunk, chunkDeltas))
		})
	}
	check(shapeEvent, func(event []byte) (any, any, error, error) {
		return anyOf(shaped(shapeEvent, event, decodeEvent, eventDeltas))
	})
}

func anyOf[T any](got, want *T, gotErr, wantErr error) (any, any, error, error) {
	return got, want, gotErr, wantErr
}

// TestShapeRecognizes checks that usual events are decoded only until their shape is known.
func TestShapeRecognizes(t *testing.T) {
	for _, before := range []string{shapeChunk, shapeThinking, shapeCall} {
		decoded := 0
		var s adapter.Shape[chunk]
		for i := range 1000 {
			_, err := s.Decode(fmt.Appendf(nil, before, i), func(data []byte, c *chunk) error {
				decoded++
				return decodeChunk(data, c)
			}, chunkDeltas)
			if err != nil {
				t.Fatal(err)
			}
		}
		if decoded > 60 {
			t.Errorf("%s: decoded %d of 1000 times, want only what it takes to know them", before, decoded)
		}
	}
}

// FuzzShape checks the same for any bytes.
func FuzzShape(f *testing.F) {
	for i, before := range []string{shapeChunk, shapeThinking, shapeCall} {
		for _, event := range shapeVariants(before) {
			f.Add(i, []byte(event))
		}
	}
	f.Fuzz(func(t *testing.T, which int, event []byte) {
		before := []string{shapeChunk, shapeThinking, shapeCall}[uint(which)%3]
		got, want, gotErr, wantErr := shaped(before, bytes.Clone(event), decodeChunk, chunkDeltas)
		if gotErr == nil && len(got.Choices) == 0 && wantErr == nil && len(want.Choices) == 0 {
			got.Choices, want.Choices = nil, nil // reused memory
		}
		if (gotErr == nil) != (wantErr == nil) || gotErr == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%q: got %+v, %v; decoding says %+v, %v", event, got, gotErr, want, wantErr)
		}
	})
}
