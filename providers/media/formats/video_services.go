package formats

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// veo is Gemini's API (genai models.go, vercel/ai google-video-model.ts). Google's SDK is not used: it
// rejects requests that the service accepts, and returns the error of a download as a video.
var veo = videoService{
	kind: "gemini",
	key:  "x-goog-api-key",
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			if err := framesOrReferences(model, r); err != nil {
				return "", nil, err
			}
			if (tall(r.Resolution) || len(r.References) > 0) && r.Seconds != 0 && r.Seconds != 8 {
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s makes 8 seconds with reference images or above 720p, not %d", model, r.Seconds)}
			}
			image := func(b *works.Blob) any {
				if b == nil {
					return nil
				}
				return map[string]any{"bytesBase64Encoded": toBase64(b.Data), "mimeType": b.MIME}
			}
			var references []any
			for _, b := range r.References {
				references = append(references, map[string]any{"image": image(&b), "referenceType": "asset"})
			}
			return "/models/" + url.PathEscape(model) + ":predictLongRunning", map[string]any{
				"instances": []any{fields(map[string]any{
					"prompt": r.Prompt, "image": image(r.FirstFrame), "lastFrame": image(r.LastFrame), "referenceImages": references,
				})},
				"parameters": fields(map[string]any{
					"aspectRatio": r.Ratio, "resolution": r.Resolution, "durationSeconds": r.Seconds, "negativePrompt": r.NegativePrompt,
				}),
			}, nil
		},
		unsupported: []videoOption{wishSource, wishExtend, wishAudio, wishSeed},
		id:          "name",
		named:       true,
	},
	job:   videoState{address: "/{id}", done: "done", failure: "error"},
	files: videoFiles{urls: "response.generateVideoResponse.generatedSamples.video.uri", filtered: "response.generateVideoResponse.raiMediaFilteredReasons"},
}

// tall reports whether a resolution is above 720p.
func tall(resolution string) bool { return resolution != "" && !strings.EqualFold(resolution, "720p") }

// grokVideo is xAI's API (xai-sdk-python, vercel/ai xai-video-model.ts). Until a job is done, polls
// return status 202, possibly without a body.
var grokVideo = videoService{
	kind: "grok",
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			path := "/videos/generations"
			if err := exclusive(model, "reference images and a first frame", r.FirstFrame != nil, len(r.References) > 0); err != nil {
				return "", nil, err
			}
			if r.Source != nil {
				path = "/videos/edits"
				taken := []videoOption{wishSource, wishAudio}
				if r.Extend {
					path, taken = "/videos/extensions", []videoOption{wishExtend, wishSeconds, wishAudio}
				}
				for _, w := range requestedOptions(r) {
					if !slices.Contains(taken, w) {
						return "", nil, unsupportedOption(model+", with a video to change,", w)
					}
				}
			}
			address := func(b *works.Blob) any { return fields(map[string]any{"url": urlOf(b)}) }
			var references []any
			for _, b := range r.References {
				references = append(references, address(&b))
			}
			return path, fields(map[string]any{
				"model": model, "prompt": r.Prompt, "video": address(r.Source), "image": address(r.FirstFrame), "reference_images": references,
				"duration": r.Seconds, "resolution": r.Resolution, "aspect_ratio": r.Ratio, "generate_audio": r.Audio,
			}), nil
		},
		unsupported: []videoOption{wishLast, wishSeed, wishAvoid},
		id:          "request_id",
	},
	job:   videoState{address: "/videos/{id}", state: "status", progress: "progress", failure: "error"},
	files: videoFiles{urls: "video.url", moderated: "video.respect_moderation"},
	bill:  videoBill{cost: "usage.cost_in_usd_ticks", ticks: ticksPerDollar, seconds: "video.duration", refused: true},
}

// wanVideo is Model Studio's own API (vercel/ai alibaba-video-model.ts and help.aliyun.com): wan3.0 and
// wan2.7 take media, older models img_url.
var wanVideo = videoService{
	kind: "qwen",
	root: func(base string) string { return hostOf(base) + "/api/v1" },
	create: videoCreation{
		header: [2]string{"X-DashScope-Async", "enable"},
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			if err := framesOrReferences(model, r); err != nil {
				return "", nil, err
			}
			var media []any
			first := ""
			add := func(kind string, b *works.Blob) {
				if b != nil {
					media = append(media, map[string]any{"type": kind, "url": dataURL(*b)})
				}
			}
			add("first_frame", r.FirstFrame)
			add("last_frame", r.LastFrame)
			for _, b := range r.References {
				add("reference_image", &b)
			}
			if r.FirstFrame != nil && len(media) == 1 && strings.HasPrefix(model, "wan2.") && strings.HasSuffix(model, "-i2v") {
				first, media = dataURL(*r.FirstFrame), nil
			}
			return "/services/aigc/video-generation/video-synthesis", map[string]any{
				"model": model,
				"input": fields(map[string]any{"prompt": r.Prompt, "img_url": first, "media": media, "negative_prompt": r.NegativePrompt}),
				"parameters": fields(map[string]any{
					"resolution": strings.ToUpper(r.Resolution), "ratio": r.Ratio, "duration": r.Seconds, "seed": r.Seed,
				}),
			}, nil
		},
		unsupported: []videoOption{wishSource, wishExtend, wishAudio},
		id:          "output.task_id",
	},
	job:    videoState{address: "/tasks/{id}", state: "output.task_status", expired: "unknown", failure: "output"},
	files:  videoFiles{urls: "output.video_url"},
	cancel: "POST /tasks/{id}/cancel",
}

// maxGLMPrompt is the longest prompt of CogVideoX, in characters.
const maxGLMPrompt = 512

// glmVideo is the API of Z.ai and Zhipu (z-ai-sdk-python).
var glmVideo = videoService{
	kind: "glm",
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			if n := len([]rune(r.Prompt)); n > maxGLMPrompt {
				return "", nil, &llm.Error{Fault: llm.InvalidRequest, Message: fmt.Sprintf("the prompt has %d characters; %s takes %d", n, model, maxGLMPrompt)}
			}
			if r.LastFrame != nil && r.FirstFrame == nil {
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: model + " takes a last frame only with a first one"}
			}
			size, err := pixelsOf(model, r)
			if err != nil {
				return "", nil, err
			}
			var images any = urlOf(r.FirstFrame)
			if r.LastFrame != nil {
				images = []string{dataURL(*r.FirstFrame), dataURL(*r.LastFrame)}
			}
			return "/videos/generations", fields(map[string]any{
				"model": model, "prompt": r.Prompt, "image_url": images, "size": size, "duration": r.Seconds, "with_audio": r.Audio,
			}), nil
		},
		unsupported: []videoOption{wishReferences, wishSource, wishExtend, wishSeed, wishAvoid},
		id:          "id",
	},
	job:   videoState{address: "/async-result/{id}", state: "task_status", failure: "error"},
	files: videoFiles{urls: "video_result.url", thumbnail: "video_result.cover_image_url"},
}

// openRouterVideo is OpenRouter's API (@openrouter/sdk, openrouter.ai/docs).
var openRouterVideo = videoService{
	kind: "openrouter",
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			if err := framesOrReferences(model, r); err != nil {
				return "", nil, err
			}
			image := func(b *works.Blob) map[string]any {
				return map[string]any{"type": "image_url", "image_url": map[string]any{"url": dataURL(*b)}}
			}
			var frames, references []any
			frame := func(name string, b *works.Blob) {
				if b != nil {
					it := image(b)
					it["frame_type"] = name
					frames = append(frames, it)
				}
			}
			frame("first_frame", r.FirstFrame)
			frame("last_frame", r.LastFrame)
			for _, b := range r.References {
				references = append(references, image(&b))
			}
			resolution := "resolution"
			if strings.Contains(r.Resolution, "x") {
				resolution = "size"
			}
			return "/videos", fields(map[string]any{
				"model": model, "prompt": r.Prompt, "frame_images": frames, "input_references": references, "duration": r.Seconds,
				resolution: r.Resolution, "aspect_ratio": r.Ratio, "generate_audio": r.Audio, "seed": r.Seed,
			}), nil
		},
		unsupported: []videoOption{wishSource, wishExtend, wishAvoid},
		id:          "id",
	},
	job:   videoState{address: "/videos/{id}", state: "status", progress: "progress", failure: "error"},
	files: videoFiles{content: "/videos/{id}/content?index={index}"},
	bill:  videoBill{cost: "usage.cost"},
}

// openAIVideo is the former API of OpenAI, which vLLM-Omni and gateways still implement (openai-go
// video.go, vllm-omni docs). Requests are forms.
var openAIVideo = videoService{
	kind: "openai",
	create: videoCreation{
		form: true,
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			size, err := pixelsOf(model, r)
			if err != nil {
				return "", nil, err
			}
			seconds := ""
			if r.Seconds > 0 {
				seconds = strconv.Itoa(r.Seconds)
			}
			return "/videos", fields(map[string]any{
				"model": model, "prompt": r.Prompt, "size": size, "seconds": seconds, "seed": r.Seed,
				"negative_prompt": r.NegativePrompt, "input_reference": r.FirstFrame,
			}), nil
		},
		unsupported: []videoOption{wishLast, wishReferences, wishSource, wishExtend, wishAudio},
		id:          "id",
	},
	job:    videoState{address: "/videos/{id}", state: "status", progress: "progress", failure: "error"},
	files:  videoFiles{content: "/videos/{id}/content", variants: true},
	cancel: "DELETE /videos/{id}",
}

// minimaxVideo is version 2 of MiniMax's API (vercel/ai minimax-video-model.ts), which MiniMax-H3
// needs. Addresses of files expire, and each poll returns new ones.
var minimaxVideo = videoService{
	kind: "minimax",
	root: func(base string) string { return hostOf(base) + "/v2" },
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			frames := r.FirstFrame != nil || r.LastFrame != nil
			switch err := framesOrReferences(model, r); {
			case err != nil:
				return "", nil, err
			case r.LastFrame != nil && r.FirstFrame == nil:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: model + " takes a last frame only with a first one"}
			case frames && r.Ratio != "":
				return "", nil, unsupportedOption(model+", with a first frame,", wishRatio)
			}
			content := []any{map[string]any{"type": "text", "text": r.Prompt}}
			add := func(role string, b *works.Blob) {
				if b != nil {
					content = append(content, map[string]any{"type": "image_url", "role": role, "image_url": map[string]any{"url": dataURL(*b)}})
				}
			}
			add("first_frame", r.FirstFrame)
			add("last_frame", r.LastFrame)
			for _, b := range r.References {
				add("reference_image", &b)
			}
			return "/video_generation", fields(map[string]any{ // resolution and duration are always sent, since the cost depends on them
				"model": model, "content": content, "resolution": strings.ToUpper(cmp.Or(r.Resolution, "2K")), "duration": cmp.Or(r.Seconds, 5),
				"ratio": r.Ratio,
			}), nil
		},
		unsupported: []videoOption{wishSource, wishExtend, wishAudio, wishSeed, wishAvoid},
		id:          "task_id",
	},
	job:   videoState{address: "/query/video_generation/{id}", state: "task.status", failure: "task.error", codes: "minimax"},
	files: videoFiles{urls: "task.content.url"},
	bill:  videoBill{seconds: "task.usage.output_seconds"},
}

// hailuoVideo is version 1 of MiniMax's API (platform.minimax.io/docs/api-reference/video-generation),
// for models before H3. The result of a job is a file of the account, whose address needs a further
// request and is valid for nine hours.
var hailuoVideo = videoService{
	kind:   "minimax",
	models: isHailuo,
	create: videoCreation{
		request: func(model string, r works.VideoRequest) (string, map[string]any, error) {
			switch err := framesOrReferences(model, r); {
			case err != nil:
				return "", nil, err
			case len(r.References) > 1:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s takes 1 reference image, not %d", model, len(r.References))}
			case strings.EqualFold(r.Resolution, "1080p") && r.Seconds > 6:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s makes 6 seconds of 1080P, not %d", model, r.Seconds)}
			}
			var subject []any
			for _, b := range r.References {
				subject = append(subject, map[string]any{"type": "character", "image": []string{dataURL(b)}})
			}
			return "/video_generation", fields(map[string]any{
				"model": model, "prompt": r.Prompt, "first_frame_image": urlOf(r.FirstFrame), "last_frame_image": urlOf(r.LastFrame),
				"subject_reference": subject, "resolution": strings.ToUpper(r.Resolution), "duration": r.Seconds,
			}), nil
		},
		unsupported: []videoOption{wishSource, wishExtend, wishRatio, wishAudio, wishSeed, wishAvoid},
		id:          "task_id",
	},
	job:   videoState{address: "/query/video_generation?task_id={id}", state: "status", failure: "base_resp", codes: "minimax"},
	files: videoFiles{urls: "file_id", lookup: "/files/retrieve?file_id={id}", found: "file.download_url"},
}

// isHailuo reports whether a model of MiniMax needs version 1: Hailuo, and models named after their
// input, such as T2V.
func isHailuo(model string) bool {
	for _, prefix := range []string{"minimax-hailuo-", "t2v-", "i2v-", "s2v-", "video-"} {
		if strings.HasPrefix(strings.ToLower(model), prefix) {
			return true
		}
	}
	return false
}
