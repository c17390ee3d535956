package formats

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"reflect"
	"strings"

	"parley/providers/adapter"
	"parley/providers/llm/works"
	"parley/providers/wire"
)

// imageFormat is the wire format of images of a kind of service. Requests are JSON, except edits
// sent as forms.
type imageFormat struct {
	kind   string
	can    imageAbilities
	key    string    // header of the key; "" is Authorization
	stream bool      // can stream unfinished images
	edits  *editForm // nil if edits are JSON
	// compile returns the address and the body of a request.
	compile func(o adapter.Options, r works.ImageRequest) (url string, body map[string]any)
	// decode sends the content of an answer to d.
	decode func(text []byte, d *imageCall) error
}

func (r imageFormat) serviceKind() string { return r.kind }

// imageFormats lists the formats. Limits are those of the services' documentation in November
// 2026; what the models of a service can do is in the catalog.
var imageFormats = []imageFormat{
	{kind: "openai", can: imageAbilities{inputs: 16, mask: true, transparent: true, pixels: true, step: 16, quality: true, format: true}, stream: true, edits: &editForm{}, compile: compileOpenAIImage, decode: decodeImages},
	{kind: kindResponses, can: imageAbilities{inputs: 16, mask: true, transparent: true, pixels: true, step: 16, quality: true, format: true}, stream: true, edits: &editForm{}, compile: compileOpenAIImage, decode: decodeImages},
	{kind: "ollama", can: imageAbilities{n: 1, pixels: true, step: 16, free: true}, stream: true, compile: compileLocalImage, decode: decodeImages},
	{kind: "vllm", can: imageAbilities{inputs: 16, mask: true, pixels: true, step: 16, free: true}, stream: true, edits: &editForm{repeated: true, whiteMask: true},
		compile: compileLocalImage, decode: decodeImages},
	{kind: "gemini", can: imageAbilities{n: 1, inputs: 14, bytes: 14 << 20, ratios: true, tiers: true}, key: "X-Goog-Api-Key", compile: compileGeminiImage, decode: decodeGeminiImage},
	{kind: "grok", can: imageAbilities{inputs: 5, ratios: true, tiers: true, quality: true}, compile: compileGrokImage, decode: decodeXAIImages},
	{kind: "qwen", can: imageAbilities{inputs: 10, pixels: true, step: 16}, compile: compileQwenImage, decode: decodeQwenImage},
	{kind: "glm", can: imageAbilities{n: 1, pixels: true, step: 16, quality: true}, compile: compileGLMImage, decode: decodeImages},
	{kind: "minimax", can: imageAbilities{inputs: 1, pixels: true, ratios: true, step: 8}, compile: compileMiniMaxImage, decode: decodeMiniMaxImage},
	{kind: "openrouter", can: imageAbilities{inputs: 16, transparent: true, pixels: true, ratios: true, tiers: true, quality: true, format: true}, stream: true,
		compile: compileOpenRouterImage, decode: decodeImages},
}

// newImageMaker returns the model that o describes, of a service of that kind. It sends nothing
// before Make.
func newImageMaker(o adapter.Options, kind string) imageMaker {
	f := rowOf(imageFormats, kind)
	o = o.WithDefaults()
	return imageMaker{o: o, abilities: f.can, draw: func(ctx context.Context, r works.ImageRequest, d *imageCall) error { return f.draw(ctx, o, r, d) }}
}

// draw sends one request for r.
func (f imageFormat) draw(ctx context.Context, o adapter.Options, r works.ImageRequest, d *imageCall) error {
	url, body := f.compile(o, r)
	client := adapter.Client{HTTP: o.HTTP, Headers: o.RequestHeaders(f.key)}
	if r.Partials = min(r.Partials, 3); f.stream && r.Partials > 0 {
		body["stream"], body["partial_images"] = true, r.Partials
	}
	wire.Merge(body, o.Body)
	if f.edits != nil && len(r.Inputs) > 0 {
		return f.edit(ctx, client, url, body, r, d)
	}
	return f.ask(ctx, client, url, body, r, d)
}

// ask sends a request for r and reads its answer.
func (f imageFormat) ask(ctx context.Context, client adapter.Client, url string, body any, r works.ImageRequest, d *imageCall) error {
	if f.stream && r.Partials > 0 {
		return f.readEvents(ctx, client, url, body, d)
	}
	var text json.RawMessage
	if err := call(ctx, client, http.MethodPost, url, body, &text, int64(r.N+1)*d.m.maxBytes()); err != nil || ctx.Err() != nil {
		return cmp.Or(err, ctx.Err())
	}
	return f.read(text, d)
}

// read handles an answer in one piece, which may contain an error although its status is 200.
func (f imageFormat) read(text []byte, d *imageCall) error {
	if len(text) < 1<<20 { // longer answers hold images
		if fault := wire.EventError(text); fault != nil {
			return fault
		}
	}
	return f.decode(text, d)
}

// readEvents sends a request for a stream, and sends its unfinished images and the finished one to d.
func (f imageFormat) readEvents(ctx context.Context, client adapter.Client, url string, body any, d *imageCall) error {
	res, err := send(ctx, client, http.MethodPost, url, body, "text/event-stream")
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	reader, first := wire.Sniff(res.Body)
	if first == '{' {
		whole, err := wire.ReadAll(reader)
		if err != nil {
			return err
		}
		return f.read(whole, d)
	}
	finished := false
	for events := wire.NewEvents(reader); ; {
		data, err := events.Next()
		switch {
		case err != nil && finished:
			return nil
		case err == io.EOF:
			return wire.ErrInterrupted
		case err != nil: // of the transport, which names the cause
			return err
		}
		var e imageEvent
		if err := adapter.DecodeLenient(data, &e); err != nil {
			return events.Blame(data, wire.DecodeError(data, err))
		}
		if done, known := d.sendEvent(e); known {
			finished = finished || done
		} else if fault := wire.EventError(data); fault != nil {
			return fault
		}
		if d.isOver() {
			return nil
		}
	}
}

// An imageEvent is an event about a new image or an edit.
type imageEvent struct {
	Type    string          `json:"type"`
	B64JSON string          `json:"b64_json"`
	Usage   json.RawMessage `json:"usage"`
}

// sendEvent sends the image of an event, and reports whether the image is finished. Known is false for
// unknown events.
func (d *imageCall) sendEvent(e imageEvent) (finished, known bool) {
	switch {
	case strings.HasSuffix(e.Type, ".partial_image"):
		d.sendPartial(e.B64JSON)
		return false, true
	case strings.HasSuffix(e.Type, ".completed"):
		d.addUsage(e.Usage)
		d.sendImage(sentImage{base64: e.B64JSON})
		return true, true
	}
	return false, false
}

// dataURL returns b as a data URL.
func dataURL(b works.Blob) string { return "data:" + b.MIME + ";base64," + toBase64(b.Data) }

// fields removes fields with zero or empty values from all, except the prompt, and returns all.
func fields(all map[string]any) map[string]any {
	maps.DeleteFunc(all, func(name string, value any) bool {
		v := reflect.ValueOf(value)
		return name != "prompt" && (!v.IsValid() || v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0)
	})
	return all
}
