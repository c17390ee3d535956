package formats

import (
	"bytes"
	"image/color"
	"strings"
	"testing"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
)

// TestImageRequestsThatCannotBe checks that unsupported and contradictory requests are rejected
// before anything is sent.
func TestImageRequestsThatCannotBe(t *testing.T) {
	server := newImageServer(t, saysJSON(openAIImageAnswer(pngImage)))
	input := func(data []byte) []works.Blob { return []works.Blob{{Name: "in.png", Data: data}} }
	many := make([]works.Blob, 17)
	for i := range many {
		many[i] = works.Blob{Data: pngImage}
	}
	heic := append([]byte("\x00\x00\x00\x18ftypheic"), make([]byte, 100)...)
	large := append(bytes.Clone(pngImage), make([]byte, 60<<20)...)
	opaque := pngOf(4, 3, color.NRGBA{1, 2, 3, 255})
	blob := func(data []byte) *works.Blob { return &works.Blob{Data: data} }
	for _, test := range []struct {
		name, provider, model string
		r                     works.ImageRequest
		fault                 llm.Fault
		want                  string
	}{
		{"no prompt", "", "", works.ImageRequest{Prompt: " \n"}, llm.InvalidRequest, "prompt is empty"},
		{"a long prompt", "openai", "gpt-image-2", works.ImageRequest{Prompt: strings.Repeat("é", 40_000)}, llm.Unsupported, "32000 characters"},
		{"text called .png", "", "", works.ImageRequest{Inputs: input([]byte("just words"))}, llm.InvalidRequest, "in.png is not an image"},
		{"HEIC", "", "", works.ImageRequest{Inputs: input(heic)}, llm.InvalidRequest, "in.png is not an image"},
		{"a GIF", "", "", works.ImageRequest{Inputs: input([]byte("GIF89a\x01\x00\x01\x00"))}, llm.InvalidRequest, "in.png is not an image that can be sent"},
		{"nothing", "", "", works.ImageRequest{Inputs: input(nil)}, llm.InvalidRequest, "in.png is not an image"},
		{"60 MB", "", "", works.ImageRequest{Inputs: input(large)}, llm.InvalidRequest, "60 MB"},
		{"two that are too large together", "", "", works.ImageRequest{Inputs: append(input(large[:49<<20]), works.Blob{Data: large[:49<<20]})}, llm.InvalidRequest, "together"},
		{"17 images", "openai", "gpt-image-2", works.ImageRequest{Inputs: many}, llm.Unsupported, "at most 16 images, and 17"},
		{"an image for who takes none", "test", "new", works.ImageRequest{Inputs: input(pngImage)}, llm.Unsupported, "new images only"},
		{"a mask of another size", "", "", works.ImageRequest{Inputs: input(pngImage), Mask: blob(pngOf(5, 3, color.NRGBA{}))}, llm.InvalidRequest, "5x3 pixels, and the image 4x3"},
		{"a mask without alpha", "", "", works.ImageRequest{Inputs: input(pngImage), Mask: blob(opaque)}, llm.InvalidRequest, "transparent"},
		{"a JPEG as mask", "", "", works.ImageRequest{Inputs: input(pngImage), Mask: blob(jpegImage)}, llm.InvalidRequest, "not a PNG"},
		{"a mask for nothing", "", "", works.ImageRequest{Mask: blob(pngMask)}, llm.InvalidRequest, "needs the image"},
		{"a mask for who takes none", "test", "plain", works.ImageRequest{Inputs: input(pngImage), Mask: blob(pngMask)}, llm.Unsupported, "takes no mask"},
		{"a transparent JPEG", "", "", works.ImageRequest{Transparent: true, Format: "jpeg"}, llm.InvalidRequest, "JPEG"},
		{"a transparent GIF", "openai", "gpt-image-2.6-flare", works.ImageRequest{Transparent: true, Format: "gif"}, llm.InvalidRequest, "GIF"},
		{"a transparent SVG", "openai", "gpt-image-2.6-flare", works.ImageRequest{Transparent: true, Format: "svg"}, llm.InvalidRequest, "SVG"},
		{"transparent where it is not", "test", "plain", works.ImageRequest{Transparent: true}, llm.Unsupported, "no transparent background"},
		{"11 images", "openai", "gpt-image-2", works.ImageRequest{N: 11}, llm.Unsupported, "up to 10 images"},
		{"1000x1000", "openai", "gpt-image-2", works.ImageRequest{Size: works.Size{Width: 1000, Height: 1000}}, llm.Unsupported, "multiples of 16"},
		{"too long", "openai", "gpt-image-2", works.ImageRequest{Size: works.Size{Width: 1600, Height: 160}}, llm.Unsupported, "not longer than 3:1"},
		{"too large", "openai", "gpt-image-2", works.ImageRequest{Size: works.Size{Width: 4096, Height: 4096}}, llm.Unsupported, "8.3 megapixels"},
		{"a negative size", "", "", works.ImageRequest{Size: works.Size{Width: 10, Height: -1}}, llm.InvalidRequest, "size 10x-1"},
		{"16:9 where three sizes are", "openai", "gpt-image-1.5", works.ImageRequest{Size: works.Size{Ratio: "16:9"}}, llm.Unsupported, "1024x1024, 1536x1024"},
		{"an unknown quality", "openai", "gpt-image-2", works.ImageRequest{Quality: "hd"}, llm.Unsupported, "auto, low, medium, high"},
		{"an unknown format", "openai", "gpt-image-2", works.ImageRequest{Format: "gif"}, llm.Unsupported, "png, jpeg, webp"},
	} {
		m := openAISuite.maker(server.URL)
		switch test.provider {
		case "":
		case "test":
			m.facts = catalog.ImageModel{ID: test.model}
			if test.model == "plain" {
				m.facts.Inputs = 1
			}
		default:
			m.facts = imageFacts(t, test.provider, test.model)
		}
		if test.r.Prompt == "" {
			test.r.Prompt = "a fox"
		}
		o := made(t, m, test.r)
		if llm.FaultOf(o.err) != test.fault || !strings.Contains(o.err.Error(), test.want) {
			t.Errorf("%s: %v, want %s with %q", test.name, o.err, test.fault, test.want)
		}
	}
	if n := len(server.seen()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestImageSizesInTheWordsOfTheModel(t *testing.T) {
	for _, test := range []struct{ provider, model, size, want string }{
		{"openai", "gpt-image-2", "1536x1024", "1536x1024"},
		{"openai", "gpt-image-2", "3:2", "1536x1024"},
		{"openai", "gpt-image-2", "1:1", "1024x1024"},
		{"openai", "gpt-image-2", "16:9 4K", "3840x2160"},
		{"openai", "gpt-image-2", "2K", "2048x2048"},
		{"openai", "gpt-image-1.5", "2:3", "1024x1536"},
		{"openai", "gpt-image-1.5", "1K", "1024x1024"},
	} {
		m := imageMaker{abilities: rowOf(imageFormats, "openai").can, facts: imageFacts(t, test.provider, test.model)}
		size, err := works.ParseSize(test.size)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := m.size(size); err != nil || got.String() != test.want {
			t.Errorf("%s of %s: %s, %v; want %s", test.size, test.model, got, err, test.want)
		}
	}
}

func TestBase64OfServers(t *testing.T) {
	for text, ok := range map[string]bool{"AAAA": true, "AAA=": true, "AAA": true, "AA\nAA": true, "-_-_": true, "A": false, "A%AA": false, "A===": false} {
		if _, err := adapter.FromBase64(text); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
