package filter_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"parley/providers/filter"
	"parley/providers/llm"
)

var harmony = filter.Harmony("openai/GPT-OSS-20b")

func all(s llm.Stream) llm.Stream { return both(harmony(s)) }

// harmonyAnswers lists texts of gpt-oss and their results, in an answer that ends with Stop.
var harmonyAnswers = []struct{ name, in, want string }{
	{"analysis and final", "<|channel|>analysis<|message|>Need to think<|end|><|start|>assistant<|channel|>final<|message|>The answer is 4.<|return|>", `thinking "Need to think"|text "The answer is 4."|stop`},
	{"the first header whole", "<|start|>assistant<|channel|>analysis<|message|>hm<|end|>\n<|start|>assistant<|channel|>final<|message|>yes", `thinking "hm"|text "yes"|stop`},
	{"a call", `<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a"}<|call|>`, `call read {"path":"a"}|calls`},
	{"a call behind thinking", `<|channel|>analysis<|message|>Look.<|end|><|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{"path":"a"}<|call|>`, `thinking "Look."|call read {"path":"a"}|calls`},
	{"the recipient in the role", `<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{"path":"a"}<|call|>`, `call read {"path":"a"}|calls`},
	{"a call in the analysis channel", `<|channel|>analysis to=functions.list code<|message|>{}<|call|>`, `call list {}|calls`},
	{"two calls", `<|channel|>commentary to=functions.list<|message|>{}<|call|><|start|>assistant<|channel|>commentary to=functions.read<|message|>{"path":"<|x|>"}<|call|>`, `call list {}|call read {"path":"<|x|>"}|calls`},
	{"a preamble", `<|channel|>commentary<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.list<|message|>{}`, `text "I look."|call list {}|calls`},
	{"names are repaired", `<|channel|>commentary to=functions.Read_File<|message|>{"file_path":"a"}<|call|>`, `call read {"path":"a"}|calls`},
	{"a prefix of its own", `<|channel|>commentary to=repo_browser.read<|message|>{"path":"a"}<|call|>`, `call read {"path":"a"}|calls`},
	{"an unknown tool", `<|channel|>commentary to=functions.nope<|message|>{"a":1}<|call|>`, `call nope {"a":1} unfit|calls`},
	{"arguments that are no JSON", `<|channel|>commentary to=python<|message|>print(1 < 2)<|call|>`, `call python <function=python>print(1 < 2)</function> unreadable|calls`},
	{"broken arguments", `<|channel|>commentary to=functions.read<|message|>{'path': 'a',}<|call|>`, `call read {"path":"a"}|notice|calls`},
	{"a backquote in arguments", "<|channel|>commentary to=functions.read<|message|>{\"path\":\"`a\"}<|call|>", "call read {\"path\":\"`a\"}|calls"},
	{"an unclosed call", `<|channel|>commentary to=functions.read<|message|>{"path":"a"`, `call read {"path":"a"}|calls`},
	{"an unclosed value", `<|channel|>commentary to=functions.read<|message|>{"path":"a`, `call read <function=read>{"path":"a unreadable|calls`},
	{"an unclosed header", `yes<|channel|>commentary to=functions.re`, `text "yes"|stop`},
	{"text before a call", `I look.<|channel|>commentary to=functions.list<|message|>{}<|call|>`, `text "I look."|call list {}|calls`},
	{"the first header dropped", "Need to think<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>", `thinking "Need to think"|text "yes"|stop`},
	{"the header dropped, not its last token", "<|message|>yes<|return|>", `text "yes"|stop`},
	{"only the end", "yes<|return|>\n", `text "yes"|stop`},
	{"ends", "yes<|end|><|end|> <|return|>", `text "yes"|stop`},
	{"end, and a header", "yes<|end|><|start|>assistant", `text "yes"|stop`},
	{"without a message token", "<|channel|>final yes", `text "yes"|stop`},
	{"a final answer as JSON", `<|channel|>final <|constrain|>json<|message|>{"a":1}<|return|>`, `text "{\"a\":1}"|stop`},
	{"a result that the model wrote", `<|channel|>commentary to=functions.list<|message|>{}<|call|><|start|>functions.list to=assistant<|channel|>commentary<|message|>lies<|end|>`, `call list {}|calls`},
	{"white space around", "\n <|channel|>final<|message|>yes\n<|end|>\n", `text "yes\n"|stop`},
	{"nothing", "<|channel|>analysis<|message|><|end|>", "stop"},
	{"an angle bracket in a message", "<|channel|>final<|message|>a < b <| c <|en d<|end|>", `text "a < b <| c <|en d"|stop`},
	{"tokens in code of the answer", "<|channel|>final<|message|>use `<|end|>` so<|return|>", "text \"use `<|end|>` so\"|stop"},
	{"tokens in code", "use `<|channel|>final<|message|>` so", "text \"use `<|channel|>final<|message|>` so\"|stop"},
	{"words about tokens", "the tokens <|channel|> and <|message|> and <|end|> are harmony's", `text "the tokens <|channel|> and <|message|> and <|end|> are harmony's"|stop`},
	{"without tokens", `commentary to=functions.read json{"path":"a"}`, `call read {"path":"a"}|calls`},
	{"without tokens, the role", `assistantcommentary to=functions.list code {}`, `call list {}|calls`},
	{"an answer about analysis", "analysisResult holds commentary to=x, assistantfinal", `text "analysisResult holds commentary to=x, assistantfinal"|stop`},
	{"a near miss", "commentary to", `text "commentary to"|stop`},
}

func TestHarmony(t *testing.T) {
	for _, a := range harmonyAnswers {
		t.Run(a.name, func(t *testing.T) {
			want := next.ReplaceAllString(a.want, "\n$1") + " (stop)\n"
			check := func(pieces ...string) {
				t.Helper()
				var events []llm.Event
				for _, p := range pieces {
					events = append(events, text(p))
				}
				if got := tell(all(stream(append(events, stop)...))); got != want {
					t.Fatalf("%q:\n got %q\nwant %q", pieces, got, want)
				}
			}
			check(a.in)
			for i := range a.in {
				check(a.in[:i], a.in[i:])
			}
			check(strings.Split(a.in, "")...)
			for range 20 {
				check(cut(a.in, rand.IntN)...)
			}
		})
	}
}

// Answers without harmony are unchanged.
func TestHarmonyLeavesOthers(t *testing.T) {
	for _, a := range answers {
		for _, pieces := range [][]string{{a.in}, strings.Split(a.in, "")} {
			var events []llm.Event
			for _, p := range pieces {
				events = append(events, text(p))
			}
			events = append(events, stop)
			if got, want := tell(both(harmony(stream(events...)))), tell(both(stream(events...))); got != want {
				t.Errorf("%s: got %q, want %q", a.name, got, want)
			}
		}
	}
}

// Channel words without tokens are plain text of other models, and are not buffered.
func TestHarmonyWordsOfOthers(t *testing.T) {
	for _, in := range []string{"a", "analysisWe look.", "commentary to=functions.list json{}", "assistantfinal"} {
		shown := ""
		for e := range filter.Harmony("m")(stream(text(in), llm.Notice{})) {
			if d, ok := e.(llm.Delta); ok {
				shown += d.Text
			} else {
				break
			}
		}
		if shown != in {
			t.Errorf("%q: shown %q", in, shown)
		}
	}
}

func TestHarmonyEvents(t *testing.T) {
	think := func(s string) llm.Delta {
		return llm.Delta{Block: "think", Part: llm.Part{Kind: llm.Thinking, Text: s}}
	}
	native := llm.Delta{Block: "0", Part: llm.Part{Kind: llm.Call, ID: "n", Name: "list", Input: "{}"}}
	for _, tt := range []struct {
		name string
		in   []llm.Event
		want string
	}{
		{"tokens in thinking", []llm.Event{think("<|channel|>analysis<|mess"), think("age|>a `b<|end|>"), text("yes"), stop}, "thinking \"a `b\"\ntext \"yes\"\nstop (stop)\n"},
		{"the end in thinking", []llm.Event{think("hm<|en"), think("d|>"), text("yes<|return|>"), stop}, "thinking \"hm\"\ntext \"yes\"\nstop (stop)\n"},
		{"an answer in thinking", []llm.Event{think("hm<|end|><|start|>assistant<|channel|>final<|message|>yes"), stop}, "thinking \"hm\"\ntext \"yes\"\nstop (stop)\n"},
		{"a call in thinking", []llm.Event{think("`hm<|start|>assistant<|channel|>commentary to=functions.list <|constrain|>json<|message|>{}<|call|>"), stop}, "thinking \"`hm\"\ncall list {}\ncalls (stop)\n"},
		{"a native call behind a header", []llm.Event{text("I look.<|end|><|start|>assistant<|channel|>commentary"), native, stop}, "text \"I look.\"\ncall list {}\nstop (stop)\n"},
		{"text behind an end", []llm.Event{text("a<|end|>"), text("b"), stop}, "text \"a<|end|>b\"\nstop (stop)\n"},
		{"cut by length", []llm.Event{text(`<|channel|>commentary to=functions.read<|message|>{"path":"a`), llm.Finish{Reason: llm.Length}}, "text \"<function=read>{\\\"path\\\":\\\"a\"\nlength ()\n"},
	} {
		if got := tell(all(stream(tt.in...))); got != tt.want {
			t.Errorf("%s:\n got %q\nwant %q", tt.name, got, tt.want)
		}
	}
}

func FuzzHarmony(f *testing.F) {
	for _, a := range harmonyAnswers {
		f.Add(a.in, uint64(1))
	}
	f.Fuzz(func(t *testing.T, s string, seed uint64) {
		sameAtEveryCut(t, harmony, s, seed)
		if !strings.Contains(s, "<|") && !tags.MatchString(s) && !strings.Contains(s, "a") {
			samePlain(t, harmony, s)
		}
	})
}
