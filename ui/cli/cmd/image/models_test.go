package image

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media/formats"
	"parley/ui/cli/ability"
)

// An image is saved unchanged. The conversation gets an image that models accept, or a text that names the file; the
// name is mentioned once. If no file can be written, it still gets the image.
func TestKeepImage(t *testing.T) {
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	avif := append([]byte("\x00\x00\x00\x1cftypavif\x00\x00\x00\x00avifmif1miaf"), 0xff, 0xfe, 0x00)
	for _, test := range []struct {
		name  string
		blob  works.Blob
		there bool // the directory exists
		kind  llm.Kind
		part  string // Name of the part, or a piece of its text
		told  string
		file  string // "" if none was saved
		lost  bool
	}{
		{"an image", works.Blob{MIME: "image/png", Data: photo.Bytes()}, true, llm.Media, "a-fox.png", "Saved in ", "a-fox.png", false},
		{"one that no model takes", works.Blob{MIME: "image/avif", Data: avif}, true, llm.Text, "saved as a-fox.avif", "a-fox.avif", "a-fox.avif", false},
		{"one that cannot be saved", works.Blob{MIME: "image/png", Data: photo.Bytes()}, false, llm.Media, "a-fox.png", "", "", true},
		{"neither", works.Blob{MIME: "image/avif", Data: avif}, false, "", "", "", "", true},
	} {
		dir := filepath.Join(t.TempDir(), "there")
		if test.there {
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		part, told, err := saveImage(&ability.Env{AbbrevPath: func(path string) string { return path }}, dir, "A fox", test.blob)
		if part.Kind != test.kind || !strings.Contains(part.Name+part.Text, test.part) || (err != nil) != test.lost {
			t.Errorf("%s: %+v, %v", test.name, part, err)
		}
		if !strings.Contains(told, test.told) || test.told == "" && told != "" || test.kind == llm.Media && strings.Contains(told, "a-fox") {
			t.Errorf("%s: told %q", test.name, told)
		}
		if test.file != "" {
			if saved, err := os.ReadFile(filepath.Join(dir, test.file)); err != nil || !bytes.Equal(saved, test.blob.Data) {
				t.Errorf("%s: saved %d bytes, %v", test.name, len(saved), err)
			}
		}
	}
}

// The configured image model is in the picker, even if only its server knows it.
func TestImageModelOfTheConfiguration(t *testing.T) {
	formats.Register()
	env := &ability.Env{Services: func() providers.Config { return providers.Config{} }}
	for _, test := range []struct {
		model string
		first bool
	}{{"box/sd-turbo", true}, {"openai/gpt-image-2", false}, {"", false}} {
		items := Images{}.Models(env, "", test.model).List()
		if len(items) == 0 || (items[0].Value == test.model && !items[0].Disabled) != test.first {
			t.Errorf("%q: the first is %+v", test.model, items[0])
		}
	}
}
