package safe

import (
	"strings"
	"unicode"
)

const (
	joiner    = '\u200d' // ZERO WIDTH JOINER
	asText    = '\ufe0e' // VARIATION SELECTOR-15
	asEmoji   = '\ufe0f' // VARIATION SELECTOR-16
	blackFlag = '\U0001f3f4'
	tagBase   = '\U000e0000'
	tagCancel = '\U000e007f'
)

// joins tells whether an invisible rune continues an emoji sequence that has
// begun, and remembers it if so.
func (c *cleaner) joins(r rune) bool {
	switch {
	case r == joiner:
		if c.prev != asEmoji && !unicode.Is(pictographic, c.prev) {
			return false
		}
	case r == asText, r == asEmoji:
		if !unicode.Is(pictographic, c.prev) && !strings.ContainsRune("#*0123456789", c.prev) {
			return false
		}
	case r > tagBase && r <= tagCancel:
		next := c.tags + string(r-tagBase)
		if c.tags == "" || !strings.Contains(flags, next) {
			return false
		}
		c.prev, c.tags = r, next
		return true
	default:
		return false
	}
	c.prev, c.tags = r, ""
	return true
}

// flags are the tag sequences Unicode recommends (RGI): the flags of England,
// Scotland and Wales, each behind the NUL that stands for the black flag and is
// no tag. Others would let text hide in tags.
const flags = "\x00gbeng\x7f\x00gbsct\x7f\x00gbwls\x7f"

// turning are the runes that change the direction of what follows, and the two
// separators some terminals take for line ends. They are shown by name.
var turning = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x061c, Hi: 0x061c, Stride: 1},
	{Lo: 0x200e, Hi: 0x200f, Stride: 1},
	{Lo: 0x2028, Hi: 0x202e, Stride: 1},
	{Lo: 0x2066, Hi: 0x2069, Stride: 1},
}}

// invisible are the runes that show nothing and take no room: Unicode's
// Default_Ignorable_Code_Point without those in turning, the annotation
// characters, and the noncharacters of the basic plane.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00ad, Hi: 0x00ad, Stride: 1},
		{Lo: 0x034f, Hi: 0x034f, Stride: 1},
		{Lo: 0x115f, Hi: 0x1160, Stride: 1},
		{Lo: 0x17b4, Hi: 0x17b5, Stride: 1},
		{Lo: 0x180b, Hi: 0x180f, Stride: 1},
		{Lo: 0x200b, Hi: 0x200d, Stride: 1},
		{Lo: 0x2060, Hi: 0x2065, Stride: 1},
		{Lo: 0x206a, Hi: 0x206f, Stride: 1},
		{Lo: 0x3164, Hi: 0x3164, Stride: 1},
		{Lo: 0xfdd0, Hi: 0xfdef, Stride: 1},
		{Lo: 0xfe00, Hi: 0xfe0f, Stride: 1},
		{Lo: 0xfeff, Hi: 0xfeff, Stride: 1},
		{Lo: 0xffa0, Hi: 0xffa0, Stride: 1},
		{Lo: 0xfff0, Hi: 0xfffb, Stride: 1},
		{Lo: 0xfffe, Hi: 0xffff, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x1bca0, Hi: 0x1bca3, Stride: 1},
		{Lo: 0x1d173, Hi: 0x1d17a, Stride: 1},
		{Lo: 0xe0000, Hi: 0xe0fff, Stride: 1},
	},
	LatinOffset: 1,
}

// pictographic are the blocks that hold the emoji a sequence may be built from
// (Unicode's Extended_Pictographic, rounded to blocks; skin tones included).
var pictographic = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00a9, Hi: 0x00a9, Stride: 1},
		{Lo: 0x00ae, Hi: 0x00ae, Stride: 1},
		{Lo: 0x203c, Hi: 0x203c, Stride: 1},
		{Lo: 0x2049, Hi: 0x2049, Stride: 1},
		{Lo: 0x2122, Hi: 0x2122, Stride: 1},
		{Lo: 0x2139, Hi: 0x2139, Stride: 1},
		{Lo: 0x2194, Hi: 0x21aa, Stride: 1},
		{Lo: 0x231a, Hi: 0x23ff, Stride: 1},
		{Lo: 0x24c2, Hi: 0x24c2, Stride: 1},
		{Lo: 0x25aa, Hi: 0x27bf, Stride: 1},
		{Lo: 0x2934, Hi: 0x2935, Stride: 1},
		{Lo: 0x2b05, Hi: 0x2b55, Stride: 1},
		{Lo: 0x3030, Hi: 0x3030, Stride: 1},
		{Lo: 0x303d, Hi: 0x303d, Stride: 1},
		{Lo: 0x3297, Hi: 0x3299, Stride: 2},
	},
	R32:         []unicode.Range32{{Lo: 0x1f000, Hi: 0x1faff, Stride: 1}},
	LatinOffset: 2,
}
