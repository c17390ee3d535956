package catalog

import (
	"cmp"
	"embed"
	"path"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/providers/llm/works"
)

// Media holds the embedding, image and video models of one provider. The first of each kind is the
// default.
type Media struct {
	Embeddings []Embedding  `toml:"embeddings"`
	Images     []ImageModel `toml:"images"`
	Videos     []VideoModel `toml:"videos"`
}

// An Embedding is a model that turns text into vectors.
type Embedding struct {
	ID         string `toml:"id"`
	Dimensions int    `toml:"dimensions"` // default dimensions of its vectors
	Least      int    `toml:"least"`      // smallest number of dimensions that can be requested; 0 if only Dimensions
	Most       int    `toml:"most"`       // largest number
	MaxInput   int    `toml:"max_input"`  // tokens per text
	Batch      int    `toml:"batch"`      // texts per request; 0 for the default of the wire format
	Price      Price  `toml:"price"`      // for input
}

// An ImageModel generates images. Empty lists and zero limits are unknown: requests are sent
// unchecked, and the provider decides.
type ImageModel struct {
	ID          string     `toml:"id"`
	Name        string     `toml:"name"` // display name
	Price       imagePrice `toml:"price"`
	MaxN        int        `toml:"max_n"`       // images per request
	Inputs      int        `toml:"inputs"`      // maximum number of images in a request; 0 if it cannot edit
	Mask        bool       `toml:"mask"`        // edits can be limited by a mask
	Transparent bool       `toml:"transparent"` // backgrounds can be transparent
	Partials    bool       `toml:"partials"`    // streams unfinished images
	Formats     []string   `toml:"formats"`
	Qualities   []string   `toml:"qualities"`
	Sizes       []string   `toml:"sizes"` // in pixels, such as "1024x1024"
	Step        int        `toml:"step"`  // free sizes must be multiples of it, in pixels; 0 if only Sizes
	MaxPixels   int        `toml:"max_pixels"`
	MaxRatio    float64    `toml:"max_ratio"`  // longer side to shorter side
	MaxPrompt   int        `toml:"max_prompt"` // characters
	Ratios      []string   `toml:"ratios"`
	Tiers       []string   `toml:"tiers"` // such as "1K"
}

// An imagePrice is in US dollars; zero fields are unknown.
type imagePrice struct {
	Free   bool    `toml:"free"`
	Image  float64 `toml:"image"`  // per image
	Text   float64 `toml:"text"`   // per million input tokens of text
	Input  float64 `toml:"input"`  // per million input tokens of images
	Output float64 `toml:"output"` // per million output tokens of images
	Tokens float64 `toml:"tokens"` // maximum output tokens of one image of ordinary size; not a price
}

// A VideoModel makes videos. Empty lists and zero limits are unknown.
type VideoModel struct {
	ID          string             `toml:"id"`
	Name        string             `toml:"name"`
	PerSecond   map[string]float64 `toml:"per_second"` // US dollars, by resolution; "any" for all
	PerVideo    float64            `toml:"per_video"`  // US dollars
	Lengths     []int              `toml:"lengths"`    // seconds that can be requested; if empty, Least to Most
	Least       int                `toml:"least"`
	Most        int                `toml:"most"`
	Default     int                `toml:"default"` // seconds if none are requested
	Resolutions []string           `toml:"resolutions"`
	Resolution  string             `toml:"resolution"` // default resolution
	Ratios      []string           `toml:"ratios"`
	First       bool               `toml:"first"`      // accepts an image as the first frame
	Last        bool               `toml:"last"`       // accepts an image as the last frame
	References  int                `toml:"references"` // maximum number of reference images in a request; AnyNumber if unknown
	Source      bool               `toml:"source"`     // can edit a video
	Audio       bool               `toml:"audio"`      // sound can be turned on and off
	Sound       bool               `toml:"sound"`      // videos always have sound
	MaxPrompt   int                `toml:"max_prompt"` // characters
}

//go:embed media/*.toml
var mediaFiles embed.FS

var mediaOf = sync.OnceValue(func() map[string]func() Media {
	files, err := mediaFiles.ReadDir("media")
	if err != nil {
		panic(err) // it is embedded
	}
	all := map[string]func() Media{}
	for _, f := range files {
		all[strings.TrimSuffix(f.Name(), ".toml")] = sync.OnceValue(func() (m Media) {
			name := path.Join("media", f.Name())
			text, err := mediaFiles.ReadFile(name)
			if err != nil {
				panic(err)
			}
			decode(name, string(text), &m)
			return m
		})
	}
	return all
})

// MediaOf returns the built-in media models of a provider; an empty Media if there are none.
func MediaOf(provider string) Media {
	if read := mediaOf()[provider]; read != nil {
		return read()
	}
	return Media{}
}

// Bill returns b with the cost of its tokens, unless the server reported one.
func (e Embedding) Bill(b works.Bill) works.Bill {
	if b.Priced {
		return b
	}
	b.USD, b.Priced = e.Price.Cost(llm.Usage{Input: b.Tokens})
	b.Priced = b.Priced && (b.Tokens > 0 || e.Price.Free)
	return b
}

// Bill returns b with the cost of its images or their tokens, unless the server reported one.
func (m ImageModel) Bill(b works.Bill) works.Bill {
	switch p := m.Price; {
	case b.Priced:
	case p.Free:
		b.Priced = true
	case p.Image > 0 && b.Images > 0:
		b.USD, b.Priced = p.Image*float64(b.Images), true
	case p.Output > 0 && b.Output > 0:
		in := p.Text*float64(b.Tokens-b.ImageTokens) + cmp.Or(p.Input, p.Text)*float64(b.ImageTokens)
		b.USD, b.Priced = (in+p.Output*float64(b.Output))/1e6, true
	}
	return b
}

// Cost estimates the price of n images in US dollars, before they are generated; false if it is
// unknown.
func (m ImageModel) Cost(n int) (float64, bool) {
	each := cmp.Or(m.Price.Image, m.Price.Output*m.Price.Tokens/1e6)
	return each * float64(max(n, 1)), m.Price.Free || each > 0
}

// Cost estimates the price of a video in US dollars, before it is made; false if it is unknown.
// Zero arguments are the defaults of the model.
func (m VideoModel) Cost(seconds int, resolution string) (float64, bool) {
	if m.PerVideo > 0 {
		return m.PerVideo, true
	}
	rate, ok := m.PerSecond[strings.ToLower(cmp.Or(resolution, m.Resolution))]
	if !ok {
		rate, ok = m.PerSecond["any"]
	}
	seconds = cmp.Or(seconds, m.Default)
	return rate * float64(seconds), ok && seconds > 0
}

// TakesLength reports whether a video of that many seconds can be requested; 0 is the default.
func (m VideoModel) TakesLength(seconds int) bool {
	switch {
	case seconds == 0 || len(m.Lengths) == 0 && m.Most == 0:
		return true
	case len(m.Lengths) > 0:
		return slices.Contains(m.Lengths, seconds)
	}
	return seconds >= m.Least && seconds <= m.Most
}
