package works

import "testing"

func TestParseSize(t *testing.T) {
	for text, want := range map[string]Size{
		"":          {},
		"auto":      {},
		"1536x1024": {Width: 1536, Height: 1024},
		"1536*1024": {Width: 1536, Height: 1024},
		"16:9":      {Ratio: "16:9"},
		"9:19.5":    {Ratio: "9:19.5"},
		"2k":        {Tier: "2K"},
		"16:9 2K":   {Ratio: "16:9", Tier: "2K"},
		"4K,1:1":    {Ratio: "1:1", Tier: "4K"},
	} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"0x0", "0x10", "16:0", "0:9", "big", "16:9 4:3", "2K 4K", "100x100 2K", "1024", "-1x5", "1e9:1"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("%q is a size: %+v", text, got)
		}
	}
}

func TestSizeInPixels(t *testing.T) {
	for _, test := range []struct {
		size        Size
		step, limit int
		w, h        int
	}{
		{Size{Ratio: "16:9"}, 16, 8_294_400, 1280, 720},
		{Size{Ratio: "16:9", Tier: "4K"}, 16, 8_294_400, 3840, 2160},
		{Size{Tier: "2K"}, 16, 8_294_400, 2048, 2048},
		{Size{Ratio: "9:19.5"}, 1, 0, 690, 1495},
		{Size{Ratio: "1000:999"}, 16, 0, 1024, 1008}, // no multiples of 16 have this ratio
		{Size{Width: 7, Height: 5}, 16, 0, 7, 5},
	} {
		w, h := test.size.Pixels(test.step, test.limit)
		if w != test.w || h != test.h {
			t.Errorf("%s: %dx%d, want %dx%d", test.size, w, h, test.w, test.h)
		}
	}
}
