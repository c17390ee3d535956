package catalog

import (
	"cmp"
	"embed"
	"path"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
)

// Media holds the models of one provider that do something else than answer, the one to
// use when none is named first. Each file is decoded when it is first asked for.
type Media struct {
	Embeddings []Embedding  `toml:"embeddings"`
	Images     []ImageModel `toml:"images"`
	Videos     []VideoModel `toml:"videos"`
}

// An Embedding is a model that turns text into vectors.
type Embedding struct {
	ID         string `toml:"id"`
	Dimensions int    `toml:"dimensions"` // without a wish
	Least      int    `toml:"least"`      // dimensions that it can be asked for; 0: no others than its own
	Most       int    `toml:"most"`
	MaxInput   int    `toml:"max_input"` // tokens per text
	Batch      int    `toml:"batch"`     // texts per request; 0 leaves it to the wire
	Price      Price  `toml:"price"`     // of input
}

// An ImageModel draws images. Empty lists and zero limits are unknown: what is asked for is
// sent, for the provider to judge.
type ImageModel struct {
	ID          string     `toml:"id"`
	Name        string     `toml:"name"` // for people
	Price       ImagePrice `toml:"price"`
	MaxN        int        `toml:"max_n"`  // images of one request
	Inputs      int        `toml:"inputs"` // images it can be given; 0: it makes new ones only
	Mask        bool       `toml:"mask"`
	Transparent bool       `toml:"transparent"`
	Partials    bool       `toml:"partials"` // it shows unfinished images
	Formats     []string   `toml:"formats"`
	Qualities   []string   `toml:"qualities"`
	Sizes       []string   `toml:"sizes"` // pixels, as "1024x1024"
	Step        int        `toml:"step"`  // width and height are multiples of it; 0: it takes no pixels but Sizes
	MaxPixels   int        `toml:"max_pixels"`
	MaxRatio    float64    `toml:"max_ratio"`  // of the longer side to the shorter one
	MaxPrompt   int        `toml:"max_prompt"` // characters
	Ratios      []string   `toml:"ratios"`
	Tiers       []string   `toml:"tiers"` // such as "1K"
}

// An ImagePrice is in US dollars; zero fields are unknown.
type ImagePrice struct {
	Free   bool    `toml:"free"`
	Image  float64 `toml:"image"`  // per image
	Text   float64 `toml:"text"`   // per million tokens of text that go in
	Input  float64 `toml:"input"`  // per million tokens of images that go in
	Output float64 `toml:"output"` // per million tokens of images that come out
	Tokens float64 `toml:"tokens"` // of an image that comes out, about: the most without a large size
}

// A VideoModel makes videos. Empty lists and zero limits are unknown.
type VideoModel struct {
	ID          string             `toml:"id"`
	Name        string             `toml:"name"`
	PerSecond   map[string]float64 `toml:"per_second"` // US dollars, by resolution; "any" for all
	PerVideo    float64            `toml:"per_video"`
	Lengths     []int              `toml:"lengths"` // seconds that it can be asked for
	Least       int                `toml:"least"`   // or from these to those
	Most        int                `toml:"most"`
	Default     int                `toml:"default"` // seconds, without a wish
	Resolutions []string           `toml:"resolutions"`
	Resolution  string             `toml:"resolution"` // without a wish
	Ratios      []string           `toml:"ratios"`
	First       bool               `toml:"first"` // takes the first frame
	Last        bool               `toml:"last"`
	References  int                `toml:"references"` // images it can go by
	Source      bool               `toml:"source"`     // changes a video
	Audio       bool               `toml:"audio"`      // sound can be asked for, or off
	Sound       bool               `toml:"sound"`      // videos have sound, which cannot be turned off
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

// MediaOf returns the media models of a provider; none where nothing is known.
func MediaOf(provider string) Media {
	if read := mediaOf()[provider]; read != nil {
		return read()
	}
	return Media{}
}

// Bill completes b with what its tokens cost, if the server did not say.
func (e Embedding) Bill(b llm.Bill) llm.Bill {
	if b.Priced {
		return b
	}
	b.USD, b.Priced = e.Price.Cost(llm.Usage{Input: b.Tokens})
	b.Priced = b.Priced && (b.Tokens > 0 || e.Price.Free)
	return b
}

// Bill completes b with what its images cost, or their tokens, if the server did not say.
func (m ImageModel) Bill(b llm.Bill) llm.Bill {
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

// Cost estimates what n images cost, in US dollars, before they are drawn; false if nothing
// is known.
func (m ImageModel) Cost(n int) (float64, bool) {
	each := cmp.Or(m.Price.Image, m.Price.Output*m.Price.Tokens/1e6)
	return each * float64(max(n, 1)), m.Price.Free || each > 0
}

// Cost estimates what a video costs, in US dollars, before it is made; false if nothing is
// known. Zero values are what the model makes without a wish.
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

// TakesLength reports whether a video of so many seconds can be asked for.
func (m VideoModel) TakesLength(seconds int) bool {
	switch {
	case seconds == 0 || len(m.Lengths) == 0 && m.Most == 0:
		return true
	case len(m.Lengths) > 0:
		return slices.Contains(m.Lengths, seconds)
	}
	return seconds >= m.Least && seconds <= m.Most
}
