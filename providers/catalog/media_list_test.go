package catalog

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// rowsOf returns the rows of a list.
func rowsOf(t *testing.T, text string) (rows []any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	return rows
}

// Reads OpenRouter's lists of video, image and embedding models; rows of another form are skipped.
func TestReadMedia(t *testing.T) {
	chat := `{"id":"acme/chat","context_length":8000,"pricing":{"prompt":"0.000001"},"supported_parameters":["tools"],"architecture":{"output_modalities":["text"]}}`
	videos := readVideos(rowsOf(t, `[`+chat+`,7,null,
		{"id":"acme/film","name":"Acme Film","supported_resolutions":["720p","1080p"],"supported_aspect_ratios":["16:9"],"supported_durations":[8,4,0,1e9],"supported_frame_images":["first_frame"],"generate_audio":true,
		 "pricing_skus":{"duration_seconds_with_audio_720p":"0.3","duration_seconds_without_audio_720p":"0.2","duration_seconds_1080p":"0.5"}}]`))
	want := VideoModel{
		ID: "acme/film", Name: "Acme Film", Resolutions: []string{"720p", "1080p"}, Ratios: []string{"16:9"}, Lengths: []int{4, 8},
		First: true, Audio: true, References: AnyNumber, PerSecond: map[string]float64{"720p": 0.3, "1080p": 0.5},
	}
	if len(videos) != 1 || !reflect.DeepEqual(videos[0], want) {
		t.Errorf("got  %+v\nwant %+v", videos, want)
	}
	images := readImages(rowsOf(t, `[`+chat+`,
		{"id":"acme/draw","name":"Acme Draw","architecture":{"input_modalities":["text","image"],"output_modalities":["image"]},"supports_streaming":true,
		 "supported_parameters":{"resolution":{"type":"enum","values":["1K","2K"]},"n":{"type":"range","min":1,"max":4},"background":{"type":"enum","values":["transparent"]},"seed":{"type":"boolean"}}}]`))
	if len(images) != 1 || !reflect.DeepEqual(images[0], ImageModel{ID: "acme/draw", Name: "Acme Draw", MaxN: 4, Inputs: 16, Transparent: true, Partials: true, Tiers: []string{"1K", "2K"}}) {
		t.Errorf("%+v", images)
	}
	embeddings := readEmbeddings(rowsOf(t, `[`+chat+`,{"id":"acme/embed","context_length":8192,"pricing":{"prompt":"0.00000002"},"architecture":{"output_modalities":["embeddings"]}}]`))
	if len(embeddings) != 1 || !reflect.DeepEqual(embeddings[0], Embedding{ID: "acme/embed", MaxInput: 8192, Price: Price{Input: 0.02}}) {
		t.Errorf("%+v", embeddings)
	}
}

// The name of a price contains its unit. A price that is not per second is unknown.
func TestListedVideoPrices(t *testing.T) {
	for text, want := range map[string]map[string]float64{
		`{"per-video-second":"0.50","per-video-second-1080p":"0.75"}`: {"any": 0.5, "1080p": 0.75},
		`{"cents_per_second_output":"12"}`:                            {"any": 0.12},
		`{"duration_seconds_4k":"0.6"}`:                               {"4k": 0.6},
		`{"video_tokens":"0.0000012"}`:                                nil,
		`{"duration_seconds":"much"}`:                                 nil,
		`{"duration_seconds":"0.1","per_request":"1"}`:                nil,
	} {
		var prices map[string]string
		if err := json.Unmarshal([]byte(text), &prices); err != nil {
			t.Fatal(err)
		}
		if got := perSecond(prices); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// Every value of a list is checked before it is shown or used in a price.
func TestMediaThatCannotBeMeant(t *testing.T) {
	got := Media{
		Embeddings: []Embedding{{ID: "a b"}, {ID: "e", Price: Price{Input: -1}}, {ID: "ok", MaxInput: 8}},
		Images:     []ImageModel{{ID: "i\x1b[2J"}, {ID: "i", Name: "\x1b]0;x\a" + strings.Repeat("x", 500), Sizes: append(slices.Repeat([]string{"1x1"}, 100), "\x1b[31m"), Price: imagePrice{Image: 1e9}}},
		Videos:     []VideoModel{{ID: ""}, {ID: "v", PerSecond: map[string]float64{"any": 1e9, "720p": 0.1, "x": -1}, Lengths: []int{-1, 5, 1 << 30}}},
	}.Check()
	if len(got.Embeddings) != 1 || len(got.Images) != 1 || len(got.Videos) != 1 {
		t.Fatalf("%+v", got)
	}
	if i := got.Images[0]; len(i.Name) > 130 || strings.Contains(i.Name, "\x1b") || len(i.Sizes) != 40 || i.Price != (imagePrice{}) {
		t.Errorf("%+v", i)
	}
	if v := got.Videos[0]; !reflect.DeepEqual(v.PerSecond, map[string]float64{"720p": 0.1}) || !slices.Equal(v.Lengths, []int{5}) {
		t.Errorf("%+v", v)
	}
}

// A list of media models is stored with the list of chat models, overrides the built-in one, and
// stays if a later fetch lacks it. New models are reported.
func TestKeptMedia(t *testing.T) {
	path := filepath.Join(t.TempDir(), "models.jsonl")
	list := List{Provider: "openrouter", URL: "https://openrouter.ai/api/v1", Fetched: Revised().Add(time.Hour), Models: []Facts{{ID: "acme/m", Context: 9000}}}
	list.Media = EncodeMedia(Media{Videos: []VideoModel{{ID: "acme/film", Name: "Film"}, {ID: "google/veo-3.1", Name: "New name", PerSecond: map[string]float64{"any": 0.4}, References: AnyNumber}}})
	update := OpenFactsFile(path).Compare([]Fetched{{List: list, Builtin: "openrouter"}})
	told := false
	for _, c := range update.Changes {
		if c.Model == "google/veo-3.1" {
			t.Errorf("it is built in: %+v", c)
		}
		told = told || c.Model == "acme/film" && c.Kind == ChangeNew
	}
	if !told {
		t.Errorf("nothing is told of acme/film: %+v", update.Changes)
	}
	if err := update.Save(); err != nil {
		t.Fatal(err)
	}
	list.Media = nil
	if err := OpenFactsFile(path).Compare([]Fetched{{List: list, Builtin: "openrouter"}}).Save(); err != nil {
		t.Fatal(err)
	}
	for name, k := range map[string]*FactsFile{"kept": OpenFactsFile(path), "looked at": OpenFactsFile(path).Compare(nil).Preview()} {
		got := k.MediaOf("openrouter", list.Provider, list.URL)
		builtin := MediaOf("openrouter")
		if len(got.Videos) != len(builtin.Videos)+1 || len(got.Images) != len(builtin.Images) {
			t.Fatalf("%s: %+v", name, got)
		}
		veo := got.Videos[0]
		if usd, ok := veo.Cost(5, ""); veo.ID != "google/veo-3.1" || veo.References != 3 || !ok || usd != 2 {
			t.Errorf("%s: %+v", name, veo)
		}
		if f, _, ok := k.Find(list.Provider, list.URL, "acme/m"); !ok || f.Context != 9000 {
			t.Errorf("%s: the models that answer: %+v", name, f)
		}
	}
	if got := OpenFactsFile(path).MediaOf("openrouter", list.Provider, "https://elsewhere"); len(got.Videos) != len(MediaOf("openrouter").Videos) {
		t.Errorf("a list of another address counts: %+v", got)
	}
	var none *FactsFile
	if got := none.Compare([]Fetched{{List: list}}).Preview().MediaOf("xai", "xai", ""); len(got.Videos) == 0 {
		t.Error("nothing without a place to keep it")
	}
	// A list older than the built-in facts adds only missing ones.
	list.Fetched, list.Media = Revised().Add(-time.Hour), update.lists[0].Media
	old := OpenFactsFile(filepath.Join(t.TempDir(), "old.jsonl")).Compare([]Fetched{{List: list, Builtin: "openrouter"}}).Preview()
	if got := old.MediaOf("openrouter", list.Provider, list.URL); got.Videos[0].Name != "Veo 3.1" || got.Videos[0].PerSecond != nil || len(got.Videos) != len(MediaOf("openrouter").Videos)+1 {
		t.Errorf("%+v", got.Videos)
	}
}
