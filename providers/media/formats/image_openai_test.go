package formats

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// openAIImageAnswer writes images as OpenAI does.
func openAIImageAnswer(images ...[]byte) string {
	var data []string
	for _, i := range images {
		data = append(data, fmt.Sprintf(`{"b64_json":%q}`, b64(i)))
	}
	return `{"created":1,"data":[` + strings.Join(data, ",") + `],"usage":{"input_tokens":50,"input_tokens_details":{"text_tokens":10,"image_tokens":40},"output_tokens":1000,"total_tokens":1050}}`
}

func openAILinks(urls ...string) string {
	var data []string
	for _, u := range urls {
		data = append(data, fmt.Sprintf(`{"url":%q}`, u))
	}
	return `{"data":[` + strings.Join(data, ",") + `]}`
}

var openAISuite = imageSuite{
	kind: "openai", open: newImageMaker, path: "/v1", key: "Authorization",
	answer: openAIImageAnswer, links: openAILinks, nothing: `{"data":[]}`, broken: `{"data":[{"b64_json":"%%%"}]}`,
	refusals: map[string]int{
		`{"error":{"message":"Your request was rejected by the safety system.","type":"image_generation_user_error","code":"moderation_blocked","moderation_details":{"moderation_stage":"input","categories":["violence"]}}}`: 400,
	},
	edits: true,
	edit: func(t *testing.T, r received) {
		slices.Sort(r.files)
		want := []string{"image[] image-1.png image/png", "image[] image-2.jpeg image/jpeg"}
		if r.path != "/v1/images/edits" || !slices.Equal(r.files, want) || r.form["prompt"][0] != "darker" || r.form["model"][0] != "m" {
			t.Errorf("%s, files %q, fields %q", r.path, r.files, r.form)
		}
	},
}

func TestImagesOfOpenAI(t *testing.T) { openAISuite.run(t) }

func TestImagesOfOllama(t *testing.T) {
	s := openAISuite
	s.kind, s.edits, s.loops = "ollama", false, true
	s.run(t)
}

func TestImagesOfOmni(t *testing.T) {
	s := openAISuite
	s.kind = "vllm"
	s.edit = func(t *testing.T, r received) {
		slices.Sort(r.files)
		if want := []string{"image image-1.png image/png", "image image-2.jpeg image/jpeg"}; !slices.Equal(r.files, want) || r.form["response_format"][0] != "b64_json" {
			t.Errorf("files %q, fields %q", r.files, r.form)
		}
	}
	s.run(t)
}

func TestOpenAIImageRequest(t *testing.T) {
	server := newImageServer(t, saysJSON(openAIImageAnswer(pngImage)))
	m := openAISuite.maker(server.URL)
	m.o.Model, m.facts = "gpt-image-2", imageFacts(t, "openai", "gpt-image-2")
	o := made(t, m, works.ImageRequest{Prompt: "a fox", N: 1, Size: works.Size{Ratio: "16:9", Tier: "2K"}, Quality: "low", Format: "webp", Transparent: true})
	got := fmt.Sprint(server.seen()[0].json)
	for _, want := range []string{"size:2560x1440", "quality:low", "output_format:webp", "background:transparent", "prompt:a fox"} {
		if !strings.Contains(got, want) {
			t.Errorf("sent %s, want %s", got, want)
		}
	}
	for _, refused := range []string{"response_format", "n:", "stream", "partial_images", "style"} {
		if strings.Contains(got, refused) {
			t.Errorf("sent %s with %s", got, refused)
		}
	}
	if want := (10*5 + 40*8 + 1000*30) / 1e6; o.bill == nil || o.bill.USD < want*0.999 || o.bill.USD > want*1.001 || !o.bill.Priced || o.bill.Reported {
		t.Errorf("the bill is %+v, want %g", o.bill, want)
	}
}

// TestImagePartNames checks the requests to a server with other names for the parts: status 422
// means that nothing was generated.
func TestImagePartNames(t *testing.T) {
	for _, test := range []struct {
		kind  string
		n     int
		first string
		then  string
	}{{"openai", 1, "image ", "image[] "}, {"openai", 2, "image[] ", "image "}, {"vllm", 2, "image ", "image[] "}} {
		server := newImageServer(t, says(422, "application/json", `{"detail":"field required"}`), saysJSON(openAIImageAnswer(pngImage)))
		s := openAISuite
		s.kind = test.kind
		r := works.ImageRequest{Prompt: "darker", Inputs: []works.Blob{{Data: pngImage}, {Data: pngOther}}[:test.n]}
		o := made(t, s.maker(server.URL), r)
		got := server.seen()
		if o.err != nil || len(got) != 2 || !strings.HasPrefix(got[0].files[0], test.first) || !strings.HasPrefix(got[1].files[0], test.then) {
			t.Errorf("%+v: %d requests, %v", test, len(got), o.err)
		}
		server = newImageServer(t, says(422, "application/json", `{"detail":"field required"}`))
		if o = made(t, s.maker(server.URL), r); o.err == nil || len(server.seen()) != 2 {
			t.Errorf("%+v: refused for ever, %d requests, %v", test, len(server.seen()), o.err)
		}
	}
}

func TestOmniMaskIsWhite(t *testing.T) {
	half := image.NewNRGBA(image.Rect(0, 0, 4, 3))
	for x := range 2 {
		for y := range 3 {
			half.Set(x, y, color.NRGBA{10, 20, 30, 255})
		}
	}
	var b bytes.Buffer
	_ = png.Encode(&b, half)
	var sent image.Image
	server := newImageServer(t, func(w http.ResponseWriter, r *http.Request) {
		f, _, err := r.FormFile("mask_image")
		if err == nil {
			sent, err = png.Decode(f)
		}
		if err != nil {
			t.Error(err)
		}
		saysJSON(openAIImageAnswer(pngImage))(w, r)
	})
	s := openAISuite
	s.kind = "vllm"
	o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "darker", Inputs: []works.Blob{{Data: pngImage}}, Mask: &works.Blob{Data: b.Bytes()}})
	if o.err != nil || sent == nil {
		t.Fatal(o.err)
	}
	if kept, changed := color.GrayModel.Convert(sent.At(0, 0)), color.GrayModel.Convert(sent.At(3, 0)); kept != (color.Gray{0}) || changed != (color.Gray{255}) {
		t.Errorf("kept is %v, changed is %v", kept, changed)
	}
}

// saysEvents streams events and ends the connection.
func saysEvents(events ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, "data: "+e+"\n\n")
			w.(http.Flusher).Flush()
		}
	}
}

func TestOpenAIPartialImages(t *testing.T) {
	part := func(kind string) string {
		return fmt.Sprintf(`{"type":"%s.partial_image","b64_json":%q,"partial_image_index":0}`, kind, b64(jpegImage))
	}
	whole := func(kind string) string {
		return fmt.Sprintf(`{"type":"%s.completed","b64_json":%q,"usage":{"input_tokens":5,"output_tokens":7}}`, kind, b64(pngImage))
	}
	const gen = "image_generation"
	for _, test := range []struct {
		name             string
		kind             string
		handler          http.HandlerFunc
		partials, images int
		refused          int
		fault            llm.Fault
	}{
		{"whole", gen, saysEvents(part(gen), part(gen), whole(gen)), 2, 1, 0, ""},
		{"an edit", "image_edit", saysEvents(part("image_edit"), whole("image_edit")), 1, 1, 0, ""},
		{"cut after a part", gen, saysEvents(part(gen)), 1, 0, 0, llm.Network},
		{"cut before anything", gen, saysEvents(), 0, 0, 0, llm.Network},
		{"an error event", gen, saysEvents(part(gen), `{"type":"error","error":{"type":"server_error","message":"overloaded"}}`), 1, 0, 0, llm.Server},
		{"a refusal event", gen, saysEvents(part(gen), `{"error":{"code":"moderation_blocked","message":"no"}}`), 1, 0, 1, ""},
		{"no stream", gen, saysJSON(openAIImageAnswer(pngImage)), 0, 1, 0, ""},
		{"a broken part", gen, saysEvents(`{"type":"image_generation.partial_image","b64_json":"%%"}`, whole(gen)), 0, 1, 0, ""},
		{"unknown events", gen, saysEvents(`{"type":"image_generation.queued"}`, whole(gen)), 0, 1, 0, ""},
		{"without usage", gen, saysEvents(fmt.Sprintf(`{"type":"image_generation.completed","b64_json":%q}`, b64(pngImage))), 0, 1, 0, ""},
	} {
		server := newImageServer(t, test.handler)
		m := openAISuite.maker(server.URL)
		m.facts = imageFacts(t, "openai", "gpt-image-2")
		r := works.ImageRequest{Prompt: "a fox", Partials: 3}
		if test.kind == "image_edit" {
			r.Inputs = []works.Blob{{Data: pngImage}}
		}
		o := made(t, m, r)
		fault := llm.Fault("")
		if o.err != nil {
			fault = llm.FaultOf(o.err)
		}
		if len(o.partials) != test.partials || len(o.images) != test.images || len(o.refused) != test.refused || fault != test.fault {
			t.Errorf("%s: %d partial, %d images, %d refused, %v", test.name, len(o.partials), len(o.images), len(o.refused), o.err)
		}
		if len(server.seen()) != 1 {
			t.Errorf("%s: %d requests", test.name, len(server.seen()))
		}
	}
}

func TestEndlessImageAnswer(t *testing.T) {
	server := newImageServer(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"data":[{"b64_json":"`)
		piece := bytes.Repeat([]byte("A"), 1<<20)
		for r.Context().Err() == nil {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	if o := made(t, smaller(t, openAISuite.maker(server.URL)), works.ImageRequest{Prompt: "a fox"}); o.err == nil || !strings.Contains(o.err.Error(), "answered with more than") {
		t.Errorf("%v", o.err)
	}
}

// TestOpenAIImageFormats checks GIF and SVG, which are not streamed; an SVG is requested alone. An SVG
// is returned byte for byte, with any content.
func TestOpenAIImageFormats(t *testing.T) {
	const script = "<?xml version=\"1.0\"?>\n<!-- > --><!DOCTYPE svg [<!ENTITY a \"b\">]>\n<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"alert(1)\"><script>1</script>\x1b[2J&a;</svg>\n"
	for _, test := range []struct {
		format, image, mime string
		requests            []string // values of n
	}{
		{"gif", "GIF89a\x01\x00\x01\x00", "image/gif", []string{"2"}},
		{"svg", script, "image/svg+xml", []string{"", ""}},
		{"svg", "\ufeff\n<svg/>", "image/svg+xml", []string{"", ""}},
	} {
		for _, inputs := range [][]works.Blob{nil, {{Data: pngImage}}} {
			images := [][]byte{[]byte(test.image), []byte(test.image)}[:3-len(test.requests)]
			answer := strings.Replace(openAIImageAnswer(images...), `"usage"`, `"svg_usage":{"model":"gpt-6-sol","total_tokens":900},"usage"`, 1)
			server := newImageServer(t, saysJSON(answer))
			m := openAISuite.maker(server.URL)
			m.o.Model, m.facts = "gpt-image-2.6-flare", imageFacts(t, "openai", "gpt-image-2.6-flare")
			o := made(t, m, works.ImageRequest{Prompt: "a fox", N: 2, Format: test.format, Partials: 1, Inputs: inputs})
			if o.err != nil || len(o.images) != 2 || o.images[1].MIME != test.mime || string(o.images[1].Data) != test.image {
				t.Errorf("%s: %+v", test.format, o)
			}
			note := "the SVG took 900 tokens of gpt-6-sol, which are not in the price"
			if !slices.Contains(o.notes, note) || slices.ContainsFunc(o.notes, func(s string) bool { return strings.Contains(s, "instead of") }) {
				t.Errorf("%s: notes %q", test.format, o.notes)
			}
			var got []string
			for _, r := range server.seen() {
				fields := map[string]string{}
				for name, value := range r.json {
					fields[name] = fmt.Sprint(value)
				}
				for name, values := range r.form {
					fields[name] = values[0]
				}
				if fields["output_format"] != test.format || fields["stream"]+fields["partial_images"] != "" {
					t.Errorf("%s: sent %q", test.format, fields)
				}
				got = append(got, fields["n"])
			}
			if !slices.Equal(got, test.requests) {
				t.Errorf("%s: sent n %q, want %q", test.format, got, test.requests)
			}
		}
	}
	// One PNG alone would be streamed; these are not. Other data is not an image.
	for format, image := range map[string]string{"gif": "GIF89a\x01\x00\x01\x00", "svg": "<svg/>"} {
		server := newImageServer(t, saysJSON(openAIImageAnswer([]byte(image))))
		m := openAISuite.maker(server.URL)
		m.facts = imageFacts(t, "openai", "gpt-image-2.6-sunburst")
		if o := made(t, m, works.ImageRequest{Prompt: "a fox", Format: format, Partials: 1}); o.err != nil || len(o.images) != 1 || server.seen()[0].json["stream"] != nil {
			t.Errorf("%s: %+v, sent %s", format, o, server.seen()[0].body)
		}
	}
	for _, text := range []string{"<html><svg></svg></html>", "<!DOCTYPE html>", "<!--", "<?xml", "<svg>\xff", "svg", "<s"} {
		server := newImageServer(t, saysJSON(openAIImageAnswer([]byte(text))))
		if o := made(t, openAISuite.maker(server.URL), works.ImageRequest{Prompt: "a fox", Format: "svg"}); len(o.images) > 0 || o.err == nil {
			t.Errorf("%q is taken for an image: %+v", text, o)
		}
	}
	server := newImageServer(t, saysJSON(openAIImageAnswer([]byte("<svg/>"))))
	if o := made(t, openAISuite.maker(server.URL), works.ImageRequest{Prompt: "a fox"}); len(o.images) > 0 || o.err == nil {
		t.Errorf("an SVG that nobody asked for: %+v", o)
	}
}
