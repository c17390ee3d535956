package image

import (
	"errors"
	"iter"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
)

// TestImages checks all output formats for images, and that they contain nothing else.
func TestImages(t *testing.T) {
	image := works.ImageEvent{Image: &works.Blob{MIME: "image/png", Data: []byte{1}}}
	refused := works.ImageEvent{Refused: &works.Refusal{Stage: "output", Code: "moderation", Text: "No."}}
	done := works.ImageEvent{Done: &works.Bill{Images: 1, USD: 0.04, Priced: true, Reported: true}}
	const saved = `{"file":"a.png","mime":"image/png","bytes":1,"width":2,"height":3}`
	for _, tt := range []struct {
		name   string
		events []works.ImageEvent
		fails  error
		out    map[string]string // by format
		err    string            // in text format
		status int
	}{
		{"one image", []works.ImageEvent{image, done}, nil, map[string]string{
			"text": "a.png\n",
			"json": `{"model":"m","images":[` + saved + `],"usage":{"images":1,"input_tokens":0,"output_tokens":0,"cost_usd":0.04,"cost_exact":true},"finish_reason":"stop","exit":0}` + "\n",
			"jsonl": `{"type":"start","model":"m"}
{"type":"image",` + saved[1:] + `
{"type":"usage","images":1,"input_tokens":0,"output_tokens":0,"cost_usd":0.04,"cost_exact":true}
{"type":"done","finish_reason":"stop","exit":0}
`,
		}, "m · 1 image · $0.04\n", exit.OK},
		{"one that is refused, with words and a note", []works.ImageEvent{{Partial: &works.Blob{Data: []byte{1, 2}}}, {Note: "Smaller."}, {Text: "Sorry."}, refused}, nil, map[string]string{
			"text": "",
			"json": `{"model":"m","images":[],"refused":[{"stage":"output","code":"moderation","text":"No.","billed":false}],"text":"Sorry.","notices":["Smaller."],"finish_reason":"refused","exit":8}` + "\n",
			"jsonl": `{"type":"start","model":"m"}
{"type":"partial","bytes":2}
{"type":"notice","text":"Smaller."}
{"type":"text","text":"Sorry."}
{"type":"refused","stage":"output","code":"moderation","text":"No.","billed":false}
{"type":"done","finish_reason":"refused","exit":8}
`,
		}, "parley: Smaller.\nparley: Sorry.\nparley: m refused: No. (moderation)\n", exit.Incomplete},
		{"fewer than wanted", []works.ImageEvent{{Done: &works.Bill{}}}, nil, map[string]string{
			"text":  "",
			"json":  `{"model":"m","images":[],"finish_reason":"incomplete","exit":8}` + "\n",
			"jsonl": "",
		}, "", exit.Incomplete},
		{"a failure", nil, &llm.Error{Fault: llm.Authentication, Status: 401, Message: "bad key"}, map[string]string{
			"json": "", "jsonl": "", "text": "",
		}, "Authentication failed (401): bad key", exit.Config},
	} {
		for format, want := range tt.out {
			var out, told strings.Builder
			p := &report{Streams: cmdutil.Streams{Format: format, Out: &out}, model: "m", wanted: 1, err: &told, progress: func(string) {}, save: func(b works.Blob) (savedImage, error) {
				return savedImage{Path: "a.png", MIME: b.MIME, Width: 2, Height: 3, Bytes: len(b.Data)}, nil
			}}
			var events iter.Seq2[works.ImageEvent, error] = func(yield func(works.ImageEvent, error) bool) {
				for _, e := range tt.events {
					if !yield(e, nil) {
						return
					}
				}
				if tt.fails != nil {
					yield(works.ImageEvent{}, tt.fails)
				}
			}
			status := p.run(events)
			if status != tt.status || want != "" && out.String() != want || format == "text" && !strings.Contains(told.String(), tt.err) {
				t.Errorf("%s, %s: status %d, out %s, err %s\nwant %d, %s, %s", tt.name, format, status, out.String(), told.String(), tt.status, want, tt.err)
			}
		}
	}
}

// The end of a report in words: refusals, bills, and errors with their status.
func TestImagesInWords(t *testing.T) {
	refused := func(text, code string) works.ImageEvent {
		return works.ImageEvent{Refused: &works.Refusal{Text: text, Code: code}}
	}
	bill := func(b works.Bill) works.ImageEvent { return works.ImageEvent{Done: &b} }
	for _, tt := range []struct {
		event  works.ImageEvent
		fails  error
		told   string
		status int
	}{
		{refused(" ", ""), nil, "parley: m refused: no reason given\n", exit.Incomplete},
		{refused("", "nsfw"), nil, "parley: m refused: nsfw\n", exit.Incomplete},
		{refused("No: nsfw.", "nsfw"), nil, "parley: m refused: No: nsfw.\n", exit.Incomplete},
		{refused("No.\x1b", ""), nil, "parley: m refused: No.␛\n", exit.Incomplete},
		{bill(works.Bill{Priced: true, Tokens: 1}), nil, "m · 1 in · free\n", exit.Incomplete},
		{bill(works.Bill{Priced: true, USD: 0.5, Output: 2}), nil, "m · 2 out · about $0.50\n", exit.Incomplete},
		{bill(works.Bill{Images: 2}), nil, "m · 2 images · price unknown\n", exit.Incomplete},
		{works.ImageEvent{Note: "a"}, &llm.Error{Fault: llm.Server, Status: 500}, "parley: a\nparley: Server error (500)\n", exit.Failed},
		{works.ImageEvent{Note: "a"}, &llm.Error{Fault: llm.Unsupported}, "parley: a\nparley: ", exit.Usage},
		{works.ImageEvent{Note: "a"}, &llm.Error{Fault: llm.InvalidRequest}, "parley: a\nparley: ", exit.Usage},
		{works.ImageEvent{Note: "a"}, &llm.Error{Fault: llm.InvalidRequest, Status: 400}, "parley: a\nparley: ", exit.Failed},
		{works.ImageEvent{Image: &works.Blob{}}, &llm.Error{Fault: llm.Server, Status: 500}, "parley: Server error (500)\n", exit.Failed},
	} {
		for _, quiet := range []bool{false, true} {
			var out, told strings.Builder
			cleared := 0
			p := &report{Streams: cmdutil.Streams{Format: "text", Out: &out, Quiet: quiet}, model: "m", wanted: 1, err: &told, progress: func(string) { cleared++ },
				save: func(works.Blob) (savedImage, error) { return savedImage{Note: tt.event.Note}, nil }}
			status := p.run(func(yield func(works.ImageEvent, error) bool) {
				if yield(tt.event, nil) && tt.fails != nil {
					yield(works.ImageEvent{}, tt.fails)
				}
			})
			want := tt.told
			if quiet {
				want = strings.TrimPrefix(want, "parley: a\n")
			}
			if quiet && tt.event.Done != nil {
				want = ""
			}
			mayCost := status == exit.Failed && tt.event.Note != "" && tt.fails.(*llm.Error).Fault == llm.Server
			if status != tt.status || !strings.HasPrefix(told.String(), want) || want == "" && told.Len() > 0 || strings.HasSuffix(told.String(), "  The provider may still charge for it\n") != mayCost || out.Len() > 0 || cleared == 0 {
				t.Errorf("%+v, %v, quiet %v: got %d, %q, want %d, %q", tt.event, tt.fails, quiet, status, told.String(), tt.status, want)
			}
		}
	}
}

// TestImagesNotSaved: an image that was paid for and cannot be saved is an error, in every format.
func TestImagesNotSaved(t *testing.T) {
	for _, format := range []string{"text", "json", "jsonl"} {
		var out, told strings.Builder
		p := &report{Streams: cmdutil.Streams{Format: format, Out: &out}, model: "m", wanted: 1, err: &told, progress: func(string) {}, save: func(works.Blob) (savedImage, error) {
			return savedImage{}, errors.New("the disk is full")
		}}
		status := p.run(func(yield func(works.ImageEvent, error) bool) {
			_ = yield(works.ImageEvent{Image: &works.Blob{Data: []byte{1}}}, nil) && yield(works.ImageEvent{Done: &works.Bill{Images: 1}}, nil)
		})
		if status != exit.Failed || p.bill.Images != 1 || !strings.Contains(out.String()+told.String(), "the disk is full") {
			t.Errorf("%s: status %d, bill %+v, %s%s", format, status, p.bill, out.String(), told.String())
		}
	}
}

// In a terminal, the image follows the name of its file, after the progress is cleared.
func TestImageInATerminal(t *testing.T) {
	for format, want := range map[string]string{"text": "[]a.png\n<1>", "json": "[]{", "jsonl": "{"} {
		var out strings.Builder
		p := &report{Streams: cmdutil.Streams{Format: format, Out: &out}, wanted: 1, err: &out, progress: func(text string) { out.WriteString("[" + text + "]") },
			save:    func(works.Blob) (savedImage, error) { return savedImage{Path: "a.png"}, nil },
			picture: func(b works.Blob) string { return "<" + string(b.Data) + ">" }}
		p.run(func(yield func(works.ImageEvent, error) bool) {
			yield(works.ImageEvent{Image: &works.Blob{Data: []byte("1")}}, nil)
		})
		if got := out.String(); !strings.HasPrefix(got, want) || format != "text" && strings.Contains(got, "<") || strings.Contains(got, "width") {
			t.Errorf("%s: %q", format, got)
		}
	}
}
