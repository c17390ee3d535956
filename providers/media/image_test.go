package media_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// scriptedImages has the events of each request in turn: an works.ImageEvent, an error, or a note.
type scriptedImages struct {
	answers [][]any
	asked   []works.ImageRequest
}

func (s *scriptedImages) Make(_ context.Context, r works.ImageRequest) iter.Seq2[works.ImageEvent, error] {
	s.asked = append(s.asked, r)
	answer := s.answers[min(len(s.asked), len(s.answers))-1]
	return func(yield func(works.ImageEvent, error) bool) {
		for _, e := range answer {
			ok := false
			switch e := e.(type) {
			case error:
				ok = yield(works.ImageEvent{}, e)
			case string:
				ok = yield(works.ImageEvent{Note: e}, nil)
			case works.ImageEvent:
				ok = yield(e, nil)
			}
			if !ok {
				return
			}
		}
	}
}

// TestImageRetries repeats only requests that created nothing, and says so. It repeats no notes.
func TestImageRetries(t *testing.T) {
	image := works.ImageEvent{Image: &works.Blob{MIME: "image/png"}}
	busy := func(wait time.Duration) error { return &llm.Error{Fault: llm.RateLimit, Status: 429, Wait: wait} }
	const again = "; not drawn yet: trying again in "
	for _, tt := range []struct {
		name    string
		answers [][]any
		want    string
		waited  time.Duration
	}{
		{"at once", [][]any{{"no mask", image}}, "no mask, image", 0},
		{"too busy", [][]any{{"no mask", busy(10 * time.Second)}, {"no mask", image}}, "no mask, rate limit (429)" + again + "10 s, image", 10 * time.Second},
		{"for a minute", [][]any{{busy(time.Minute)}, {image}}, "rate limit (429)" + again + "60 s, image", time.Minute},
		{"for longer", [][]any{{busy(time.Minute + 1)}, {image}}, "error: rate limit (429)", 0},
		{"four times", [][]any{{busy(30 * time.Second)}}, strings.Repeat("rate limit (429)"+again+"30 s, ", 3) + "error: rate limit (429)", 90 * time.Second},
		{"after an image", [][]any{{image, busy(time.Second)}}, "image, error: rate limit (429)", 0},
		{"broken", [][]any{{&llm.Error{Fault: llm.Server, Status: 500}}}, "error: server (500)", 0},
		{"canceled", [][]any{{io.EOF}}, "error: EOF", 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			var got []string
			for e, err := range media.WithRetries(&scriptedImages{answers: tt.answers}, nil).Make(t.Context(), works.ImageRequest{}) {
				switch {
				case err != nil:
					got = append(got, "error: "+err.Error())
				case e.Image != nil:
					got = append(got, "image")
				default:
					got = append(got, e.Note)
				}
			}
			if strings.Join(got, ", ") != tt.want || time.Since(begun) != tt.waited {
				t.Errorf("%s: got  %q after %v\nwant %q after %v", tt.name, got, time.Since(begun), tt.want, tt.waited)
			}
		})
	}
}

// TestImageRetriesEnd: who stops listening gets nothing more, and an interrupted wait was not charged.
func TestImageRetriesEnd(t *testing.T) {
	busy := []any{"no mask", &llm.Error{Fault: llm.RateLimit, Status: 429}}
	for n := range 2 {
		s, waits := &scriptedImages{answers: [][]any{busy}}, 0
		m := media.WithRetries(s, func(context.Context, time.Duration) error { waits++; return nil })
		heard := 0
		for range m.Make(t.Context(), works.ImageRequest{}) {
			if heard++; heard > n {
				break
			}
		}
		if len(s.asked) != 1 || waits != 0 || heard != n+1 {
			t.Errorf("stopped after event %d: %d requests, %d waits, %d events", n+1, len(s.asked), waits, heard)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	for _, when := range []string{"in the wait", "before"} {
		var last error
		s := &scriptedImages{answers: [][]any{busy}}
		wait := func(context.Context, time.Duration) error { cancel(io.EOF); return io.EOF }
		for _, last = range media.WithRetries(s, wait).Make(ctx, works.ImageRequest{}) {
		}
		if len(s.asked) != 1 || media.MayBePaid(last) || errors.Is(last, io.EOF) != (when == "in the wait") {
			t.Errorf("canceled %s: %d requests, %v, may be paid: %t", when, len(s.asked), last, media.MayBePaid(last))
		}
	}
}

// TestEndpoint: an image model answers a conversation. A request is its texts and images, an answer the parts that
// save returns.
func TestEndpoint(t *testing.T) {
	png := &works.Blob{MIME: "image/png", Data: []byte("a")}
	image, text := works.ImageEvent{Image: png}, llm.Part{Kind: llm.Text, Text: "A fox"}
	saves := func(p llm.Part, notice string, err error) media.SaveImage {
		return func(string, works.Blob) (llm.Part, string, error) { return p, notice, err }
	}
	saved := saves(llm.Part{Kind: llm.Media, MIME: "image/png", Name: "a.png"}, "", nil)
	for _, tt := range []struct {
		name   string
		events []any
		save   media.SaveImage
		want   string
	}{
		{"images", []any{works.ImageEvent{Partial: png}, image, works.ImageEvent{Partial: png}, image, works.ImageEvent{Done: &works.Bill{Tokens: 3, USD: 0.5, Priced: true}}}, saved,
			"preview image0 a, image0 a.png generated, preview image1 a, image1 a.png generated, usage 3 $0.5, finish stop"},
		{"a free one", []any{"no mask", image, works.ImageEvent{Text: "Here."}, works.ImageEvent{Done: &works.Bill{}}}, saved, `note "no mask", image0 a.png generated, text Here., finish stop`},
		{"one with a notice", []any{image}, saves(llm.Part{Kind: llm.Media, Name: "a.png"}, "Saved", nil), `image0 a.png generated, note "Saved", finish stop`},
		{"one that no model takes", []any{image}, saves(llm.Part{Kind: llm.Text, Text: "[a.avif]"}, "", nil), "image0 [a.avif], finish stop"},
		{"one that is not saved", []any{image}, saves(llm.Part{Kind: llm.Media, Name: "a.png"}, "", io.EOF), `urgent "The image is not saved: EOF", image0 a.png generated, finish stop`},
		{"one that is lost", []any{image}, saves(llm.Part{}, "", io.EOF), `urgent "The image is not saved: EOF", image0 [an image that was not saved], finish stop`},
		{"refused", []any{works.ImageEvent{Refused: &works.Refusal{Code: "blocked", Text: "no foxes"}}}, saved, `urgent "The provider refused: no foxes", finish refused blocked`},
		{"refused without a word", []any{works.ImageEvent{Refused: &works.Refusal{}}}, saved, `urgent "The provider refused:", finish refused`},
		{"one image, one refused", []any{image, works.ImageEvent{Refused: &works.Refusal{Text: "no"}}}, saved, `image0 a.png generated, urgent "The provider refused: no", finish stop`},
		{"nothing", nil, saved, "error: server: answered without an image"},
		{"an error", []any{image, io.EOF}, saved, "image0 a.png generated, error: EOF"},
	} {
		e := media.Endpoint(media.Model[works.ImageMaker, catalog.ImageModel]{Service: &scriptedImages{answers: [][]any{tt.events}}}, tt.save)
		var got []string
		for e, err := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Parts: []llm.Part{text}}}}) {
			got = append(got, eventText(e, err))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s:\ngot  %s\nwant %s", tt.name, strings.Join(got, ", "), tt.want)
		}
	}
	e := media.Endpoint(media.Model[works.ImageMaker, catalog.ImageModel]{Service: &scriptedImages{answers: [][]any{{image, image}}}}, saved)
	for range e.Stream(t.Context(), llm.Request{}) {
		break // a reader may stop
	}
}

func eventText(e llm.Event, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	switch e := e.(type) {
	case llm.Preview:
		return "preview " + e.Block + " " + string(e.Data)
	case llm.Delta:
		return strings.Join(slices.DeleteFunc([]string{e.Block, e.Name, e.Text, e.Made}, func(s string) bool { return s == "" }), " ")
	case llm.Notice:
		if e.Urgent {
			return fmt.Sprintf("urgent %q", e.Text)
		}
		return fmt.Sprintf("note %q", e.Text)
	case llm.Usage:
		return fmt.Sprintf("usage %d $%v", e.Input, e.Cost)
	case llm.Finish:
		return strings.TrimSpace("finish " + string(e.Reason) + " " + e.Raw)
	}
	return fmt.Sprintf("%+v", e)
}

// TestEndpointRequest: the images of a request are edited; unfinished images are asked for from models that have them.
func TestEndpointRequest(t *testing.T) {
	for _, partials := range []bool{true, false} {
		s := &scriptedImages{answers: [][]any{{works.ImageEvent{Image: &works.Blob{}}}}}
		m := media.Model[works.ImageMaker, catalog.ImageModel]{Service: s, Name: "mock/m", Known: true, Facts: catalog.ImageModel{Partials: partials, Inputs: 1}}
		e := media.Endpoint(m, func(prompt string, b works.Blob) (llm.Part, string, error) {
			return llm.Part{Kind: llm.Media, Name: prompt}, "", nil
		})
		var made string
		for event := range e.Stream(t.Context(), llm.Request{Messages: []llm.Message{{Parts: []llm.Part{
			{Kind: llm.Text, Text: " Make it red"}, {Kind: llm.Media, MIME: "image/png", Name: "a.png", Data: []byte("a")}, {Kind: llm.Text, Text: "and large "}, {Kind: llm.Thinking, Text: "x"},
		}}}}) {
			if d, ok := event.(llm.Delta); ok {
				made = d.Made + " " + d.Name
			}
		}
		want := works.ImageRequest{Prompt: "Make it red\n\nand large", Inputs: []works.Blob{{MIME: "image/png", Name: "a.png", Data: []byte("a")}}}
		if partials {
			want.Partials = 2
		}
		if got := fmt.Sprintf("%+v", s.asked); got != fmt.Sprintf("%+v", []works.ImageRequest{want}) || made != "edited "+want.Prompt {
			t.Errorf("asked for %s, want %+v; made %q", got, want, made)
		}
		if e.Name != "mock/m" || !e.Known || !e.Vision || e.Origin != llm.OriginImages {
			t.Errorf("%+v", e)
		}
	}
}
