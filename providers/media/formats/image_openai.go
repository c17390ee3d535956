package formats

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"parley/providers/adapter"
	"parley/providers/adapter/openaiclient"
	"parley/providers/llm"
	"parley/providers/wire"
)

// imageService holds the differences of a kind of service on /images/generations and /images/edits.
type imageService struct {
	kind      string
	can       *imageAbilities
	base64    bool // base64 has to be requested; others send it anyway or reject the field
	repeated  bool // several images are form parts named "image", not "image[]"
	whiteMask bool // the mask is named "mask_image", and is white in the area to edit
	noN       bool // there is no field for the number of images
}

func (r imageService) serviceKind() string { return r.kind }

// openAIImages holds the features of OpenAI's format.
var openAIImages = imageAbilities{inputs: 16, mask: true, transparent: true, pixels: true, step: 16, quality: true, format: true}

// imageServices lists the services. The rows of Ollama and vLLM-Omni follow their documentation of
// November 2026; kind "openai" is any server with OpenAI's format.
var imageServices = []imageService{
	{kind: "openai", can: &openAIImages},
	{kind: kindResponses, can: &openAIImages},
	{kind: "ollama", can: &imageAbilities{n: 1, pixels: true, step: 16, free: true}, base64: true, noN: true},
	{kind: "vllm", can: &imageAbilities{inputs: 16, mask: true, pixels: true, step: 16, free: true}, base64: true, repeated: true, whiteMask: true},
}

// openAIImageMaker implements OpenAI's image format.
type openAIImageMaker struct {
	o       adapter.Options
	service imageService
	client  sdk.ImageService
}

// newOpenAIImageMaker returns the model that o describes, of a service of that kind. It sends nothing
// before Make.
func newOpenAIImageMaker(o adapter.Options, kind string) imageMaker {
	o = o.WithDefaults()
	m := openAIImageMaker{o: o, service: rowOf(imageServices, kind), client: sdk.ImageService{Options: openaiclient.Options(o)}}
	return imageMaker{o: o, abilities: *m.service.can, draw: m.draw}
}

func (m openAIImageMaker) draw(ctx context.Context, r llm.ImageRequest, d *imageCall) (err error) {
	if len(r.Inputs) > 0 && len(m.o.Body) > 0 { // the SDK drops extra fields when it streams edits
		r.Partials = 0
	}
	var whole []byte // body of an answer in one piece to a streaming request
	var left openaiclient.Unclosed
	defer func() {
		if err != nil {
			left.Close()
		}
	}()
	limits := []option.RequestOption{left.Option(), option.WithMiddleware(boundedAnswer(int64(r.N+1)*d.m.maxBytes(), r.Partials > 0, &whole))}
	var (
		events imageStream
		res    *sdk.ImagesResponse
	)
	switch {
	case len(r.Inputs) > 0:
		events, res, err = m.edit(ctx, r, limits)
	case r.Partials > 0:
		events = m.client.GenerateStreaming(ctx, m.generateParams(r), append(m.extraFields(), limits...)...)
	default:
		res, err = m.client.Generate(ctx, m.generateParams(r), append(m.extraFields(), limits...)...)
	}
	if err != nil {
		return unreadable(ctx, err)
	}
	if events != nil {
		if done, err := m.readStream(events, d); done || err != nil {
			return err
		}
		if len(whole) == 0 {
			return wire.ErrInterrupted
		}
		if err := json.Unmarshal(whole, &res); err != nil {
			return wire.DecodeError(whole, err)
		}
	}
	m.readAnswer(res, d)
	return nil
}

// unreadable returns err if it is an *llm.Error or ctx has ended. Any other error of the SDK means
// that it could not decode the answer.
func unreadable(ctx context.Context, err error) error {
	var known *llm.Error
	if ctx.Err() != nil || errors.As(err, &known) {
		return err
	}
	return &llm.Error{Fault: llm.Server, Message: "answered with something that cannot be read", Err: err}
}

// readAnswer handles an answer in one piece.
func (openAIImageMaker) readAnswer(res *sdk.ImagesResponse, d *imageCall) {
	if res == nil { // the answer is null
		return
	}
	d.addUsage([]byte(res.Usage.RawJSON()))
	var svg struct {
		Usage struct {
			Model string  `json:"model"`
			Total float64 `json:"total_tokens"`
		} `json:"svg_usage"`
	}
	if adapter.DecodeLenient([]byte(res.RawJSON()), &svg) == nil && svg.Usage.Total > 0 {
		d.sendNote(fmt.Sprintf("the SVG took %d tokens of %s, which are not in the price", adapter.TokenCount(svg.Usage.Total), svg.Usage.Model))
	}
	for _, i := range res.Data {
		d.sendImage(sentImage{base64: i.B64JSON, url: i.URL})
		d.sendRevisedPrompt(i.RevisedPrompt)
	}
}

// An imageStream is a stream of the SDK, which has one type for new images and one for edits.
type imageStream interface {
	Next() bool
	Err() error
	Close() error
}

// An imageEvent holds the fields that both kinds of events share.
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

// readStream sends unfinished images and the finished one to d. It returns false if there was no
// event.
func (openAIImageMaker) readStream(events imageStream, d *imageCall) (some bool, err error) {
	defer func() { _ = events.Close() }()
	finished := false
	for events.Next() {
		some = true
		var e imageEvent
		switch s := events.(type) {
		case *ssestream.Stream[sdk.ImageGenStreamEventUnion]:
			c := s.Current()
			e = imageEvent{c.Type, c.B64JSON, json.RawMessage(c.Usage.RawJSON())}
		case *ssestream.Stream[sdk.ImageEditStreamEventUnion]:
			c := s.Current()
			e = imageEvent{c.Type, c.B64JSON, json.RawMessage(c.Usage.RawJSON())}
		}
		done, _ := d.sendEvent(e)
		finished = finished || done
		if d.isOver() {
			return true, nil
		}
	}
	var sent *ssestream.StreamError
	switch err = events.Err(); {
	case errors.As(err, &sent):
		return true, wire.BodyError(sent.Event.Data)
	case err != nil:
		return true, err
	case some && !finished:
		return true, wire.ErrInterrupted
	}
	return some, nil
}

// generateParams returns the request for new images.
func (m openAIImageMaker) generateParams(r llm.ImageRequest) sdk.ImageGenerateParams {
	p := m.params(r)
	return sdk.ImageGenerateParams{
		Model: p.Model, Prompt: p.Prompt, N: p.N, PartialImages: p.PartialImages, Size: sdk.ImageGenerateParamsSize(p.Size),
		Background: sdk.ImageGenerateParamsBackground(p.Background), ResponseFormat: sdk.ImageGenerateParamsResponseFormat(p.ResponseFormat),
		Quality: sdk.ImageGenerateParamsQuality(p.Quality), OutputFormat: sdk.ImageGenerateParamsOutputFormat(p.OutputFormat),
	}
}

// params returns the common parameters of new images and edits.
func (m openAIImageMaker) params(r llm.ImageRequest) sdk.ImageEditParams {
	p := sdk.ImageEditParams{
		Model: m.o.Model, Prompt: r.Prompt, Quality: sdk.ImageEditParamsQuality(r.Quality), OutputFormat: sdk.ImageEditParamsOutputFormat(r.Format),
	}
	if r.N > 1 && !m.service.noN {
		p.N = sdk.Int(int64(r.N))
	}
	if r.Partials > 0 {
		p.PartialImages = sdk.Int(int64(min(r.Partials, 3)))
	}
	if r.Size.Width > 0 {
		p.Size = sdk.ImageEditParamsSize(r.Size.String())
	}
	if r.Transparent {
		p.Background = sdk.ImageEditParamsBackgroundTransparent
	}
	if m.service.base64 {
		p.ResponseFormat = sdk.ImageEditParamsResponseFormatB64JSON
	}
	return p
}

// extraFields returns the extra fields from the configuration.
func (m openAIImageMaker) extraFields() (opts []option.RequestOption) {
	for name, value := range m.o.Body {
		opts = append(opts, option.WithJSONSet(name, value))
	}
	return opts
}

// edit sends an edit. Servers differ in the names of the form parts, and reject wrong ones with
// status 422 before they generate anything, so it then tries the other name once.
func (m openAIImageMaker) edit(ctx context.Context, r llm.ImageRequest, limits []option.RequestOption) (imageStream, *sdk.ImagesResponse, error) {
	list := len(r.Inputs) > 1 && !m.service.repeated
	for attempt := 0; ; attempt++ {
		p, err := m.editParams(r, list || len(r.Inputs) > 1)
		if err != nil {
			return nil, nil, err
		}
		opts, names := slices.Clip(limits), map[string]string{}
		if !list && len(r.Inputs) > 1 {
			names["image[]"] = "image"
		}
		if m.service.whiteMask {
			names["mask"] = "mask_image"
		}
		if len(names) > 0 {
			opts = append(opts, renamedParts(names))
		}
		var (
			events imageStream
			res    *sdk.ImagesResponse
		)
		if r.Partials > 0 {
			s := m.client.EditStreaming(ctx, p, opts...)
			events, err = s, s.Err()
		} else {
			res, err = m.client.Edit(ctx, p, opts...)
		}
		var e *llm.Error
		if attempt > 0 || !errors.As(err, &e) || e.Status != http.StatusUnprocessableEntity {
			return events, res, err
		}
		list = !list
	}
}

// editParams returns the request for an edit. It names files by their type, since the SDK's
// default, application/octet-stream, is rejected.
func (m openAIImageMaker) editParams(r llm.ImageRequest, list bool) (sdk.ImageEditParams, error) {
	p := m.params(r)
	var files []io.Reader
	for i, in := range r.Inputs {
		files = append(files, sdk.File(bytes.NewReader(in.Data), fmt.Sprintf("image-%d%s", i+1, extension(in.MIME)), in.MIME))
	}
	if p.Image.OfFileArray = files; !list {
		p.Image = sdk.ImageEditParamsImageUnion{OfFile: files[0]}
	}
	if r.Mask != nil {
		mask := r.Mask.Data
		if m.service.whiteMask {
			var err error
			if mask, err = whiteMask(mask); err != nil {
				return p, err
			}
		}
		p.Mask = sdk.File(bytes.NewReader(mask), "mask.png", "image/png")
	}
	if len(m.o.Body) > 0 {
		p.SetExtraFields(m.o.Body)
	}
	return p, nil
}

// boundedAnswer returns a middleware that fails answers longer than limit. If stream is set but the
// server answers with JSON in one piece, it puts the body into whole.
func boundedAnswer(limit int64, stream bool, whole *[]byte) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if err != nil {
			return res, err
		}
		body := &limitedBody{res.Body, limit, limit}
		if res.Body = body; !stream {
			return res, nil
		}
		reader, first := wire.Sniff(body)
		if first == '{' {
			defer func() { _ = body.Close() }()
			*whole, err = io.ReadAll(reader)
			res.Body = http.NoBody
			return res, err
		}
		res.Body = struct {
			io.Reader
			io.Closer
		}{reader, body}
		return res, nil
	}
}

// A limitedBody fails once more than limit bytes were read.
type limitedBody struct {
	io.ReadCloser
	left, limit int64
}

func (b *limitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("answered with more than %d MB", b.limit>>20)}
	}
	return n, err
}
