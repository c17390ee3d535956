package formats

import (
	"encoding/json"
	"mime"
	"mime/multipart"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
)

// TestVideoBodies compares the requests for references, frames and sound with each service's
// documentation.
func TestVideoBodies(t *testing.T) {
	yes, no := true, false
	follow := func(audio *bool) works.VideoRequest {
		return works.VideoRequest{Prompt: "a fox", References: []works.Blob{*aFrame, {MIME: "image/jpeg", Data: []byte("jpg")}}, Audio: audio}
	}
	frames := works.VideoRequest{Prompt: "a fox", FirstFrame: aFrame, LastFrame: &works.Blob{MIME: "image/jpeg", Data: []byte("jpg")}}
	const png, jpg = "data:image/png;base64,cG5n", "data:image/jpeg;base64,anBn"
	for _, test := range []struct {
		kind string
		r    works.VideoRequest
		want string
	}{
		{"gemini", follow(nil), `{"instances":[{"prompt":"a fox","referenceImages":[
			{"image":{"bytesBase64Encoded":"cG5n","mimeType":"image/png"},"referenceType":"asset"},
			{"image":{"bytesBase64Encoded":"anBn","mimeType":"image/jpeg"},"referenceType":"asset"}]}],"parameters":{}}`},
		{"gemini", frames, `{"instances":[{"prompt":"a fox","image":{"bytesBase64Encoded":"cG5n","mimeType":"image/png"},
			"lastFrame":{"bytesBase64Encoded":"anBn","mimeType":"image/jpeg"}}],"parameters":{}}`},
		{"grok", follow(&yes), `{"model":"m","prompt":"a fox","reference_images":[{"url":"` + png + `"},{"url":"` + jpg + `"}],"generate_audio":true}`},
		{"grok", follow(&no), `{"model":"m","prompt":"a fox","reference_images":[{"url":"` + png + `"},{"url":"` + jpg + `"}],"generate_audio":false}`},
		{"qwen", follow(nil), `{"model":"m","input":{"prompt":"a fox","media":[{"type":"reference_image","url":"` + png + `"},{"type":"reference_image","url":"` + jpg + `"}]},"parameters":{}}`},
		{"qwen", frames, `{"model":"m","input":{"prompt":"a fox","media":[{"type":"first_frame","url":"` + png + `"},{"type":"last_frame","url":"` + jpg + `"}]},"parameters":{}}`},
		{"minimax", follow(nil), `{"model":"m","content":[{"type":"text","text":"a fox"},
			{"type":"image_url","role":"reference_image","image_url":{"url":"` + png + `"}},
			{"type":"image_url","role":"reference_image","image_url":{"url":"` + jpg + `"}}],"resolution":"2K","duration":5}`},
		{"minimax", frames, `{"model":"m","content":[{"type":"text","text":"a fox"},
			{"type":"image_url","role":"first_frame","image_url":{"url":"` + png + `"}},
			{"type":"image_url","role":"last_frame","image_url":{"url":"` + jpg + `"}}],"resolution":"2K","duration":5}`},
		{"glm", works.VideoRequest{Prompt: "a fox", Audio: &yes}, `{"model":"m","prompt":"a fox","with_audio":true}`},
		{"glm", frames, `{"model":"m","prompt":"a fox","image_url":["` + png + `","` + jpg + `"]}`},
		{"openrouter", follow(&no), `{"model":"m","prompt":"a fox","generate_audio":false,"input_references":[
			{"type":"image_url","image_url":{"url":"` + png + `"}},{"type":"image_url","image_url":{"url":"` + jpg + `"}}]}`},
		{"openrouter", frames, `{"model":"m","prompt":"a fox","frame_images":[
			{"type":"image_url","image_url":{"url":"` + png + `"},"frame_type":"first_frame"},{"type":"image_url","image_url":{"url":"` + jpg + `"},"frame_type":"last_frame"}]}`},
	} {
		s := newVideoServer(t, wireOf(t, test.kind))
		if _, err := s.jobs().Start(t.Context(), test.r); err != nil || len(s.creates) != 1 {
			t.Errorf("%s: %v, %d requests", test.kind, err, len(s.creates))
			continue
		}
		var sent, want any
		if err := json.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatalf("%s: %v", test.kind, err)
		}
		if err := json.Unmarshal([]byte(s.creates[0]), &sent); err != nil || !reflect.DeepEqual(sent, want) {
			t.Errorf("%s: %v, sent %s\nwant %s", test.kind, err, s.creates[0], test.want)
		}
	}
}

func wireOf(t *testing.T, kind string) videoWire {
	t.Helper()
	for _, w := range videoWires {
		if w.kind == kind {
			return w
		}
	}
	t.Fatalf("no wire %s", kind)
	return videoWire{}
}

// TestVideoFormHoldsItsFrame checks the body for servers with OpenAI's format: the first frame is a
// file with a type and a name.
func TestVideoFormHoldsItsFrame(t *testing.T) {
	form, err := multipartForm(map[string]any{"model": "m", "input_reference": aFrame})
	if err != nil {
		t.Fatal(err)
	}
	_, parameters, err := mime.ParseMediaType(form.Type)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := multipart.NewReader(strings.NewReader(string(form.Data)), parameters["boundary"]).ReadForm(1 << 20)
	if err != nil {
		t.Fatal(err)
	}
	if files := parts.File["input_reference"]; len(files) != 1 || files[0].Filename != "image.png" || files[0].Header.Get("Content-Type") != "image/png" {
		t.Errorf("%+v", parts.File)
	}
}

// TestVideoModelsThatCan: if a model does not support a request, the error names connected models
// that do, and nothing is sent.
func TestVideoModelsThatCan(t *testing.T) {
	yes, no := true, false
	keys := map[string]string{"GEMINI_API_KEY": "k1234567", "XAI_API_KEY": "k1234567", "ZAI_API_KEY": "k1234567", "MINIMAX_API_KEY": "k1234567"}
	for _, test := range []struct {
		model     string
		r         works.VideoRequest
		says, not []string
	}{
		{"zai", works.VideoRequest{References: []works.Blob{*aFrame}}, []string{"reference images", "gemini/veo-", "xai/grok-imagine-video", "minimax/MiniMax-H3"}, []string{"openrouter/", "qwen/", "zai/cogvideox-3,"}},
		{"minimax", works.VideoRequest{Audio: &yes}, []string{"makes no sound", "xai/grok-imagine-video", "gemini/veo-"}, []string{"minimax/"}},
		{"gemini", works.VideoRequest{Audio: &no}, []string{"cannot be turned off", "xai/"}, []string{"openrouter/"}},
		{"gemini", works.VideoRequest{Seconds: 17}, []string{"not 17"}, []string{"these can"}},
	} {
		getenv := func(name string) string { return keys[name] }
		o := providers.OpenOptions{Getenv: getenv, Transport: noRequests{t}}
		m, err := media.Videos.Open(t.Context(), providers.Config{}, test.model, o)
		if err != nil {
			t.Fatal(err)
		}
		test.r.Prompt = "a fox"
		err = media.CheckVideo(providers.Config{}, m, test.r, getenv)
		if llm.FaultOf(err) != llm.Unsupported {
			t.Errorf("%s: %v", test.model, err)
			continue
		}
		for _, words := range test.says {
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, without %s", test.model, err, words)
			}
		}
		for _, words := range test.not {
			if strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, with %s", test.model, err, words)
			}
		}
	}
	m, err := media.Videos.Open(t.Context(), providers.Config{}, "xai", providers.OpenOptions{Getenv: func(name string) string { return keys[name] }})
	if err != nil {
		t.Fatal(err)
	}
	if err := media.CheckVideo(providers.Config{}, m, works.VideoRequest{Prompt: "a fox", References: []works.Blob{*aFrame}, Audio: &no}, nil); err != nil {
		t.Errorf("what can be made: %v", err)
	}
}

// noRequests fails a test that sends something.
type noRequests struct{ t *testing.T }

func (n noRequests) RoundTrip(r *http.Request) (*http.Response, error) {
	n.t.Errorf("asked for %s", r.URL)
	return nil, http.ErrHandlerTimeout
}
