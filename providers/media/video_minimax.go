package media

import (
	"cmp"
	"fmt"
	"strings"

	"parley/providers/llm"
)

// minimaxVideo is version 2 of MiniMax's (vercel/ai minimax-video-model.ts), which MiniMax-H3
// needs. Addresses of files run out, and each poll brings new ones.
var minimaxVideo = videoService{
	kind: "minimax",
	root: func(base string) string { return hostOf(base) + "/v2" },
	create: videoCreation{
		request: func(model string, r llm.VideoRequest) (string, map[string]any, error) {
			frames := r.First != nil || r.Last != nil
			switch err := exclusive(model, "reference images, and a first or last frame", frames, len(r.References) > 0); {
			case err != nil:
				return "", nil, err
			case r.Last != nil && r.First == nil:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: model + " takes a last frame only with a first one"}
			case frames && r.Ratio != "":
				return "", nil, unsupportedWish(model+", with a first frame,", wishRatio)
			}
			content := []any{map[string]any{"type": "text", "text": r.Prompt}}
			add := func(role string, b *llm.Blob) {
				if b != nil {
					content = append(content, map[string]any{"type": "image_url", "role": role, "image_url": map[string]any{"url": dataURL(*b)}})
				}
			}
			add("first_frame", r.First)
			add("last_frame", r.Last)
			for _, b := range r.References {
				add("reference_image", &b)
			}
			body := map[string]any{ // both are always sent: what a video costs depends on them
				"model": model, "content": content, "resolution": strings.ToUpper(cmp.Or(r.Resolution, "2K")), "duration": cmp.Or(r.Seconds, 5),
			}
			put(body, "ratio", r.Ratio)
			return "/video_generation", body, nil
		},
		lacks: []videoWish{wishSource, wishExtend, wishAudio, wishSeed, wishAvoid},
		id:    "task_id",
	},
	job:   videoState{address: "/query/video_generation/{id}", state: "task.status", failure: "task.error"},
	files: videoFiles{urls: "task.content.url"},
	bill:  videoBill{seconds: "task.usage.output_seconds"},
}

// hailuoVideo is version 1 of MiniMax's (platform.minimax.io/docs/api-reference/video-generation),
// for the models before H3. What a job made is a file of the account, whose address has to be
// asked for; it is good for nine hours.
var hailuoVideo = videoService{
	kind:   "minimax",
	models: isHailuo,
	create: videoCreation{
		request: func(model string, r llm.VideoRequest) (string, map[string]any, error) {
			frames := r.First != nil || r.Last != nil
			switch err := exclusive(model, "reference images, and a first or last frame", frames, len(r.References) > 0); {
			case err != nil:
				return "", nil, err
			case len(r.References) > 1:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s takes 1 reference image, not %d", model, len(r.References))}
			case strings.EqualFold(r.Resolution, "1080p") && r.Seconds > 6:
				return "", nil, &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s makes 6 seconds of 1080P, not %d", model, r.Seconds)}
			}
			body := map[string]any{"model": model, "prompt": r.Prompt}
			if r.First != nil {
				body["first_frame_image"] = dataURL(*r.First)
			}
			if r.Last != nil {
				body["last_frame_image"] = dataURL(*r.Last)
			}
			for _, b := range r.References {
				body["subject_reference"] = []any{map[string]any{"type": "character", "image": []string{dataURL(b)}}}
			}
			put(body, "resolution", strings.ToUpper(r.Resolution))
			put(body, "duration", r.Seconds)
			return "/video_generation", body, nil
		},
		lacks: []videoWish{wishSource, wishExtend, wishRatio, wishAudio, wishSeed, wishAvoid},
		id:    "task_id",
	},
	job:   videoState{address: "/query/video_generation?task_id={id}", state: "status", failure: "base_resp"},
	files: videoFiles{urls: "file_id", lookup: "/files/retrieve?file_id={id}", found: "file.download_url"},
}

// isHailuo reports whether a model of MiniMax's is one of version 1: Hailuo, and those that are
// named after what they make a video of.
func isHailuo(model string) bool {
	for _, prefix := range []string{"minimax-hailuo-", "t2v-", "i2v-", "s2v-", "video-"} {
		if strings.HasPrefix(strings.ToLower(model), prefix) {
			return true
		}
	}
	return false
}
