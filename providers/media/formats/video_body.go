package formats

import (
	"cmp"
	"fmt"
	"strings"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// The functions below build requests for videos.

// exclusive returns an error if both a and b are set; what names the two options.
func exclusive(model, what string, a, b bool) error {
	if a && b {
		return &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s does not take both %s", model, what)}
	}
	return nil
}

// framesOrReferences returns an error for a request with both frames and reference images.
func framesOrReferences(model string, r works.VideoRequest) error {
	return exclusive(model, "reference images, and a first or last frame", r.FirstFrame != nil || r.LastFrame != nil, len(r.References) > 0)
}

// urlOf returns b as a data URL; "" if b is nil.
func urlOf(b *works.Blob) string {
	if b == nil {
		return ""
	}
	return dataURL(*b)
}

// videoSize returns width and height of a resolution at 16:9, and whether it is known.
func videoSize(resolution string) (w, h int, known bool) {
	switch strings.ToLower(resolution) {
	case "480p":
		return 854, 480, true
	case "720p":
		return 1280, 720, true
	case "1080p":
		return 1920, 1080, true
	case "4k":
		return 3840, 2160, true
	}
	return 0, 0, false
}

// pixelsOf returns the resolution and ratio of r as WIDTHxHEIGHT, for services that accept no other
// form; "" if r sets neither.
func pixelsOf(model string, r works.VideoRequest) (string, error) {
	if strings.Contains(r.Resolution, "x") && r.Ratio == "" {
		return r.Resolution, nil
	}
	w, h, known := videoSize(cmp.Or(r.Resolution, "720p"))
	switch {
	case r.Resolution == "" && r.Ratio == "":
		return "", nil
	case known && (r.Ratio == "" || r.Ratio == "16:9"):
		return fmt.Sprintf("%dx%d", w, h), nil
	case known && r.Ratio == "9:16":
		return fmt.Sprintf("%dx%d", h, w), nil
	case known && r.Ratio == "1:1":
		return fmt.Sprintf("%dx%d", h, h), nil
	}
	return "", &llm.Error{Fault: llm.Unsupported, Message: fmt.Sprintf("%s takes pixels: give the resolution as 1280x720, without a ratio", model)}
}
