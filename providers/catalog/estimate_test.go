package catalog

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Token counts of tokenizers from 2024 to 2026; where they differ widely, roughly the middle.
func TestEstimate(t *testing.T) {
	for _, tt := range []struct {
		name, text  string
		least, most int
	}{
		{"nothing", "", 0, 0},
		{"a word", "hello", 1, 2},
		{"a sentence", "The quick brown fox jumps over the lazy dog.", 9, 12},
		{"long words", "internationalization and misunderstandings", 4, 8},
		{"contractions", "I don't know, we'll see", 6, 9},
		{"German", "Die Würde des Menschen ist unantastbar.", 8, 14},
		{"Chinese", "你好，世界！今天天气怎么样？", 9, 16},
		{"Japanese", "こんにちは、元気ですか。", 6, 13},
		{"Korean", "안녕하세요 세계", 4, 8},
		{"Russian", "Привет, как дела?", 4, 8},
		{"Arabic", "مرحبا كيف حالك", 4, 9},
		{"emoji", "👍🎉", 2, 6},
		{"a number", "1234567890", 3, 6},
		{"Go", "func (s *Session) Model() llm.Endpoint {\n\ts.mu.Lock()\n\tdefer s.mu.Unlock()\n\treturn s.model\n}\n", 28, 44},
		{"JSON", `{"name":"read","arguments":{"path":"a.txt","limit":100}}`, 14, 24},
		{"indentation", "    if x {\n        return\n    }\n", 6, 12},
		{"base64", "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", 30, 50},
		{"a hash", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", 28, 50},
		{"a path of words", "parley/providers/catalog/estimate/something", 7, 12},
		{"invalid bytes", "\xff\xfe\x00", 1, 8},
	} {
		if got := Estimate(tt.text); got < tt.least || got > tt.most {
			t.Errorf("%s: %d tokens, want %d to %d", tt.name, got, tt.least, tt.most)
		}
	}
}

// More text never has fewer tokens.
func FuzzEstimate(f *testing.F) {
	f.Add("a word and 中文", "more\n\tx := 12")
	f.Add("aGVsbG8gd29ybGQgaGVsbG8=", "\xff'")
	f.Fuzz(func(t *testing.T, a, b string) {
		one, both := Estimate(a+"\n"), Estimate(a+"\n"+b)
		if one < 0 || both < one || both > 3*(len(a)+len(b))+2 {
			t.Errorf("%q: %d tokens, with %q behind it %d", a, one, b, both)
		}
	})
}

// The recordings contain the token counts of real answers and prompts. Vendors add text before
// prompts, so for prompts the growth between requests of a conversation is compared.
func TestEstimateOnRecordings(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/wire/*/*/meta.json")
	if len(files) == 0 {
		t.Skip("there are no recordings at ../shared/wire")
	}
	var answers, prompts sample
	for _, file := range files {
		r := recordingOf(t, filepath.Dir(file))
		if r.Synthetic || r.remote() {
			continue
		}
		before, rough, asked := 0, 0, 0
		for i, x := range r.Exchanges {
			if i >= len(r.Responses) {
				break
			}
			got := r.Responses[i]
			if said := got.Usage.Output - got.Usage.Reasoning; len(got.Text) > 150 && got.Thinking == "" && len(got.Calls) == 0 {
				answers.add(Estimate(got.Text), len(got.Text)/4, said)
			}
			text := r.prompt(t, x.Request)
			if text == "" || got.Usage.Input == 0 {
				continue
			}
			marks := strings.Count(text, messageMark)
			text = strings.ReplaceAll(text, messageMark, "")
			now, quarter := Estimate(text)+perMessage*marks, len(text)/4
			if before > 0 {
				prompts.add(now-before, quarter-rough, got.Usage.Input-asked)
			}
			before, rough, asked = now, quarter, got.Usage.Input
		}
	}
	for _, s := range []struct {
		what string
		sample
		most float64
	}{{"answers", answers, 0.15}, {"what a request adds to a prompt", prompts, 0.4}} {
		got, quarter := s.median()
		t.Logf("%s: %d recordings, half of them within %.0f%% (a quarter of the length: %.0f%%), in sum %+.0f%%", s.what, len(s.errors), 100*got, 100*quarter, 100*s.bias())
		if len(s.errors) == 0 || got > s.most {
			t.Errorf("%s: median error %.2f of %d, want at most %.2f", s.what, got, len(s.errors), s.most)
		}
	}
}

// A sample holds relative errors.
type sample struct {
	errors, rough []float64
	sum, want     int
}

func (s *sample) add(got, rough, want int) {
	if want <= 0 {
		return
	}
	s.errors = append(s.errors, math.Abs(float64(got-want))/float64(want))
	s.rough = append(s.rough, math.Abs(float64(rough-want))/float64(want))
	s.sum, s.want = s.sum+got, s.want+want
}

func (s *sample) median() (got, rough float64) {
	slices.Sort(s.errors)
	slices.Sort(s.rough)
	if len(s.errors) == 0 {
		return 0, 0
	}
	return s.errors[len(s.errors)/2], s.rough[len(s.rough)/2]
}

func (s *sample) bias() float64 { return float64(s.sum-s.want) / float64(max(1, s.want)) }

type recording struct {
	dir       string
	Synthetic bool
	Tags      []string
	Exchanges []struct{ Request string }
	Responses []struct {
		Text, Thinking string
		Calls          []any `json:"tool_calls"`
		Usage          struct{ Input, Output, Reasoning int }
	}
}

func recordingOf(t *testing.T, dir string) recording {
	t.Helper()
	r := recording{dir: dir}
	for _, name := range []string{"meta.json", "expected.json"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &r); err != nil {
			t.Fatalf("%s/%s: %v", dir, name, err)
		}
	}
	return r
}

// remote reports whether the provider ran tools, whose text is not recorded, or received an image.
func (r recording) remote() bool {
	for _, word := range []string{"web", "computer-use", "code-interpreter", "image", "fetch"} {
		if strings.Contains(filepath.Base(r.dir), word) {
			return true
		}
	}
	return false
}

// prompt returns the text of a request that the model reads, without the syntax and opaque strings
// around it.
func (r recording) prompt(t *testing.T, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	text, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	var body map[string]any
	if json.Unmarshal(text, &body) != nil {
		return ""
	}
	var b strings.Builder
	for _, field := range []string{"system", "systemInstruction", "instructions", "messages", "contents", "input"} {
		spoken(&b, body[field])
	}
	return b.String()
}

// silent lists members of messages that no model reads.
var silent = []string{"id", "call_id", "tool_call_id", "tool_use_id", "signature", "thoughtSignature", "encrypted_content", "type", "status", "cache_control", "reasoning_details", "index", "data"}

// messageMark precedes each message, call and result.
const messageMark = "\x00"

// perMessage is the approximate number of tokens of each of these besides its text: chat template, role,
// ids.
const perMessage = 10

// spoken writes the strings in v, one per line, and arguments that are objects as JSON. The mark of
// a message adds a word or two.
func spoken(b *strings.Builder, v any) {
	switch v := v.(type) {
	case string:
		b.WriteString(v + "\n")
	case []any:
		for _, item := range v {
			spoken(b, item)
		}
	case map[string]any:
		if kind, _ := v["type"].(string); v["role"] != nil || strings.Contains(kind, "tool_") || strings.HasPrefix(kind, "function") || v["functionCall"] != nil || v["functionResponse"] != nil {
			b.WriteString(messageMark)
		}
		for name, value := range v {
			object, isObject := value.(map[string]any)
			switch {
			case slices.Contains(silent, name):
			case isObject && (name == "args" || name == "input" || name == "response"):
				text, _ := json.Marshal(object)
				b.WriteString(string(text) + "\n")
			default:
				spoken(b, value)
			}
		}
	}
}
