package media

import (
	"bytes"
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
	"parley/providers/wire"
)

// An imageMaker is what the formats of images have in common: it checks a request before
// anything is sent, asks as often as it takes, and looks at what comes back.
type imageMaker struct {
	o         adapter.Options
	abilities imageAbilities
	draw      func(ctx context.Context, r llm.ImageRequest, d *imageCall) error
	facts     catalog.ImageModel // zero if nothing is known of the model
	secrets   []string
	public    bool // addresses of other hosts are taken for what they are: for tests
}

// imageAbilities say what a format has words for, whatever the model.
type imageAbilities struct {
	n                     int   // images of one request; 0: as many as the model can
	inputs                int   // images that can be sent; 0: none
	bytes                 int64 // of all of them; 0 is mostInputBytes
	mask, transparent     bool
	pixels, ratios, tiers bool // ways to say a size
	step                  int  // of pixels, where nothing is known of the model
	quality, format       bool
	free                  bool // it runs at the user's: an image costs nothing
}

// Make implements llm.ImageMaker.
func (m imageMaker) Make(ctx context.Context, r llm.ImageRequest) iter.Seq2[llm.ImageEvent, error] {
	return func(yield func(llm.ImageEvent, error) bool) {
		d := &imageCall{ctx: ctx, m: m, yield: yield, secrets: wire.MaskText(m.secrets, 4)}
		r, notes, err := m.checkRequest(r)
		for _, note := range notes {
			if err == nil {
				err = d.send(llm.ImageEvent{Note: note})
			}
		}
		if err == nil {
			d.prompt, d.format = r.Prompt, r.Format
			err = m.ask(ctx, r, d)
		}
		if errors.Is(err, errConsumerLeft) {
			return
		}
		if err == nil || d.bill != (llm.Bill{}) {
			bill := m.facts.Bill(d.bill)
			bill.Priced = bill.Priced || m.abilities.free
			if d.send(llm.ImageEvent{Done: &bill}) != nil {
				return
			}
		}
		switch {
		case err == nil:
		case ctx.Err() != nil:
			yield(llm.ImageEvent{}, context.Cause(ctx))
		default:
			yield(llm.ImageEvent{}, withPurpose(wire.MaskError(m.o.WithProvider(err), m.secrets), "image"))
		}
	}
}

// ask sends r, in several requests where one cannot ask for so many images. A refusal of
// the prompt ends it, as it would be refused again.
func (m imageMaker) ask(ctx context.Context, r llm.ImageRequest, d *imageCall) error {
	wanted := r.N
	d.wanted = wanted
	for left := wanted; left > 0; left -= r.N {
		r.N = left
		if m.abilities.n > 0 {
			r.N = min(left, m.abilities.n)
		}
		err := m.draw(ctx, r, d)
		if refusal := refusalOf(err); refusal != nil {
			err = d.sendRefusal(*refusal)
		}
		if err != nil || d.declined {
			return err
		}
	}
	switch got := d.bill.Images; {
	case d.fault != nil:
		return d.fault
	case got == 0 && d.refused == 0:
		return &llm.Error{Fault: llm.Server, Message: "answered without an image"}
	case got+d.refused < wanted:
		return d.sendNote(fmt.Sprintf("%d of %d images came", got, wanted))
	}
	return nil
}

// A imageCall is one call of Make: what came so far, and to whom it goes.
type imageCall struct {
	ctx            context.Context
	m              imageMaker
	yield          func(llm.ImageEvent, error) bool
	secrets        func(string) string // takes them out
	prompt, format string
	bill           llm.Bill
	refused        int
	wanted         int // images
	surplus        int // that came beyond them
	partials       int
	declined       bool  // the prompt was
	fault          error // why an image that was made could not be had; the others are handed on
}

// errConsumerLeft reports that the consumer has left the loop.
var errConsumerLeft = errors.New("left")

func (d *imageCall) send(e llm.ImageEvent) error {
	if !d.yield(e, nil) {
		return errConsumerLeft
	}
	return nil
}

// addCost adds what the server says that an answer cost; nil if it says nothing.
func (d *imageCall) addCost(usd *float64) {
	if usd != nil && *usd >= 0 {
		d.bill.USD += *usd
		d.bill.Priced, d.bill.Reported = true, true
	}
}

// addUsage adds the usage of one answer, as OpenAI writes it; gateways add the cost.
func (d *imageCall) addUsage(raw []byte) {
	var u struct {
		Input   float64 `json:"input_tokens"`
		Output  float64 `json:"output_tokens"`
		Details struct {
			Images float64 `json:"image_tokens"`
		} `json:"input_tokens_details"`
		Cost *float64 `json:"cost"`
	}
	if len(raw) == 0 || adapter.DecodeLenient(raw, &u) != nil {
		return
	}
	d.bill.Tokens += adapter.TokenCount(u.Input)
	d.bill.ImageTokens += adapter.TokenCount(u.Details.Images)
	d.bill.Output += adapter.TokenCount(u.Output)
	d.addCost(u.Cost)
}

// sendNote tells the user of something that was adapted.
func (d *imageCall) sendNote(text string) error { return d.send(llm.ImageEvent{Note: d.secrets(text)}) }

// sendText hands on what the model said.
func (d *imageCall) sendText(text string) error {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return d.send(llm.ImageEvent{Text: d.secrets(text)})
}

// sendRevisedPrompt tells of the prompt that a service put in the place of the user's.
func (d *imageCall) sendRevisedPrompt(prompt string) error {
	if prompt = strings.TrimSpace(prompt); prompt == "" || prompt == strings.TrimSpace(d.prompt) {
		return nil
	}
	d.prompt = prompt // which is told once
	return d.sendNote("revised prompt: " + prompt)
}

// sendRefusal tells that there is a refusal in the place of an image.
func (d *imageCall) sendRefusal(r llm.Refusal) error {
	d.refused++
	d.declined = d.declined || r.Stage == "input"
	r.Text = d.secrets(r.Text)
	return d.send(llm.ImageEvent{Refused: &r})
}

// sendImage hands on an image that is done: data, or base64 of it, or where it is.
func (d *imageCall) sendImage(i sentImage) error {
	if d.bill.Images >= d.wanted { // a server decides nothing about files here
		if d.surplus++; d.surplus == 1 {
			return d.sendNote(d.m.o.Provider + " sent more images than asked for")
		}
		return nil
	}
	blob, err := d.readImage(i)
	if err != nil {
		if d.ctx.Err() != nil {
			return err
		}
		if d.fault == nil {
			d.fault = err
		}
		d.bill.Images++ // it is paid for
		return nil
	}
	d.bill.Images++
	if want := d.format; want != "" && blob.MIME != "image/"+want {
		if err := d.sendNote(fmt.Sprintf("%s sent %s instead of %s", d.m.o.Provider, strings.TrimPrefix(blob.MIME, "image/"), want)); err != nil {
			return err
		}
	}
	return d.send(llm.ImageEvent{Image: blob})
}

// maxPartials bounds how many unfinished images are shown.
const maxPartials = 8

// sendPartial hands on an image that is not finished. One that cannot be read is left out.
func (d *imageCall) sendPartial(b64 string) error {
	if d.partials++; d.partials > maxPartials {
		return nil
	}
	blob, err := d.readImage(sentImage{base64: b64})
	if err != nil {
		return nil
	}
	return d.send(llm.ImageEvent{Partial: blob})
}

// A sentImage is how a server hands over an image: one of its fields.
type sentImage struct {
	data   []byte
	base64 string // perhaps a data URL
	url    string // perhaps a data URL
}

func (i sentImage) isEmpty() bool { return len(i.data) == 0 && i.base64 == "" && i.url == "" }

// readImage returns an image, whose type is what its bytes say.
func (d *imageCall) readImage(i sentImage) (*llm.Blob, error) {
	data := i.data
	switch text := i.base64 + i.url; {
	case data != nil:
	case strings.HasPrefix(text, "data:"):
		_, text, _ = strings.Cut(text, ",")
		i.base64 = text
		fallthrough
	case i.base64 != "":
		var err error
		if data, err = imageBytes(i.base64); err != nil {
			return nil, &llm.Error{Fault: llm.Server, Message: "sent an image that is not base64"}
		}
	default:
		var err error
		if data, err = d.fetch(i.url); err != nil {
			return nil, err
		}
	}
	kind := imageType(data)
	if kind == "" {
		return nil, &llm.Error{Fault: llm.Server, Message: fmt.Sprintf("sent %d bytes that are no image", len(data))}
	}
	return &llm.Blob{MIME: kind, Data: data}, nil
}

// fetchAttempts bounds how often an image is downloaded, which costs nothing.
const fetchAttempts = 3

// maxImageBytes bounds an image that is downloaded.
const maxImageBytes = 64 << 20

// fetch downloads an image, with the key if it lies at the provider itself.
func (d *imageCall) fetch(url string) (data []byte, err error) {
	headers := map[string]string{}
	if d.m.o.Key != "" {
		headers["Authorization"] = "Bearer " + d.m.o.Key
	}
	for name, value := range d.m.o.Headers {
		headers[name] = value
	}
	for range fetchAttempts {
		var b bytes.Buffer
		_, _, err = d.m.o.Fetch(d.ctx, adapter.Download{URL: url, Headers: headers, Limit: maxImageBytes, Public: d.m.public}, &b)
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

// toBase64 writes base64 as everybody reads it.
func toBase64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// imageBytes decodes both alphabets, with and without padding and line breaks.
func imageBytes(text string) ([]byte, error) {
	text = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// refusalOf returns the refusal that an error stands for; nil if it is none. OpenAI says at
// which stage and why.
func refusalOf(err error) *llm.Refusal {
	var (
		e *llm.Error
		a *wire.Answer
	)
	if !errors.As(err, &e) || e.Fault != llm.ContentFilter {
		return nil
	}
	r := &llm.Refusal{Code: e.Code, Text: e.Message}
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

// categories reads a list of words, or an object in which those that apply are true.
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
