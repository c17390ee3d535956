package catalog

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"parley/tools/sanitize"
)

// Listed media models come from OpenRouter's lists (openrouter.ai/docs, November 2026). They are
// stored with the facts of chat models and override the built-in ones.

// AnyNumber is the References of a video model whose list does not say how many it accepts.
const AnyNumber = -1

// Bounds of plausible lists.
const (
	maxMediaModels = 500 // of one kind
	maxMediaWords  = 40  // of one option, such as sizes
	maxMediaWord   = 24  // bytes
	maxMediaLength = 600 // seconds
	maxMediaPrice  = 100 // US dollars a second
)

// MediaLists holds OpenRouter's lists of models for other uses than chat, with the name of such
// models.
var MediaLists = []struct {
	Path, What string
	Read       func(*Media, []any)
}{
	{"embeddings/models", "embedding models", func(m *Media, rows []any) { m.Embeddings = readEmbeddings(rows) }},
	{"images/models", "image models", func(m *Media, rows []any) { m.Images = readImages(rows) }},
	{"videos/models", "video models", func(m *Media, rows []any) { m.Videos = readVideos(rows) }},
}

// readEmbeddings returns the embedding models in rows of GET /embeddings/models.
func readEmbeddings(rows []any) (list []Embedding) {
	for _, r := range readRows[struct {
		ID           string
		Context      float64 `json:"context_length"`
		Pricing      struct{ Prompt string }
		Architecture listedArchitecture
	}](rows) {
		if !slices.Contains(r.Architecture.Output, "embeddings") {
			continue
		}
		e := Embedding{ID: r.ID}
		if r.Context >= 1 && r.Context <= maxFactTokens {
			e.MaxInput = int(r.Context)
		}
		if dollars, err := strconv.ParseFloat(r.Pricing.Prompt, 64); err == nil && IsPrice(dollars*1e6) {
			e.Price.Input = math.Round(dollars*1e12) / 1e6
			e.Price.Free = dollars == 0
		}
		list = append(list, e)
	}
	return list
}

// listedArchitecture holds the modalities of a model.
type listedArchitecture struct {
	Input  []string `json:"input_modalities"`
	Output []string `json:"output_modalities"`
}

// readImages returns the image models in rows of GET /images/models, which has no prices.
func readImages(rows []any) (list []ImageModel) {
	type parameter struct {
		Values []string
		Max    float64
	}
	for _, r := range readRows[struct {
		ID, Name     string
		Architecture listedArchitecture
		Streams      bool                 `json:"supports_streaming"`
		Parameters   map[string]parameter `json:"supported_parameters"`
	}](rows) {
		if !slices.Contains(r.Architecture.Output, "image") {
			continue
		}
		m := ImageModel{
			ID: r.ID, Name: r.Name, Partials: r.Streams, Transparent: slices.Contains(r.Parameters["background"].Values, "transparent"),
			Ratios: r.Parameters["aspect_ratio"].Values, Tiers: r.Parameters["resolution"].Values, Sizes: r.Parameters["size"].Values,
			Qualities: r.Parameters["quality"].Values, Formats: r.Parameters["output_format"].Values,
		}
		if n := r.Parameters["n"].Max; n >= 1 && n <= maxMediaWords {
			m.MaxN = int(n)
		}
		if slices.Contains(r.Architecture.Input, "image") {
			m.Inputs = maxReferences
			if n := r.Parameters["input_references"].Max; n >= 1 && n < maxReferences {
				m.Inputs = int(n)
			}
		}
		list = append(list, m)
	}
	return list
}

// maxReferences is the number of images in a request that OpenRouter accepts.
const maxReferences = 16

// readVideos returns the video models in rows of GET /videos/models.
func readVideos(rows []any) (list []VideoModel) {
	for _, r := range readRows[struct {
		ID, Name    string
		Resolutions []string          `json:"supported_resolutions"`
		Ratios      []string          `json:"supported_aspect_ratios"`
		Durations   []float64         `json:"supported_durations"`
		Frames      []string          `json:"supported_frame_images"`
		Audio       *bool             `json:"generate_audio"`
		Prices      map[string]string `json:"pricing_skus"`
	}](rows) {
		if r.Resolutions == nil && r.Durations == nil && r.Prices == nil {
			continue
		}
		m := VideoModel{
			ID: r.ID, Name: r.Name, Resolutions: r.Resolutions, Ratios: r.Ratios, PerSecond: perSecond(r.Prices), References: AnyNumber,
			First: slices.Contains(r.Frames, "first_frame"), Last: slices.Contains(r.Frames, "last_frame"), Audio: r.Audio != nil && *r.Audio,
		}
		for _, seconds := range r.Durations {
			if seconds >= 1 && seconds <= maxMediaLength {
				m.Lengths = append(m.Lengths, int(seconds))
			}
		}
		slices.Sort(m.Lengths)
		list = append(list, m)
	}
	return list
}

// perSecond returns US dollars per second by resolution, from prices whose names describe them:
// duration_seconds_with_audio_1080p and per-video-second-1080p are in dollars,
// cents_per_second_output is in cents. The highest price of a resolution counts. It returns nil if
// anything but seconds has a price.
func perSecond(prices map[string]string) map[string]float64 {
	rates := map[string]float64{}
	for name, text := range prices {
		words := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == '-' })
		dollars, err := strconv.ParseFloat(text, 64)
		if err != nil || !slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(w, "second") }) {
			return nil
		}
		if words[0] == "cents" {
			dollars /= 100
		}
		of := "any"
		for _, w := range words {
			if n, err := strconv.Atoi(strings.TrimRight(w, "pk")); err == nil && n > 0 && w != strconv.Itoa(n) {
				of = w
			}
		}
		rates[of] = max(rates[of], dollars)
	}
	return rates
}

// readRows decodes rows into values of T. It skips rows of another form.
func readRows[T any](rows []any) (list []T) {
	for _, row := range rows[:min(len(rows), maxMediaModels)] {
		text, err := json.Marshal(row)
		var r T
		if err == nil && json.Unmarshal(text, &r) == nil {
			list = append(list, r)
		}
	}
	return list
}

// Check returns a copy of m without implausible values.
func (m Media) Check() Media {
	m.Embeddings = slices.DeleteFunc(slices.Clone(m.Embeddings), func(e Embedding) bool {
		return !isPlainID(e.ID) || e.MaxInput < 0 || !IsPrice(e.Price.Input)
	})
	m.Images, m.Videos = slices.Clone(m.Images), slices.Clone(m.Videos)
	for i := range m.Images {
		image := &m.Images[i]
		image.Name, image.Price = mediaName(image.Name), imagePrice{} // lists have no prices
		for _, words := range []*[]string{&image.Formats, &image.Qualities, &image.Sizes, &image.Ratios, &image.Tiers} {
			*words = mediaWords(*words)
		}
	}
	m.Images = slices.DeleteFunc(m.Images, func(m ImageModel) bool { return !isPlainID(m.ID) || m.Inputs < 0 || m.MaxN < 0 })
	for i := range m.Videos {
		v := &m.Videos[i]
		v.Name, v.Resolutions, v.Ratios = mediaName(v.Name), mediaWords(v.Resolutions), mediaWords(v.Ratios)
		rates := map[string]float64{}
		for of, dollars := range v.PerSecond {
			if len(of) <= maxMediaWord && dollars > 0 && dollars <= maxMediaPrice {
				rates[of] = dollars
			}
		}
		if v.PerSecond = rates; len(rates) == 0 {
			v.PerSecond = nil
		}
		v.Lengths = slices.DeleteFunc(slices.Clone(v.Lengths), func(n int) bool { return n < 1 || n > maxMediaLength })
	}
	m.Videos = slices.DeleteFunc(m.Videos, func(v VideoModel) bool { return !isPlainID(v.ID) })
	return m
}

func mediaName(name string) string {
	name = strings.TrimSpace(sanitize.Line(name))
	if utf8.RuneCountInString(name) > maxFactName {
		name = string([]rune(name)[:maxFactName])
	}
	return name
}

// mediaWords returns the words that a user can type, up to maxMediaWords.
func mediaWords(words []string) []string {
	words = slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !isPlainID(w) || len(w) > maxMediaWord })
	return words[:min(len(words), maxMediaWords)]
}

// Empty reports whether m holds no models.
func (m Media) Empty() bool { return len(m.Embeddings)+len(m.Images)+len(m.Videos) == 0 }

// over returns older, with the models of m that it lacks added. If m is newer, its values override
// those of older models.
func (m Media) over(older Media, newer bool) Media {
	return Media{
		Embeddings: overrideMedia(m.Embeddings, older.Embeddings, newer),
		Images:     overrideMedia(m.Images, older.Images, newer),
		Videos:     overrideMedia(m.Videos, older.Videos, newer),
	}
}

// A mediaModel is a model of one kind.
type mediaModel[T any] interface {
	key() (id, name string)
	over(old T) T // returns the model with its known values over those of old
}

// overrideMedia implements Media.over for the models of one kind.
func overrideMedia[T mediaModel[T]](list, older []T, newer bool) []T {
	all, at := slices.Clone(older), map[string]int{}
	for i, m := range older {
		id, _ := m.key()
		at[id] = i
	}
	for _, m := range list {
		id, _ := m.key()
		switch i, known := at[id]; {
		case !known:
			at[id] = len(all)
			all = append(all, m)
		case newer && i < len(older):
			all[i] = m.over(older[i])
		}
	}
	return all
}

func (e Embedding) key() (id, name string)  { return e.ID, "" }
func (m ImageModel) key() (id, name string) { return m.ID, m.Name }
func (v VideoModel) key() (id, name string) { return v.ID, v.Name }

func (e Embedding) over(old Embedding) Embedding {
	e.Dimensions, e.Least, e.Most, e.Batch = cmp.Or(e.Dimensions, old.Dimensions), cmp.Or(e.Least, old.Least), cmp.Or(e.Most, old.Most), cmp.Or(e.Batch, old.Batch)
	e.MaxInput = cmp.Or(e.MaxInput, old.MaxInput)
	if !e.Price.Known() {
		e.Price = old.Price
	}
	return e
}

func (m ImageModel) over(old ImageModel) ImageModel {
	m.Name, m.Price, m.MaxN = cmp.Or(old.Name, m.Name), old.Price, cmp.Or(m.MaxN, old.MaxN)
	m.Mask, m.Step, m.MaxPixels, m.MaxRatio, m.MaxPrompt = old.Mask, old.Step, old.MaxPixels, old.MaxRatio, old.MaxPrompt
	m.Partials, m.Transparent = m.Partials || old.Partials, m.Transparent || old.Transparent
	if old.Inputs > 0 {
		m.Inputs = old.Inputs
	}
	return m
}

func (v VideoModel) over(old VideoModel) VideoModel {
	v.Name, v.Default, v.Resolution, v.MaxPrompt = cmp.Or(old.Name, v.Name), old.Default, old.Resolution, old.MaxPrompt
	if v.References = old.References; v.PerSecond == nil {
		v.PerSecond, v.PerVideo = old.PerSecond, old.PerVideo
	}
	v.Source, v.Sound = old.Source, old.Sound
	return v
}

// MediaOf returns the media models of a service: the built-in ones of provider, merged with the
// stored list of the service. The list takes precedence if it is newer.
func (k *FactsFile) MediaOf(provider, service, url string) Media {
	builtin := MediaOf(provider)
	l := k.list(service, url)
	if l == nil || len(l.Media) == 0 {
		return builtin
	}
	return l.media().over(builtin, l.Newer())
}

// mediaChanges returns the media models of the list that were not known before.
func (f Fetched) mediaChanges(before List) (changes []Change) {
	if len(f.Media) == 0 {
		return nil
	}
	known := map[string]bool{}
	note := func(m Media, do func(id, name string)) {
		for _, e := range m.Embeddings {
			do(e.ID, "")
		}
		for _, i := range m.Images {
			do(i.ID, i.Name)
		}
		for _, v := range m.Videos {
			do(v.ID, v.Name)
		}
	}
	note(MediaOf(f.Builtin), func(id, _ string) { known[id] = true })
	note(decodeMedia(before.Media), func(id, _ string) { known[id] = true })
	for _, m := range before.Models {
		known[m.ID] = true
	}
	for _, m := range f.Models {
		known[m.ID] = true // reported as a chat model
	}
	note(decodeMedia(f.Media), func(id, name string) {
		if !known[id] {
			known[id] = true
			changes = append(changes, Change{Provider: f.Provider, Model: ShownID(id), Kind: ChangeNew, New: Facts{ID: id, Name: name}})
		}
	})
	return changes
}

// EncodeMedia returns the checked m for List.Media; nil if it is empty.
func EncodeMedia(m Media) json.RawMessage {
	if m = m.Check(); m.Empty() {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil // a price is NaN or infinite
	}
	return text
}

// decodeMedia decodes List.Media, checking it again since any program may have written it.
func decodeMedia(text json.RawMessage) (m Media) {
	if len(text) == 0 || json.Unmarshal(text, &m) != nil {
		return Media{}
	}
	return m.Check()
}
