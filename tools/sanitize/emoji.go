package sanitize

import (
	"strings"
	"unicode"
)

const (
	zeroWidthJoiner = '\u200d' // ZERO WIDTH JOINER
	textSelector    = '\ufe0e' // VARIATION SELECTOR-15
	emojiSelector   = '\ufe0f' // VARIATION SELECTOR-16
	blackFlag       = '\U0001f3f4'
	tagBase         = '\U000e0000'
	tagCancel       = '\U000e007f'
)

// continuesEmoji reports whether an invisible rune continues an emoji sequence that has begun, and
// records it if so.
func (c *cleaner) continuesEmoji(r rune) bool {
	switch {
	case r == zeroWidthJoiner:
		if c.prev != emojiSelector && !unicode.Is(pictographic, c.prev) {
			return false
		}
	case r == textSelector, r == emojiSelector:
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

// flags are the tag sequences that Unicode recommends (RGI): the flags of
// England, Scotland and Wales, each after a NUL that stands for the black flag.
// Other tag sequences could hide text.
const flags = "\x00gbeng\x7f\x00gbsct\x7f\x00gbwls\x7f"

// ranges returns a table of the runes from the first to the second of each pair, in
// ascending order.
func ranges(pairs [][2]rune) *unicode.RangeTable {
	var t unicode.RangeTable
	for _, p := range pairs {
		if p[1] > 0xffff {
			t.R32 = append(t.R32, unicode.Range32{Lo: uint32(p[0]), Hi: uint32(p[1]), Stride: 1})
			continue
		}
		t.R16 = append(t.R16, unicode.Range16{Lo: uint16(p[0]), Hi: uint16(p[1]), Stride: 1})
		if p[1] <= unicode.MaxLatin1 {
			t.LatinOffset++
		}
	}
	return &t
}

// IsInvisible reports whether r changes the direction of the following text, ends a
// line in some terminals, or is not displayed at all.
func IsInvisible(r rune) bool { return unicode.Is(bidiControls, r) || unicode.Is(invisible, r) }

// bidiControls are the runes that change the direction of the following text, and the two
// separators that some terminals treat as line ends. They are shown by name.
var bidiControls = ranges([][2]rune{
	{0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e}, {0x2066, 0x2069},
})

// invisible are the runes that display nothing and take no space: Unicode's
// Default_Ignorable_Code_Point without bidiControls, the annotation characters, and the
// noncharacters of the basic plane.
var invisible = ranges([][2]rune{
	{0x00ad, 0x00ad}, {0x034f, 0x034f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x180b, 0x180f},
	{0x200b, 0x200d}, {0x2060, 0x2065}, {0x206a, 0x206f}, {0x3164, 0x3164}, {0xfdd0, 0xfdef},
	{0xfe00, 0xfe0f}, {0xfeff, 0xfeff}, {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0xfffe, 0xffff},
	{0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
})

// pictographic are the blocks that hold the emoji a sequence may be built from
// (Unicode's Extended_Pictographic, rounded to blocks; skin tones included).
var pictographic = ranges([][2]rune{
	{0x00a9, 0x00a9}, {0x00ae, 0x00ae}, {0x203c, 0x203c}, {0x2049, 0x2049}, {0x2122, 0x2122},
	{0x2139, 0x2139}, {0x2194, 0x21aa}, {0x231a, 0x23ff}, {0x24c2, 0x24c2}, {0x25aa, 0x27bf},
	{0x2934, 0x2935}, {0x2b05, 0x2b55}, {0x3030, 0x3030}, {0x303d, 0x303d}, {0x3297, 0x3297},
	{0x3299, 0x3299}, {0x1f000, 0x1faff},
})
