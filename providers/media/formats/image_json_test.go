package formats

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// each formats each of several values, joined with commas.
func each[T any](values []T, format string, of func(T) string) string {
	var list []string
	for _, v := range values {
		list = append(list, fmt.Sprintf(format, of(v)))
	}
	return strings.Join(list, ",")
}

func asIs(s string) string { return s }

// sentJSON checks fields of a JSON edit: dotted names, with the beginning of their values.
func sentJSON(path string, want map[string]string) func(t *testing.T, r received) {
	return func(t *testing.T, r received) {
		t.Helper()
		if r.path != path {
			t.Errorf("asked %s, want %s", r.path, path)
		}
		for name, value := range want {
			var at any = r.json
			for piece := range strings.SplitSeq(name, ".") {
				switch in := at.(type) {
				case map[string]any:
					at = in[piece]
				case []any:
					var i int
					_, _ = fmt.Sscan(piece, &i)
					if at = nil; i < len(in) {
						at = in[i]
					}
				}
			}
			if got := fmt.Sprint(at); !strings.HasPrefix(got, value) {
				t.Errorf("%s is %.60s, want %s…", name, got, value)
			}
		}
	}
}

func geminiDrew(images ...[]byte) string {
	return `{"candidates":[{"content":{"parts":[{"text":"A draft:","thought":true},{"inlineData":{"mimeType":"image/png","data":"AAAA"},"thought":true},{"text":"Here you are."},` +
		each(images, `{"inlineData":{"mimeType":"image/png","data":%q}}`, b64) + `]},"finishReason":"STOP"}],
		"usageMetadata":{"promptTokenCount":270,"candidatesTokenCount":1120,"promptTokensDetails":[{"modality":"TEXT","tokenCount":12},{"modality":"IMAGE","tokenCount":258}]}}`
}

var geminiImageSuite = imageSuite{
	kind: "gemini", open: newImageMaker, path: "/v1beta", key: "X-Goog-Api-Key", loops: true, edits: true,
	answer: geminiDrew, nothing: `{"candidates":[{"content":{"parts":[]},"finishReason":"STOP"}]}`,
	broken: `{"candidates":[{"content":{"parts":[{"inlineData":{"data":"%%%"}}]},"finishReason":"STOP"}]}`,
	refusals: map[string]int{
		`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`:                                        200,
		`{"candidates":[{"finishReason":"IMAGE_SAFETY","finishMessage":"Unable to show the image."}]}`:   200,
		`{"candidates":[{"content":{"parts":[{"text":"I cannot draw that."}]},"finishReason":"STOP"}]}`:  200,
		`{"candidates":[{"content":{"parts":[{"text":"…","thought":true}]},"finishReason":"NO_IMAGE"}]}`: 200,
	},
	edit: sentJSON("/v1beta/models/m:generateContent", map[string]string{
		"contents.0.parts.0.inlineData.mimeType": "image/png", "contents.0.parts.0.inlineData.data": "iVBOR",
		"contents.0.parts.1.inlineData.mimeType": "image/jpeg", "contents.0.parts.2.text": "darker",
		"generationConfig.responseModalities.0": "IMAGE",
	}),
}

var grokImageSuite = imageSuite{
	kind: "grok", open: newImageMaker, path: "/v1", key: "Authorization", edits: true,
	answer: func(images ...[]byte) string {
		return `{"data":[` + each(images, `{"b64_json":%q,"respect_moderation":true,"revised_prompt":"a red fox"}`, b64) + `],"usage":{"cost_in_usd_ticks":200000000}}`
	},
	links:   func(urls ...string) string { return `{"data":[` + each(urls, `{"url":%q}`, asIs) + `]}` },
	nothing: `{"usage":{}}`, broken: `{"data":[{"b64_json":"%%%"}]}`,
	refusals: map[string]int{
		`{"data":[]}`: 200,
		`{"data":[{"b64_json":"","url":"","respect_moderation":false}]}`: 200,
		`{"data":[{"url":""}]}`: 200,
	},
	edit: sentJSON("/v1/images/edits", map[string]string{"images.0.url": "data:image/png;base64,iVBOR", "images.1.url": "data:image/jpeg;base64,", "images.0.type": "image_url", "response_format": "b64_json"}),
}

var qwenImageSuite = imageSuite{
	kind: "qwen", open: newImageMaker, path: "/compatible-mode/v1", key: "Authorization", edits: true,
	answer: func(images ...[]byte) string {
		return `{"output":{"choices":[` + each(images, `{"finish_reason":"stop","message":{"role":"assistant","content":[{"image":"data:image/png;base64,%s"}]}}`, b64) + `]},"usage":{"image_count":1},"request_id":"r"}`
	},
	links: func(urls ...string) string {
		return `{"output":{"choices":[{"message":{"content":[` + each(urls, `{"image":%q}`, asIs) + `]}}]}}`
	},
	nothing: `{"output":{"choices":[]}}`, broken: `{"output":{"choices":[{"message":{"content":[{"image":"data:image/png;base64,%%"}]}}]}}`,
	refusals: map[string]int{`{"code":"DataInspectionFailed","message":"Output data may contain inappropriate content.","request_id":"r"}`: 400},
	edit: sentJSON("/api/v1/services/aigc/multimodal-generation/generation", map[string]string{
		"input.messages.0.content.0.image": "data:image/png;base64,", "input.messages.0.content.2.text": "darker", "parameters.n": "1",
	}),
}

var glmImageSuite = imageSuite{
	kind: "glm", open: newImageMaker, path: "/api/paas/v4", key: "Authorization", loops: true,
	answer: func(images ...[]byte) string {
		return `{"created":1,"data":[` + each(images, `{"b64_json":%q}`, b64) + `],"content_filter":[{"role":"user","level":3}]}`
	},
	links:   func(urls ...string) string { return `{"data":[` + each(urls, `{"url":%q}`, asIs) + `]}` },
	nothing: `{"data":[]}`, broken: `{"data":[{"b64_json":"%%%"}]}`,
	refusals: map[string]int{
		`{"error":{"code":"1301","message":"The system has detected unsafe content."}}`: 400,
		`{"data":[],"content_filter":[{"role":"user","level":0}]}`:                      200,
		`{"data":[{"url":""}],"content_filter":[{"role":"assistant","level":0}]}`:       200,
	},
}

var miniMaxImageSuite = imageSuite{
	kind: "minimax", open: newImageMaker, path: "/v1", key: "Authorization", edits: true,
	answer: func(images ...[]byte) string {
		return `{"id":"1","data":{"image_base64":[` + each(images, `%q`, b64) + `]},"metadata":{"success_count":1,"failed_count":0},"base_resp":{"status_code":0,"status_msg":"success"}}`
	},
	links: func(urls ...string) string {
		return `{"data":{"image_urls":[` + each(urls, `%q`, asIs) + `]},"base_resp":{"status_code":0}}`
	},
	nothing: `{"data":{},"base_resp":{"status_code":0}}`, broken: `{"data":{"image_base64":["%%%"]}}`,
	refusals: map[string]int{
		`{"base_resp":{"status_code":1026,"status_msg":"sensitive input"}}`:                                                200,
		`{"data":{"image_base64":[""]},"metadata":{"success_count":"0","failed_count":"1"},"base_resp":{"status_code":0}}`: 200,
	},
	edit: sentJSON("/v1/image_generation", map[string]string{"subject_reference.0.type": "character", "subject_reference.0.image_file": "data:image/png;base64,", "response_format": "base64"}),
}

var openRouterImageSuite = imageSuite{
	kind: "openrouter", open: newImageMaker, path: "/api/v1", key: "Authorization", edits: true,
	answer: func(images ...[]byte) string {
		return `{"data":[` + each(images, `{"b64_json":%q,"media_type":"image/png"}`, b64) + `],"usage":{"prompt_tokens":1,"cost":0.04}}`
	},
	links:   func(urls ...string) string { return `{"data":[` + each(urls, `{"url":%q}`, asIs) + `]}` },
	nothing: `{"data":[]}`, broken: `{"data":[{"b64_json":"%%%"}]}`,
	refusals: map[string]int{`{"error":{"code":400,"message":"rejected","metadata":{"raw":"{\"error\":{\"code\":\"moderation_blocked\",\"message\":\"rejected\"}}"}}}`: 400},
	edit:     sentJSON("/api/v1/images", map[string]string{"input_references.0.image_url.url": "data:image/png;base64,", "input_references.1.type": "image_url"}),
}

func TestImagesOfGemini(t *testing.T)     { geminiImageSuite.run(t) }
func TestImagesOfGrok(t *testing.T)       { grokImageSuite.run(t) }
func TestImagesOfQwen(t *testing.T)       { qwenImageSuite.run(t) }
func TestImagesOfGLM(t *testing.T)        { glmImageSuite.run(t) }
func TestImagesOfMiniMax(t *testing.T)    { miniMaxImageSuite.run(t) }
func TestImagesOfOpenRouter(t *testing.T) { openRouterImageSuite.run(t) }

// TestImageRequests checks the request to each service.
func TestImageRequests(t *testing.T) {
	for _, test := range []struct {
		suite           imageSuite
		provider, model string
		r               works.ImageRequest
		want, not       []string
		notes           int
	}{
		{geminiImageSuite, "gemini", "gemini-3.1-flash-image", works.ImageRequest{Size: works.Size{Ratio: "16:9", Tier: "2K"}, Quality: "high"}, []string{`"aspectRatio":"16:9"`, `"imageSize":"2K"`}, []string{"quality", "high"}, 1},
		{grokImageSuite, "xai", "grok-imagine-image", works.ImageRequest{Size: works.Size{Ratio: "9:19.5", Tier: "2K"}, Quality: "low", N: 2}, []string{`"aspect_ratio":"9:19.5"`, `"resolution":"2k"`, `"n":2`, `"quality":"low"`}, []string{"size", "seed"}, 1},
		{grokImageSuite, "xai", "grok-imagine-image", works.ImageRequest{Inputs: []works.Blob{{Data: pngImage}}}, []string{`"image":{"type":"image_url","url":"data:image/png`}, []string{`"images"`}, 1},
		{qwenImageSuite, "qwen", "qwen-image-3.0", works.ImageRequest{Size: works.Size{Width: 1024, Height: 768}, N: 2}, []string{`"size":"1024*768"`, `"n":2`}, nil, 0},
		{glmImageSuite, "zai", "glm-image", works.ImageRequest{Size: works.Size{Ratio: "4:3"}, Format: "webp"}, []string{`"size":"1152x864"`}, []string{`"n"`, "webp"}, 1},
		{miniMaxImageSuite, "minimax", "image-01", works.ImageRequest{Size: works.Size{Ratio: "16:9"}}, []string{`"aspect_ratio":"16:9"`}, []string{"width"}, 0},
		{miniMaxImageSuite, "minimax", "image-01", works.ImageRequest{Size: works.Size{Ratio: "16:9", Tier: "2K"}}, []string{`"width":2688`, `"height":1512`}, []string{"aspect_ratio"}, 0},
		{openRouterImageSuite, "openrouter", "openai/gpt-image-2", works.ImageRequest{Size: works.Size{Ratio: "16:9", Tier: "2K"}, Transparent: true, Format: "webp", N: 2}, []string{`"aspect_ratio":"16:9"`, `"resolution":"2K"`, `"background":"transparent"`, `"output_format":"webp"`}, nil, 1},
	} {
		server := newImageServer(t, saysJSON(test.suite.answer(slices.Repeat([][]byte{pngImage}, max(test.r.N, 1))...)))
		m := test.suite.maker(server.URL)
		m.facts, test.r.Prompt = imageFacts(t, test.provider, test.model), "a fox"
		o := made(t, m, test.r)
		if o.err != nil {
			t.Errorf("%s %+v: %v", test.model, test.r.Size, o.err)
			continue
		}
		sent := server.seen()[0]
		text, _ := json.Marshal(sent.json)
		for _, want := range test.want {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s: sent %.500s, want %s", test.model, text, want)
			}
		}
		for _, not := range test.not {
			if strings.Contains(string(text), not) {
				t.Errorf("%s: sent %.500s with %s", test.model, text, not)
			}
		}
		if test.suite.kind != "openrouter" && len(o.notes) != test.notes {
			t.Errorf("%s: notes %q", test.model, o.notes)
		}
	}
}

// TestImageServicesThatCannot checks that options without a field at a service are rejected, not
// dropped.
func TestImageServicesThatCannot(t *testing.T) {
	input := []works.Blob{{Data: pngImage}}
	for _, test := range []struct {
		suite           imageSuite
		provider, model string
		r               works.ImageRequest
	}{
		{geminiImageSuite, "gemini", "gemini-3-pro-image", works.ImageRequest{Inputs: input, Mask: &works.Blob{Data: pngMask}}},
		{geminiImageSuite, "gemini", "gemini-3-pro-image", works.ImageRequest{Size: works.Size{Width: 1024, Height: 1024}}},
		{geminiImageSuite, "gemini", "gemini-3-pro-image", works.ImageRequest{Size: works.Size{Ratio: "7:5"}}},
		{geminiImageSuite, "gemini", "gemini-3-pro-image", works.ImageRequest{Transparent: true}},
		{geminiImageSuite, "gemini", "gemini-3-pro-image", works.ImageRequest{N: 11}},
		{grokImageSuite, "xai", "grok-imagine-image", works.ImageRequest{Size: works.Size{Tier: "4K"}}},
		{grokImageSuite, "xai", "grok-imagine-image", works.ImageRequest{Inputs: []works.Blob{{Data: pngImage}, {Data: pngImage}, {Data: pngImage}, {Data: pngImage}}}},
		{qwenImageSuite, "qwen", "wan2.6-t2i", works.ImageRequest{Inputs: input}},
		{glmImageSuite, "zai", "glm-image", works.ImageRequest{Inputs: input}},
		{miniMaxImageSuite, "minimax", "image-01", works.ImageRequest{Prompt: strings.Repeat("a", 1501)}},
		{miniMaxImageSuite, "minimax", "image-01", works.ImageRequest{Size: works.Size{Width: 1001, Height: 1001}}},
		{openRouterImageSuite, "openrouter", "openai/gpt-image-2", works.ImageRequest{Inputs: input, Mask: &works.Blob{Data: pngMask}}},
	} {
		server := newImageServer(t, saysJSON(test.suite.answer(pngImage)))
		m := test.suite.maker(server.URL)
		m.facts = imageFacts(t, test.provider, test.model)
		if test.r.Prompt == "" {
			test.r.Prompt = "a fox"
		}
		if o := made(t, m, test.r); llm.FaultOf(o.err) != llm.Unsupported || len(server.seen()) != 0 {
			t.Errorf("%s: %v by %d requests", test.model, o.err, len(server.seen()))
		}
	}
}

func TestImagesThatWereBlockedInPart(t *testing.T) {
	for _, test := range []struct {
		suite  imageSuite
		answer string
	}{
		{grokImageSuite, fmt.Sprintf(`{"data":[{"b64_json":%q},{"b64_json":"","respect_moderation":false},{"b64_json":%q},{"respect_moderation":false}]}`, b64(pngImage), b64(pngOther))},
		{miniMaxImageSuite, fmt.Sprintf(`{"data":{"image_base64":[%q,%q]},"metadata":{"success_count":"2","failed_count":"2"},"base_resp":{"status_code":0}}`, b64(pngImage), b64(pngOther))},
	} {
		server := newImageServer(t, saysJSON(test.answer))
		o := made(t, test.suite.maker(server.URL), works.ImageRequest{Prompt: "foxes", N: 4})
		if o.err != nil || len(o.images) != 2 || len(o.refused) != 2 || o.bill.Images != 2 || len(o.notes) != 0 {
			t.Errorf("%s: %d images, %d refused, notes %q, %v", test.suite.kind, len(o.images), len(o.refused), o.notes, o.err)
		}
	}
	server := newImageServer(t, saysJSON(geminiDrew(pngImage)), saysJSON(`{"candidates":[{"finishReason":"IMAGE_SAFETY"}]}`), saysJSON(geminiDrew(pngImage)))
	o := made(t, geminiImageSuite.maker(server.URL), works.ImageRequest{Prompt: "foxes", N: 3})
	if o.err != nil || len(o.images) != 2 || len(o.refused) != 1 || len(server.seen()) != 3 {
		t.Errorf("gemini: %d images, %d refused, %v", len(o.images), len(o.refused), o.err)
	}
	server = newImageServer(t, saysJSON(`{"promptFeedback":{"blockReason":"SAFETY"}}`))
	if o = made(t, geminiImageSuite.maker(server.URL), works.ImageRequest{Prompt: "foxes", N: 3}); len(o.refused) != 1 || len(server.seen()) != 1 {
		t.Errorf("a prompt that is blocked: %d refused by %d requests", len(o.refused), len(server.seen()))
	}
}

func TestImageBills(t *testing.T) {
	for _, test := range []struct {
		suite           imageSuite
		provider, model string
		usd             float64
		exact           bool
	}{
		{geminiImageSuite, "gemini", "gemini-3.1-flash-image", 1120 * 60 / 1e6, false},
		{grokImageSuite, "xai", "grok-imagine-image", 0.02, true},
		{qwenImageSuite, "qwen", "qwen-image-3.0", 0.03, false},
		{openRouterImageSuite, "openrouter", "openai/gpt-image-2", 0.04, true},
	} {
		server := newImageServer(t, saysJSON(test.suite.answer(pngImage)))
		m := test.suite.maker(server.URL)
		m.facts = imageFacts(t, test.provider, test.model)
		o := made(t, m, works.ImageRequest{Prompt: "a fox"})
		if o.bill == nil || !o.bill.Priced || o.bill.Reported != test.exact || o.bill.USD < test.usd*0.999 || o.bill.USD > test.usd*1.001 {
			t.Errorf("%s: %+v, want %g", test.model, o.bill, test.usd)
		}
	}
}

func TestLocalImagesAreFree(t *testing.T) {
	for _, kind := range []string{"ollama", "vllm"} {
		server := newImageServer(t, saysJSON(openAILinks("data:image/png;base64,"+b64(pngImage))))
		s := openAISuite
		s.kind = kind
		if o := made(t, s.maker(server.URL), works.ImageRequest{Prompt: "a fox"}); o.bill == nil || !o.bill.Priced || o.bill.USD != 0 {
			t.Errorf("%s: %+v", kind, o.bill)
		}
	}
}

func TestPartialImagesOfOpenRouter(t *testing.T) {
	part := fmt.Sprintf(`{"type":"image_generation.partial_image","b64_json":%q}`, b64(jpegImage))
	whole := fmt.Sprintf(`{"type":"image_generation.completed","b64_json":%q,"usage":{"cost":0.04}}`, b64(pngImage))
	for _, test := range []struct {
		events           []string
		partials, images int
		fault            llm.Fault
	}{
		{[]string{part, whole, "[DONE]"}, 1, 1, ""},
		{[]string{part}, 1, 0, llm.Network},
		{[]string{part, `{"type":"error","error":{"code":502,"message":"upstream"}}`}, 1, 0, llm.Server},
		{[]string{`no JSON`}, 0, 0, llm.Unknown},
	} {
		server := newImageServer(t, saysEvents(test.events...))
		m := openRouterImageSuite.maker(server.URL)
		m.facts = catalog.ImageModel{ID: "m", Partials: true}
		o := made(t, m, works.ImageRequest{Prompt: "a fox", Partials: 2})
		fault := llm.Fault("")
		if o.err != nil {
			fault = llm.FaultOf(o.err)
		}
		if len(o.partials) != test.partials || len(o.images) != test.images || fault != test.fault {
			t.Errorf("%q: %d partial, %d images, %v", test.events[len(test.events)-1], len(o.partials), len(o.images), o.err)
		}
		if body := server.seen()[0].json; body["stream"] != true || body["partial_images"] != 2.0 {
			t.Errorf("sent %v", body)
		}
	}
}

// Plain text instead of a stream is reported as such, not as an interrupted stream.
func TestProseForImages(t *testing.T) {
	server := newImageServer(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, "no healthy upstream")
	})
	m := openRouterImageSuite.maker(server.URL)
	m.facts = catalog.ImageModel{ID: "m", Partials: true}
	o := made(t, m, works.ImageRequest{Prompt: "a fox", Partials: 2})
	if fault := (*llm.Error)(nil); !errors.As(o.err, &fault) || fault.Fault != llm.Server || fault.Message != "no healthy upstream" {
		t.Errorf("%v", o.err)
	}
}

// Surplus images from a server are dropped, and reported once.
func TestSurplusImages(t *testing.T) {
	server := newImageServer(t, saysJSON(miniMaxImageSuite.answer(slices.Repeat([][]byte{pngImage}, 500)...)))
	m := miniMaxImageSuite.maker(server.URL)
	o := made(t, m, works.ImageRequest{Prompt: "a fox", N: 2})
	if o.err != nil || len(o.images) != 2 || len(o.notes) != 1 || !strings.Contains(o.notes[0], "more images") {
		t.Errorf("%d images, notes %q, %v", len(o.images), o.notes, o.err)
	}
}

// An endless download is ended.
func TestEndlessImageDownload(t *testing.T) {
	file := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/png")
		_, _ = w.Write(pngImage)
		for piece := make([]byte, 1<<20); r.Context().Err() == nil; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	}
	server := newImageServer(t, saysJSON(""), file)
	server.answers[0] = saysJSON(grokImageSuite.links(server.URL + "/file.png"))
	o := made(t, smaller(t, grokImageSuite.maker(server.URL)), works.ImageRequest{Prompt: "a fox"})
	if o.err == nil || len(o.images) > 0 || !strings.Contains(o.err.Error(), "larger than 4 MB") || len(server.seen()) != 2 {
		t.Errorf("%d images by %d requests, %v", len(o.images), len(server.seen()), o.err)
	}
}
