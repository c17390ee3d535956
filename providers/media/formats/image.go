package formats

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"parley/providers/adapter"
	"parley/providers/catalog"
	"parley/providers/llm"
	"parley/providers/llm/works"
	"parley/providers/media"
	"parley/providers/wire"
)

// An imageMaker is the common part of all image formats: it checks a request before sending
// anything, sends as many requests as needed, and checks the answers.
type imageMaker struct {
	o         adapter.Options
	abilities imageAbilities
	draw      func(ctx context.Context, r works.ImageRequest, d *imageCall) error // sends one request
	facts     catalog.ImageModel                                                  // zero if the model is unknown
	secrets   []string                                                            // masked in everything that is returned
	public    bool                                                                // treat local addresses as public: for tests
	limit     int64                                                               // bytes of an image; 0 is maxImageBytes: for tests
}

// imageAbilities describes the features of a format, for all models.
type imageAbilities struct {
	n                     int   // images per request; 0 if only the model limits it
	inputs                int   // input images; 0 for none
	bytes                 int64 // total size of input images; 0 is maxInputsBytes
	mask, transparent     bool
	pixels, ratios, tiers bool // ways to specify a size
	step                  int  // of pixels, for unknown models
	quality, format       bool
	free                  bool // runs on the user's machine: images cost nothing
}

// Make implements works.ImageMaker.
func (m imageMaker) Make(ctx context.Context, r works.ImageRequest) iter.Seq2[works.ImageEvent, error] {
	return func(yield func(works.ImageEvent, error) bool) {
		d := &imageCall{ctx: ctx, m: m, yield: yield, secrets: wire.MaskText(m.secrets, 4)}
		r, notes, err := m.checkRequest(r)
		if err == nil {
			for _, note := range notes {
				d.send(works.ImageEvent{Note: note})
			}
			d.prompt, d.format = r.Prompt, r.Format
			err = m.ask(ctx, r, d)
		}
		if err == nil || d.bill != (works.Bill{}) {
			bill := m.facts.Bill(d.bill)
			bill.Priced = bill.Priced || m.abilities.free
			d.send(works.ImageEvent{Done: &bill})
		}
		switch {
		case err == nil, d.left:
		case ctx.Err() != nil:
			yield(works.ImageEvent{}, context.Cause(ctx))
		default:
			yield(works.ImageEvent{}, media.WithPurpose(wire.MaskError(m.o.WithProvider(err), m.secrets), "image"))
		}
	}
}

// ask sends r, in several requests if one cannot request that many images. It stops when the prompt
// is refused, since it would be refused again.
func (m imageMaker) ask(ctx context.Context, r works.ImageRequest, d *imageCall) error {
	wanted := r.N
	d.wanted = wanted
	for left := wanted; left > 0; left -= r.N {
		r.N = left
		if r.Format == "svg" { // sent one by one
			r.N = 1
		} else if m.abilities.n > 0 {
			r.N = min(left, m.abilities.n)
		}
		err := m.draw(ctx, r, d)
		if refusal := refusalOf(err); refusal != nil {
			if ticks, ok := firstNumber(errorBody(err), "usage.cost_in_usd_ticks"); ok && ticks > 0 { // xAI charges for withheld images
				d.addCost(&ticks, ticksPerDollar)
				refusal.Billed = true
			}
			d.sendRefusal(*refusal)
			err = nil
		}
		if err != nil || d.declined || d.isOver() {
			return err
		}
	}
	switch got := d.bill.Images; {
	case d.fault != nil:
		return d.fault
	case got == 0 && d.refused == 0:
		return &llm.Error{Fault: llm.Server, Message: "answered without an image"}
	case got+d.refused < wanted:
		d.sendNote(fmt.Sprintf("%d of %d images came", got, wanted))
	}
	return nil
}

// An imageCall is one call of Make: its consumer, and its results so far.
type imageCall struct {
	ctx            context.Context
	m              imageMaker
	yield          func(works.ImageEvent, error) bool
	secrets        func(string) string // masks secrets
	prompt, format string
	bill           works.Bill
	refused        int // number of refused images
	wanted         int // number of requested images
	surplus        int // number of images beyond wanted
	partials       int
	declined       bool  // the prompt was refused
	left           bool  // the consumer left the loop
	fault          error // first error of reading a generated image; the other images are still sent
}

// send sends e, unless the consumer left.
func (d *imageCall) send(e works.ImageEvent) { d.left = d.left || !d.yield(e, nil) }

// isOver reports whether to stop sending.
func (d *imageCall) isOver() bool { return d.left || d.ctx.Err() != nil }

// addCost adds the cost that the server reports for an answer, in the given parts of a dollar; nil
// if it reports none.
func (d *imageCall) addCost(cost *float64, parts float64) {
	if cost != nil && *cost >= 0 {
		d.bill.USD += *cost / parts
		d.bill.Priced, d.bill.Reported = true, true
	}
}

// addUsage adds the usage of one answer, in OpenAI's format; gateways add the cost.
func (d *imageCall) addUsage(raw []byte) {
	var u struct {
		Input   float64 `json:"input_tokens"`
		Output  float64 `json:"output_tokens"`
		Details struct {
			Images float64 `json:"image_tokens"`
		} `json:"input_tokens_details"`
		Cost  *float64 `json:"cost"`
		Ticks *float64 `json:"cost_in_usd_ticks"` // xAI's
	}
	if len(raw) == 0 || adapter.DecodeLenient(raw, &u) != nil {
		return
	}
	d.bill.Tokens += adapter.TokenCount(u.Input)
	d.bill.ImageTokens += adapter.TokenCount(u.Details.Images)
	d.bill.Output += adapter.TokenCount(u.Output)
	d.addCost(u.Cost, 1)
	d.addCost(u.Ticks, ticksPerDollar)
}

// sendNote sends a notice for the user.
func (d *imageCall) sendNote(text string) { d.send(works.ImageEvent{Note: d.secrets(text)}) }

// sendText sends text of the model.
func (d *imageCall) sendText(text string) {
	if text = strings.TrimSpace(text); text != "" {
		d.send(works.ImageEvent{Text: d.secrets(text)})
	}
}

// sendRevisedPrompt sends a notice with the prompt that a service used instead of the user's.
func (d *imageCall) sendRevisedPrompt(prompt string) {
	if prompt = strings.TrimSpace(prompt); prompt != "" && prompt != strings.TrimSpace(d.prompt) {
		d.prompt = prompt // so that the notice comes once
		d.sendNote("revised prompt: " + prompt)
	}
}

// sendRefusal sends a refusal instead of an image.
func (d *imageCall) sendRefusal(r works.Refusal) {
	d.refused++
	d.declined = d.declined || r.Stage == "input"
	r.Text = d.secrets(r.Text)
	d.send(works.ImageEvent{Refused: &r})
}

// sendImage sends a finished image. It drops images beyond the requested number, and records the
// error of an unreadable image in d.fault.
func (d *imageCall) sendImage(i sentImage) {
	if i.isEmpty() || d.isOver() {
		return
	}
	if d.bill.Images >= d.wanted { // a server must not decide how many files are written
		if d.surplus++; d.surplus == 1 {
			d.sendNote(d.m.o.Provider + " sent more images than asked for")
		}
		return
	}
	blob, err := d.readImage(i)
	if d.ctx.Err() != nil {
		return
	}
	d.bill.Images++ // it is charged even if it cannot be read
	if err != nil {
		d.fault = cmp.Or(d.fault, err)
		return
	}
	if want, got := d.format, strings.TrimSuffix(strings.TrimPrefix(blob.MIME, "image/"), "+xml"); want != "" && got != want {
		d.sendNote(fmt.Sprintf("%s sent %s instead of %s", d.m.o.Provider, got, want))
	}
	d.send(works.ImageEvent{Image: blob})
}

// maxPartials bounds how many unfinished images are shown.
const maxPartials = 8

// sendPartial sends an unfinished image. It skips one that cannot be read.
func (d *imageCall) sendPartial(b64 string) {
	if d.partials++; d.partials > maxPartials {
		return
	}
	if blob, err := d.readImage(sentImage{base64: b64}); err == nil {
		d.send(works.ImageEvent{Partial: blob})
	}
}

// A sentImage is an image as a server sends it, in one of these fields.
type sentImage struct {
	data   []byte
	base64 string // may be a data URL
	url    string // may be a data URL
}

func (i sentImage) isEmpty() bool { return len(i.data) == 0 && i.base64 == "" && i.url == "" }

// readImage decodes or downloads an image. It takes the MIME type from the bytes.
func (d *imageCall) readImage(i sentImage) (*works.Blob, error) {
	data := i.data
	switch text := i.base64 + i.url; {
	case data != nil:
	case strings.HasPrefix(text, "data:"):
		_, text, _ = strings.Cut(text, ",")
		i.base64 = text
		fallthrough
	case i.base64 != "":
		var err error
		if data, err = adapter.FromBase64(i.base64); err != nil {
			return nil, &llm.Error{Fault: llm.Server, Message: "sent an image that is not base64"}
		}
	default:
		var err error
		if data, err = d.fetch(i.url); err != nil {
			return nil, err
		}
	}
	kind := imageType(data)
	if d.format == "svg" && isSVG(data) { // only on request, since models that see images do not accept SVG
		kind = "image/svg+xml"
	}
	if kind == "" {
		return nil, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("sent %d bytes that are not an image", len(data))}
	}
	return &works.Blob{MIME: kind, Data: data}, nil
}

// fetchAttempts bounds how often an image is downloaded, which costs nothing.
const fetchAttempts = 3

// maxImageBytes is the largest image that is downloaded, in bytes.
const maxImageBytes = 64 << 20

func (m imageMaker) maxBytes() int64 { return cmp.Or(m.limit, maxImageBytes) }

// fetch downloads an image. It sends the key only to the provider's own host.
func (d *imageCall) fetch(url string) (data []byte, err error) {
	headers := d.m.o.RequestHeaders("")
	for range fetchAttempts {
		var b bytes.Buffer
		_, err = fetch(d.ctx, d.m.o, download{URL: url, Headers: headers, Limit: d.m.maxBytes(), Public: d.m.public}, &b)
		if err == nil {
			return b.Bytes(), nil
		}
		var e *llm.Error
		if d.ctx.Err() != nil || errors.As(err, &e) && e.Fault != llm.Network && e.Status < 500 {
			break
		}
	}
	return nil, err
}

func toBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// refusalOf returns the refusal that an error reports; nil if it reports none. OpenAI adds the stage
// and the reasons.
func refusalOf(err error) *works.Refusal {
	var (
		e *llm.Error
		a *wire.Answer
	)
	if !errors.As(err, &e) || e.Fault != llm.ContentFilter {
		return nil
	}
	r := &works.Refusal{Code: e.Code, Text: e.Message}
	if !errors.As(e.Err, &a) {
		return r
	}
	var body struct {
		Error struct {
			Details struct {
				Stage      string          `json:"moderation_stage"`
				Categories json.RawMessage `json:"categories"`
			} `json:"moderation_details"`
		} `json:"error"`
	}
	if adapter.DecodeLenient(a.Body, &body) == nil {
		r.Stage = body.Error.Details.Stage
		if why := strings.Join(categories(body.Error.Details.Categories), ", "); why != "" {
			r.Text += " (" + why + ")"
		}
	}
	return r
}

// categories returns the strings of a list, or the names of the true members of an object.
func categories(raw json.RawMessage) (list []string) {
	if json.Unmarshal(raw, &list) == nil {
		return list
	}
	var each map[string]bool
	_ = adapter.DecodeLenient(raw, &each)
	for _, name := range slices.Sorted(maps.Keys(each)) {
		if each[name] {
			list = append(list, name)
		}
	}
	return list
}
