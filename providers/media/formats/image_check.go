package formats

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg" // for the size of inputs
	"image/png"
	"slices"
	"strings"
	"unicode/utf8"

	_ "golang.org/x/image/webp" // for the size of inputs

	"parley/providers/adapter"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// Limits of requests to all models.
const (
	maxImages      = 10
	maxInputBytes  = 50 << 20 // of one image; OpenAI accepts no larger ones
	maxInputsBytes = 96 << 20 // of all images of a request, which is built in memory
	maxMaskBytes   = 4 << 20
)

// checkRequest returns r reduced to the features of the format, with notes about dropped options.
// The error has the fault Unsupported for an unsupported option that would change the result or its
// cost, and InvalidRequest for contradictions.
func (m imageMaker) checkRequest(r works.ImageRequest) (works.ImageRequest, []string, error) {
	r.N = max(r.N, 1)
	for _, check := range []func(*works.ImageRequest) error{m.checkPrompt, m.checkInputs, m.checkMask, m.checkOutput} {
		if err := check(&r); err != nil {
			return r, nil, err
		}
	}
	size, err := m.size(r.Size)
	if err != nil {
		return r, nil, err
	}
	r.Size = size
	var notes []string
	if r.Quality != "" && !m.abilities.quality {
		notes = append(notes, adapter.LeftOut(m.o.Model, "the quality"))
		r.Quality = ""
	}
	if r.Format != "" && !m.abilities.format {
		notes = append(notes, adapter.LeftOut(m.o.Model, "the file format"))
		r.Format = ""
	}
	if !m.facts.Partials || r.N > 1 || r.Format == "gif" || r.Format == "svg" { // events do not say which image they belong to
		r.Partials = 0
	}
	return r, notes, nil
}

// unsupported returns the error for an unsupported option.
func (m imageMaker) unsupported(format string, args ...any) error {
	return &llm.Error{Fault: llm.Unsupported, Message: m.o.Model + " " + fmt.Sprintf(format, args...)}
}

func invalid(format string, args ...any) error {
	return &llm.Error{Fault: llm.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}

func (m imageMaker) checkPrompt(r *works.ImageRequest) error {
	has, most := utf8.RuneCountInString(r.Prompt), m.facts.MaxPrompt
	if strings.TrimSpace(r.Prompt) == "" {
		return invalid("the prompt is empty")
	}
	if most > 0 && has > most {
		return m.unsupported("takes prompts of up to %d characters, and this one has %d", most, has)
	}
	return nil
}

func (m imageMaker) checkInputs(r *works.ImageRequest) error {
	most := m.abilities.inputs
	if m.hasFacts() {
		most = min(most, m.facts.Inputs)
	}
	switch has := len(r.Inputs); {
	case has == 0:
		return nil
	case most == 0:
		return m.unsupported("makes new images only: it takes none to change")
	case has > most:
		return m.unsupported("takes at most %d images, and %d were given", most, has)
	}
	sum, limit := int64(0), m.abilities.bytes
	if limit == 0 {
		limit = maxInputsBytes
	}
	r.Inputs = slices.Clone(r.Inputs)
	for i := range r.Inputs {
		in := &r.Inputs[i]
		name := inputName(*in, i)
		switch in.MIME = imageType(in.Data); {
		case !slices.Contains(inputTypes, in.MIME):
			return invalid("%s is not an image that can be sent: use PNG, JPEG or WebP", name)
		case len(in.Data) > maxInputBytes:
			return invalid("%s has %d MB, and an image may have %d", name, len(in.Data)>>20, maxInputBytes>>20)
		}
		sum += int64(len(in.Data))
	}
	if sum > limit {
		return invalid("the images have %d MB together, and may have %d", sum>>20, limit>>20)
	}
	return nil
}

// inputTypes lists the types of images that every service accepts.
var inputTypes = []string{"image/png", "image/jpeg", "image/webp"}

func (m imageMaker) hasFacts() bool { return m.facts.ID != "" }

// inputName returns the name of an input in errors.
func inputName(b works.Blob, i int) string {
	if b.Name != "" {
		return b.Name
	}
	return fmt.Sprintf("image %d", i+1)
}

// checkMask checks that a mask has the size of the first image and that some of it is transparent,
// which marks the area to change.
func (m imageMaker) checkMask(r *works.ImageRequest) error {
	if r.Mask == nil {
		return nil
	}
	if !m.abilities.mask || m.hasFacts() && !m.facts.Mask {
		return m.unsupported("takes no mask")
	}
	if len(r.Inputs) == 0 {
		return invalid("a mask needs the image that it is for")
	}
	data := r.Mask.Data
	config, format, err := image.DecodeConfig(bytes.NewReader(data))
	first, _, firstErr := image.DecodeConfig(bytes.NewReader(r.Inputs[0].Data))
	switch {
	case err != nil || format != "png":
		return invalid("the mask is not a PNG image")
	case len(data) > maxMaskBytes:
		return invalid("the mask has %d MB, and may have %d", len(data)>>20, maxMaskBytes>>20)
	case firstErr != nil:
		return invalid("%s cannot be read: %v", inputName(r.Inputs[0], 0), firstErr)
	case config.Width != first.Width || config.Height != first.Height:
		return invalid("the mask has %dx%d pixels, and the image %dx%d: they have to be the same", config.Width, config.Height, first.Width, first.Height)
	}
	mask, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return invalid("the mask is no readable PNG image")
	}
	if opaque, ok := mask.(interface{ Opaque() bool }); ok && opaque.Opaque() {
		return invalid("nothing of the mask is transparent: make transparent what is to be changed")
	}
	return nil
}

// checkOutput checks number, background, quality and format against the model's abilities.
func (m imageMaker) checkOutput(r *works.ImageRequest) error {
	most := maxImages
	if m.abilities.n == 0 && m.facts.MaxN > 0 {
		most = m.facts.MaxN
	}
	switch {
	case r.N > most:
		return m.unsupported("makes up to %d images at once, and %d were asked for", most, r.N)
	case r.Transparent && (!m.abilities.transparent || m.hasFacts() && !m.facts.Transparent):
		return m.unsupported("makes no transparent background")
	case r.Transparent && (r.Format == "jpeg" || r.Format == "gif" || r.Format == "svg"):
		return invalid("%s images have no transparent background: use png or webp", strings.ToUpper(r.Format))
	case r.Mask != nil && r.Format == "gif":
		return invalid("GIF images are not made with a mask: use another format")
	case r.Quality != "" && m.abilities.quality && len(m.facts.Qualities) > 0 && !slices.Contains(m.facts.Qualities, r.Quality):
		return m.unsupported("knows no quality %q, only %s", r.Quality, strings.Join(m.facts.Qualities, ", "))
	case r.Format != "" && m.abilities.format && len(m.facts.Formats) > 0 && !slices.Contains(m.facts.Formats, r.Format):
		return m.unsupported("makes no %s, only %s", r.Format, strings.Join(m.facts.Formats, ", "))
	}
	return nil
}

// size returns s in a form that the format supports: unchanged, or in pixels.
func (m imageMaker) size(s works.Size) (works.Size, error) {
	facts, can := m.facts, m.abilities
	inRatios := len(facts.Ratios) == 0 || slices.Contains(facts.Ratios, s.Ratio)
	inTiers := len(facts.Tiers) == 0 || slices.Contains(facts.Tiers, s.Tier)
	switch {
	case s == (works.Size{}):
		return s, nil
	case s.Width > 0 && !can.pixels:
		return s, m.unsupported("takes no size in pixels: %s", m.sizes())
	case s.Width > 0:
		return s, m.checkPixels(s)
	case (s.Ratio == "" || can.ratios && inRatios) && (s.Tier == "" || can.tiers && inTiers):
		return s, nil
	case !can.pixels:
		return s, m.unsupported("makes no images of %s: %s", s, m.sizes())
	}
	for _, name := range facts.Sizes {
		if listed, err := works.ParseSize(name); err == nil && (s.Tier == "" || s.Tier == "1K") && sameAspect(listed.Aspect(), max(s.Aspect(), 0)) {
			return listed, nil
		}
	}
	if facts.Step == 0 && len(facts.Sizes) > 0 {
		return s, m.unsupported("makes no images of %s: %s", s, m.sizes())
	}
	step := facts.Step
	if step == 0 {
		step = max(can.step, 1)
	}
	s.Width, s.Height = s.Pixels(step, facts.MaxPixels)
	s.Ratio, s.Tier = "", ""
	return s, m.checkPixels(s)
}

// sameAspect reports whether two aspects are about equal; b 0 is a square.
func sameAspect(a, b float64) bool {
	if b == 0 {
		b = 1
	}
	return a/b > 0.999 && a/b < 1.001
}

// checkPixels checks a size in pixels against what the model accepts.
func (m imageMaker) checkPixels(s works.Size) error {
	facts := m.facts
	aspect := s.Aspect()
	switch {
	case s.Width < 0 || s.Height <= 0:
		return invalid("size %dx%d", s.Width, s.Height)
	case slices.Contains(facts.Sizes, s.String()):
		return nil
	case facts.Step == 0 && len(facts.Sizes) > 0,
		facts.Step > 0 && (s.Width%facts.Step != 0 || s.Height%facts.Step != 0),
		facts.MaxPixels > 0 && s.Width*s.Height > facts.MaxPixels,
		facts.MaxRatio > 0 && max(aspect, 1/aspect) > facts.MaxRatio:
		return m.unsupported("makes no images of %s: %s", s, m.sizes())
	}
	return nil
}

// sizes returns the sizes that the model accepts, as advice.
func (m imageMaker) sizes() string {
	var ways []string
	add := func(has bool, format string, args ...any) {
		if has {
			ways = append(ways, fmt.Sprintf(format, args...))
		}
	}
	facts, can := m.facts, m.abilities
	add(can.pixels && facts.Step == 0 && len(facts.Sizes) > 0, "%s", strings.Join(facts.Sizes, ", "))
	if can.pixels && facts.Step > 0 {
		rule := "pixels"
		if facts.Step > 1 {
			rule = fmt.Sprintf("multiples of %d", facts.Step)
		}
		if facts.MaxPixels > 0 {
			rule += fmt.Sprintf(", up to %.1f megapixels", float64(facts.MaxPixels)/1e6)
		}
		if facts.MaxRatio > 0 {
			rule += fmt.Sprintf(", not longer than %g:1", facts.MaxRatio)
		}
		ways = append(ways, rule)
	}
	add(can.ratios && len(facts.Ratios) > 0, "%s", strings.Join(facts.Ratios, ", "))
	add(can.tiers && len(facts.Tiers) > 0, "%s", strings.Join(facts.Tiers, ", "))
	if len(ways) == 0 {
		return "use a ratio such as 16:9"
	}
	return "use " + strings.Join(ways, "; or ")
}

// imageTypes holds the first bytes of images; ? stands for any byte.
var imageTypes = []struct{ magic, mime string }{
	{"\x89PNG\r\n\x1a\n", "image/png"},
	{"\xff\xd8\xff", "image/jpeg"},
	{"RIFF????WEBP", "image/webp"},
	{"GIF87a", "image/gif"},
	{"GIF89a", "image/gif"},
	{"????ftypavif", "image/avif"},
}

// imageType returns the MIME type of an image by its first bytes; "" if it is unknown.
func imageType(data []byte) string {
	for _, t := range imageTypes {
		if len(data) > len(t.magic) && fits(data, t.magic) {
			return t.mime
		}
	}
	return ""
}

// isSVG looks only for the root element of an SVG: an SVG may contain scripts.
func isSVG(data []byte) bool {
	text := bytes.TrimLeft(data, "\ufeff \t\r\n")
	for bytes.HasPrefix(text, []byte("<?")) || bytes.HasPrefix(text, []byte("<!")) {
		end := ">"
		if bytes.HasPrefix(text, []byte("<!--")) {
			end = "-->"
		}
		_, text, _ = bytes.Cut(text, []byte(end))
		text = bytes.TrimLeft(text, "]> \t\r\n") // also the end of a DTD
	}
	return bytes.HasPrefix(text, []byte("<svg")) && utf8.Valid(text)
}

func fits(data []byte, magic string) bool {
	for i := range len(magic) {
		if magic[i] != '?' && magic[i] != data[i] {
			return false
		}
	}
	return true
}
