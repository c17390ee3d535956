package catalog

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/providers/llm/works"
)

// service is one with a variable in the host, one whose value chooses the host, one in the path and one for models.
var service = Provider{
	BaseURL: "https://{name}.example.com/v1",
	Regions: map[string]string{"cloud": "https://{place}.{host}/p/{project}"},
	Variables: []Variable{
		{Name: "name", Title: "Resource name"},
		{Name: "place", Title: "Region", Default: "us", Hosts: map[string]string{"global": "all.example.org", "*": "{place}.example.org"}},
		{Name: "project", Title: "Project"},
		{Name: "models", Title: "Deployment names", Models: true},
	},
}

func TestParseVariable(t *testing.T) {
	names := func(n int) string { return strings.Join(slices.Repeat([]string{"m"}, n), ",") }
	for _, tt := range []struct {
		variable   int
		text, want string
		err        string
	}{
		{0, " My-Name \n", "my-name", ""},
		{0, "https://My-Name.example.com/v1/chat?x", "my-name", ""},
		{0, "https://my-name.example.com:443", "my-name", ""},
		{0, "https://example.com", "", `"https://example.com" must be letters, digits and hyphens`},
		{0, "http://[", "", `"http://[" must be`},
		{0, strings.Repeat("a", 63), strings.Repeat("a", 63), ""},
		{0, strings.Repeat("a", 64), "", "must be letters"},
		{0, "-a", "", "must be letters"},
		{0, "a-", "", "must be letters"},
		{0, "a.b", "", "must be letters"},
		{0, " ", "", "the resource name must not be empty"},
		{1, "EU", "eu", ""},
		{2, "Az09-._:z", "Az09-._:z", ""},
		{2, "a/b", "", "as in a path"},
		{2, "a..b", "", "as in a path"},
		{2, "é", "", "as in a path"},
		{2, strings.Repeat("a", 128), strings.Repeat("a", 128), ""},
		{2, strings.Repeat("a", 129), "", "as in a path"},
		{3, "gpt-5, Org/Model:1@x ,z", "gpt-5,Org/Model:1@x,z", ""},
		{3, ", ,", "", "name 1 to 50, separated by commas"},
		{3, names(50), names(50), ""},
		{3, names(51), "", "name 1 to 50"},
		{3, "a,b\x1b[2J", "", `"b\x1b[2J" is not a name`},
	} {
		got, err := service.Parse(service.Variables[tt.variable], tt.text)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s = %q: got %q, %v; want %q, %s", service.Variables[tt.variable].Name, tt.text, got, err, tt.want, tt.err)
		}
	}
	if got := service.Variables[0].ModelNames("a,b"); got != nil {
		t.Errorf("a name is taken for models: %q", got)
	}
}

func TestExpand(t *testing.T) {
	for _, tt := range []struct {
		address       string
		values        map[string]string
		want, missing string
	}{
		{service.BaseURL, map[string]string{"name": "a"}, "https://a.example.com/v1", ""},
		{service.BaseURL, nil, "https://name.example.com/v1", "name"},
		{service.Regions["cloud"], map[string]string{"project": "p"}, "https://us.us.example.org/p/p", ""},
		{service.Regions["cloud"], map[string]string{"place": "global"}, "https://global.all.example.org/p/project", "project"},
		{"https://fixed.example.com", nil, "https://fixed.example.com", ""},
	} {
		got, missing := service.Expand(tt.address, tt.values)
		var names []string
		for _, v := range missing {
			names = append(names, v.Name)
		}
		if got != tt.want || strings.Join(names, " ") != tt.missing {
			t.Errorf("%s with %q: got %s, missing %q; want %s, %q", tt.address, tt.values, got, names, tt.want, tt.missing)
		}
	}
}

// TestBill: the server's own figure counts; otherwise the cost is that of the known prices.
func TestBill(t *testing.T) {
	per := imagePrice{Text: 5, Input: 8, Output: 40}
	for name, tt := range map[string]struct{ got, want works.Bill }{
		"vectors":                        {Embedding{Price: Price{Input: 2}}.Bill(works.Bill{Tokens: 1e6}), works.Bill{Tokens: 1e6, USD: 2, Priced: true}},
		"vectors, by the server":         {Embedding{Price: Price{Input: 2}}.Bill(works.Bill{Tokens: 1e6, USD: 3, Priced: true}), works.Bill{Tokens: 1e6, USD: 3, Priced: true}},
		"vectors of unknown tokens":      {Embedding{Price: Price{Input: 2}}.Bill(works.Bill{}), works.Bill{}},
		"vectors that are free":          {Embedding{Price: Price{Free: true}}.Bill(works.Bill{}), works.Bill{Priced: true}},
		"vectors of unknown price":       {Embedding{}.Bill(works.Bill{Tokens: 5}), works.Bill{Tokens: 5}},
		"images":                         {ImageModel{Price: imagePrice{Image: 0.5}}.Bill(works.Bill{Images: 3}), works.Bill{Images: 3, USD: 1.5, Priced: true}},
		"images, by the server":          {ImageModel{Price: imagePrice{Image: 0.5}}.Bill(works.Bill{Images: 3, USD: 1, Priced: true}), works.Bill{Images: 3, USD: 1, Priced: true}},
		"images that are free":           {ImageModel{Price: imagePrice{Free: true}}.Bill(works.Bill{Images: 3}), works.Bill{Images: 3, Priced: true}},
		"images of unknown price":        {ImageModel{}.Bill(works.Bill{Images: 3}), works.Bill{Images: 3}},
		"tokens of images":               {ImageModel{Price: per}.Bill(works.Bill{Tokens: 3e6, ImageTokens: 2e6, Output: 1e6}), works.Bill{Tokens: 3e6, ImageTokens: 2e6, Output: 1e6, USD: 5 + 16 + 40, Priced: true}},
		"tokens of images, unknown ones": {ImageModel{Price: per}.Bill(works.Bill{Tokens: 5}), works.Bill{Tokens: 5}},
		"an image or tokens":             {ImageModel{Price: imagePrice{Image: 1, Output: 40}}.Bill(works.Bill{Output: 1e6}), works.Bill{Output: 1e6, USD: 40, Priced: true}},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: got %+v, want %+v", name, tt.got, tt.want)
		}
	}
	film := VideoModel{PerSecond: map[string]float64{"720p": 0.5}, Resolution: "720p", Default: 4}
	any, silent := film, film
	any.PerSecond, silent.Default = map[string]float64{"any": 2}, 0
	for name, tt := range map[string]struct {
		cost  func() (float64, bool)
		want  float64
		known bool
	}{
		"an image":                 {func() (float64, bool) { return ImageModel{Price: imagePrice{Image: 0.5}}.Cost(0) }, 0.5, true},
		"images":                   {func() (float64, bool) { return ImageModel{Price: imagePrice{Image: 0.5}}.Cost(2) }, 1, true},
		"images by tokens":         {func() (float64, bool) { return ImageModel{Price: imagePrice{Output: 40, Tokens: 5000}}.Cost(2) }, 0.4, true},
		"images of unknown price":  {func() (float64, bool) { return ImageModel{}.Cost(2) }, 0, false},
		"images that are free":     {func() (float64, bool) { return ImageModel{Price: imagePrice{Free: true}}.Cost(2) }, 0, true},
		"a video":                  {func() (float64, bool) { return VideoModel{PerVideo: 3}.Cost(9, "") }, 3, true},
		"a usual video":            {func() (float64, bool) { return film.Cost(0, "") }, 2, true},
		"a resolution":             {func() (float64, bool) { return film.Cost(2, "720P") }, 1, true},
		"another resolution":       {func() (float64, bool) { return film.Cost(2, "4k") }, 0, false},
		"any resolution":           {func() (float64, bool) { return any.Cost(2, "4k") }, 4, true},
		"a video of no known time": {func() (float64, bool) { return silent.Cost(0, "") }, 0, false},
	} {
		if got, known := tt.cost(); math.Abs(got-tt.want) > 1e-9 || known != tt.known {
			t.Errorf("%s: %v, %v; want %v, %v", name, got, known, tt.want, tt.known)
		}
	}
}

func TestTakesLength(t *testing.T) {
	for want, models := range map[string][]VideoModel{
		"0 1 4 5 8 9": {{}},
		"0 4 8":       {{Lengths: []int{4, 8}, Least: 1, Most: 9}},
		"0 4 5 8":     {{Least: 4, Most: 8}},
	} {
		for _, m := range models {
			var takes []string
			for _, n := range []int{0, 1, 4, 5, 8, 9} {
				if m.TakesLength(n) {
					takes = append(takes, fmt.Sprint(n))
				}
			}
			if got := strings.Join(takes, " "); got != want {
				t.Errorf("%+v takes %s, want %s", m, got, want)
			}
		}
	}
}

// TestMediaOver: a newer list overrides what is built in where it says something, and never the facts that no list has.
func TestMediaOver(t *testing.T) {
	builtin := Media{
		Embeddings: []Embedding{{ID: "e", Dimensions: 8, Least: 2, Most: 16, Batch: 5, MaxInput: 100, Price: Price{Input: 1}}},
		Images:     []ImageModel{{ID: "i", Name: "Image", Price: imagePrice{Image: 1}, MaxN: 4, Inputs: 3, Mask: true, Step: 16, MaxPixels: 9, MaxRatio: 3, MaxPrompt: 7, Transparent: true}},
		Videos:     []VideoModel{{ID: "v", Name: "Video", PerVideo: 2, Default: 5, Resolution: "720p", MaxPrompt: 7, References: 3, Source: true, Sound: true}},
	}
	list := Media{
		Embeddings: []Embedding{{ID: "e", Dimensions: 9, MaxInput: 200}, {ID: "new"}, {ID: "new", Batch: 2}},
		Images:     []ImageModel{{ID: "i", Name: "other", Inputs: 16, Partials: true, Sizes: []string{"1x1"}}},
		Videos:     []VideoModel{{ID: "v", Name: "other", References: AnyNumber, Last: true}},
	}
	want := Media{
		Embeddings: []Embedding{{ID: "e", Dimensions: 9, Least: 2, Most: 16, Batch: 5, MaxInput: 200, Price: Price{Input: 1}}, {ID: "new"}},
		Images:     []ImageModel{{ID: "i", Name: "Image", Price: imagePrice{Image: 1}, MaxN: 4, Inputs: 3, Mask: true, Step: 16, MaxPixels: 9, MaxRatio: 3, MaxPrompt: 7, Transparent: true, Partials: true, Sizes: []string{"1x1"}}},
		Videos:     []VideoModel{{ID: "v", Name: "Video", PerVideo: 2, Default: 5, Resolution: "720p", MaxPrompt: 7, References: 3, Source: true, Sound: true, Last: true}},
	}
	if got := list.over(builtin, true); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	older := builtin
	older.Embeddings = append(slices.Clone(older.Embeddings), Embedding{ID: "new"})
	if got := list.over(builtin, false); !reflect.DeepEqual(got, older) {
		t.Errorf("an older list: got  %+v\nwant %+v", got, older)
	}
	for _, tt := range []struct{ list, builtin, want Media }{
		{Media{Embeddings: []Embedding{{ID: "e", Price: Price{Input: 3}}}}, builtin, Media{Embeddings: []Embedding{{ID: "e", Dimensions: 8, Least: 2, Most: 16, Batch: 5, MaxInput: 100, Price: Price{Input: 3}}}}},
		{Media{Videos: []VideoModel{{ID: "v", PerSecond: map[string]float64{"any": 1}}}}, builtin, Media{Videos: []VideoModel{{ID: "v", Name: "Video", PerSecond: map[string]float64{"any": 1}, Default: 5, Resolution: "720p", MaxPrompt: 7, References: 3, Source: true, Sound: true}}}},
		{Media{Images: []ImageModel{{ID: "i", Inputs: 2}}}, Media{Images: []ImageModel{{ID: "i"}}}, Media{Images: []ImageModel{{ID: "i", Inputs: 2}}}},
	} {
		got := tt.list.over(tt.builtin, true)
		if tt.want.Embeddings != nil && !reflect.DeepEqual(got.Embeddings, tt.want.Embeddings) || tt.want.Videos != nil && !reflect.DeepEqual(got.Videos, tt.want.Videos) || tt.want.Images != nil && !reflect.DeepEqual(got.Images, tt.want.Images) {
			t.Errorf("%+v: got %+v, want %+v", tt.list, got, tt.want)
		}
	}
}

// TestRows: rows of lists are read by what they have, whatever its type is.
func TestRows(t *testing.T) {
	for _, tt := range []struct {
		row, id string
		want    bool
	}{
		{`{"capabilities":["embedding"]}`, "x", true},
		{`{"capabilities":["completion","embedding"]}`, "embed", false},
		{`{"capabilities":["completion"]}`, "embed", false},
		{`{"capabilities":["vision"]}`, "x", false},
		{`{"type":"embeddings"}`, "x", true},
		{`{"type":"llm"}`, "x", false},
		{`{"details":{"family":"nomic-bert"}}`, "x", true},
		{`{"details":7}`, "Text-Embed-3", true},
		{`{}`, "x", false},
	} {
		if got := Embeds(rowsOf(t, "["+tt.row+"]")[0].(map[string]any), tt.id); got != tt.want {
			t.Errorf("%s %s: %v, want %v", tt.id, tt.row, got, tt.want)
		}
	}
	row := rowsOf(t, `[{"a":{"b":"x","n":"12","big":1099511627776},"empty":"","zero":0,"n":7.9,"list":[1],"word":"many","max":1099511627775,"one":1}]`)[0].(map[string]any)
	for path, want := range map[string]string{"a.b": "x", "empty a.b": "x", "n a.b": "x", "a.c": "", "a": "", "none.b": "", "list": ""} {
		if got := FirstText(row, strings.Fields(path)...); got != want {
			t.Errorf("text at %s: %q, want %q", path, got, want)
		}
	}
	for path, want := range map[string]int{"n": 7, "a.n": 12, "zero a.n": 12, "a.big one": 1, "word": 0, "list": 0, "none": 0, "max": 1<<40 - 1, "one": 1} {
		if got := FirstCount(row, strings.Fields(path)...); got != want {
			t.Errorf("count at %s: %d, want %d", path, got, want)
		}
	}
}
