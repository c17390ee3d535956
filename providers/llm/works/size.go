package works

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// tiers lists the tiers of a Size with their approximate number of pixels.
var tiers = []struct {
	name   string
	pixels int
}{{"512", 512 * 512}, {"1K", 1024 * 1024}, {"2K", 2048 * 2048}, {"4K", 4096 * 4096}}

func pixelSize() *regexp.Regexp { return regexp.MustCompile(`^([0-9]{1,5})[x*×]([0-9]{1,5})$`) }
func ratioSize() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,4}(?:\.[0-9]{1,2})?):([0-9]{1,4}(?:\.[0-9]{1,2})?)$`)
}

// ParseSize parses a size: "1536x1024", "16:9", "2K", or "16:9 2K"; "auto" and "" leave it to the
// model.
func ParseSize(text string) (Size, error) {
	var s Size
	bad := func() (Size, error) {
		return Size{}, fmt.Errorf("size %q: use pixels such as 1536x1024, a ratio such as 16:9, or one of 1K, 2K, 4K, alone or after a ratio", text)
	}
	pixelSize, ratioSize := pixelSize(), ratioSize()
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' || r == '@' }) {
		pixels, ratio := pixelSize.FindStringSubmatch(strings.ToLower(word)), ratioSize.FindStringSubmatch(word)
		switch {
		case strings.EqualFold(word, "auto"):
		case pixels != nil && s == (Size{}):
			s.Width, _ = strconv.Atoi(pixels[1])
			s.Height, _ = strconv.Atoi(pixels[2])
			if s.Width == 0 || s.Height == 0 {
				return bad()
			}
		case ratio != nil && s.Ratio == "" && s.Width == 0:
			s.Ratio = word
			if r := s.Aspect(); !(r > 0) || math.IsInf(r, 0) {
				return bad()
			}
		case s.Tier == "" && s.Width == 0 && tierPixels(word) > 0:
			s.Tier = strings.ToUpper(word)
		default:
			return bad()
		}
	}
	return s, nil
}

// String returns s in the form that ParseSize parses; "auto" for the zero value.
func (s Size) String() string {
	if s.Width > 0 {
		return fmt.Sprintf("%dx%d", s.Width, s.Height)
	}
	return cmp.Or(strings.TrimSpace(s.Ratio+" "+s.Tier), "auto")
}

// Aspect returns width divided by height; 0 if s has neither pixels nor ratio.
func (s Size) Aspect() float64 {
	if s.Width > 0 && s.Height > 0 {
		return float64(s.Width) / float64(s.Height)
	}
	w, h, _ := strings.Cut(s.Ratio, ":")
	width, _ := strconv.ParseFloat(w, 64)
	height, _ := strconv.ParseFloat(h, 64)
	if width <= 0 || height <= 0 {
		return 0
	}
	return width / height
}

// Pixels returns a width and a height with the ratio of s, both multiples of step, with about as
// many pixels as its tier (default 1K), but at most limit; 0 is no limit. A size in pixels is
// returned unchanged.
func (s Size) Pixels(step, limit int) (width, height int) {
	if s.Width > 0 {
		return s.Width, s.Height
	}
	area := tierPixels(cmp.Or(s.Tier, "1K"))
	if limit > 0 {
		area = min(area, limit)
	}
	step = max(step, 1)
	if w, h := exactRatio(s.Ratio); w > 0 {
		unit := w * step * h * step
		if k := int(math.Sqrt(float64(area) / float64(unit))); k > 0 {
			return k * w * step, k * h * step
		}
	}
	aspect := cmp.Or(s.Aspect(), 1)
	down := func(x float64) int { return max(int(x)/step, 1) * step }
	return down(math.Sqrt(float64(area) * aspect)), down(math.Sqrt(float64(area) / aspect))
}

// exactRatio returns a ratio in lowest terms; "" is 1:1.
func exactRatio(ratio string) (w, h int) {
	width, height, _ := strings.Cut(cmp.Or(ratio, "1:1"), ":")
	x, _ := strconv.ParseFloat(width, 64)
	y, _ := strconv.ParseFloat(height, 64)
	w, h = int(math.Round(x*100)), int(math.Round(y*100))
	a, b := w, h
	for b > 0 {
		a, b = b, a%b
	}
	if a == 0 {
		return 0, 0
	}
	return w / a, h / a
}

// tierPixels returns the approximate number of pixels of a tier; 0 if name is unknown.
func tierPixels(name string) int {
	for _, t := range tiers {
		if strings.EqualFold(t.name, name) {
			return t.pixels
		}
	}
	return 0
}
