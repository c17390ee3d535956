package theme

import (
	"image/color"
	"math"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// rgb returns the components of a color, from 0 to 255.
func rgb(c color.Color) color.RGBA {
	r, g, b, _ := c.RGBA()
	return color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}
}

// mix returns a with this share of b.
func mix(a, b color.Color, share float64) color.RGBA {
	x, y := rgb(a), rgb(b)
	part := func(x, y uint8) uint8 { return uint8(math.Round(float64(x) + share*(float64(y)-float64(x)))) }
	return color.RGBA{part(x.R, y.R), part(x.G, y.G), part(x.B, y.B), 255}
}

// contrast returns the ratio of relative luminances, as defined by WCAG.
func contrast(a, b color.Color) float64 {
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func luminance(c color.Color) float64 {
	l := linear(c)
	return 0.2126*l[0] + 0.7152*l[1] + 0.0722*l[2]
}

// linear returns the linear components of a color, without sRGB's gamma.
func linear(c color.Color) (l [3]float64) {
	r, g, b, _ := c.RGBA()
	for i, v := range []uint32{r, g, b} {
		f := float64(v) / 0xffff
		if l[i] = f / 12.92; f > 0.04045 {
			l[i] = math.Pow((f+0.055)/1.055, 2.4)
		}
	}
	return l
}

// full returns c as it is: a color of 24 bits.
func full(c color.RGBA) color.Color { return c }

// indexed returns the color of the 256 for c: the chosen or the nearest one.
func indexed(c color.RGBA) color.Color {
	if index := chosen(c); index != 0 {
		return index
	}
	return ansi.Convert256(c)
}

// fit shows the colors of t's text at a depth, each lighter or darker by as much as it takes
// for the contrast of its role with the background and, up to 4 to 1, with the composer's
// band. Colors by number are the user's.
func (t *Theme) fit(show func(color.RGBA) color.Color) {
	end := color.Color(color.Black)
	if t.Dark {
		end = color.White
	}
	for _, r := range roles {
		st := r.style(t)
		ink, ok := st.GetForeground().(color.RGBA)
		if !ok {
			continue
		}
		want := r.contrast
		if t.strict && want > 4 {
			want = 7
		}
		c := show(ink)
		for share := 0.02; share < 1 && t.background != nil; share += 0.02 {
			if contrast(c, t.background) >= want && contrast(c, t.Composer.GetBackground()) >= min(want, 4) {
				break
			}
			c = show(mix(ink, end, share))
		}
		*st = st.Foreground(c)
	}
}

// quieter returns a style for what has a color and is not read: the color, nearer to the
// background.
func (t *Theme) quieter(st lipgloss.Style) lipgloss.Style {
	ink, ok := st.GetForeground().(color.RGBA)
	if !ok || t.background == nil {
		return st
	}
	share := 0.24
	if t.Dark {
		share = 0.35
	}
	return st.Foreground(mix(ink, t.background, share))
}

// A tint says how a band is mixed: with at least a share of the accent, and with as much as it
// takes for a contrast with the background.
type tint struct{ share, contrast float64 }

// mixBands sets the backgrounds of the user's messages, the composer and a selected row: the
// terminal's own with some of the accent, or, of 256 colors, the nearest gray with the contrast.
func (t *Theme) mixBands(few bool) {
	accent, ok := t.Accent.GetForeground().(color.RGBA)
	if t.background == nil || !ok && !few {
		return
	}
	tints := [...]tint{{0.05, 1.07}, {0.085, 1.12}, {0.16, 1.25}}
	if t.Dark {
		tints = [...]tint{{0.07, 1.13}, {0.095, 1.20}, {0.16, 1.40}}
	}
	for i, band := range []*lipgloss.Style{&t.Band, &t.Composer, &t.Selected} {
		c := color.Color(mix(t.background, accent, tints[i].share))
		for share := tints[i].share; share < 1 && contrast(c, t.background) < tints[i].contrast; share += 0.005 {
			c = mix(t.background, accent, share)
		}
		if few {
			c = t.gray(tints[i].contrast)
		}
		*band = lipgloss.NewStyle().Background(c)
	}
}

// gray returns the gray of the 256 colors nearest to the background that has a contrast with it.
func (t *Theme) gray(want float64) color.Color {
	const darkest, lightest = ansi.IndexedColor(232), ansi.IndexedColor(255)
	for i := range lightest - darkest {
		c := lightest - i
		if t.Dark {
			c = darkest + i
		}
		if contrast(c, t.background) >= want && (luminance(c) > luminance(t.background)) == t.Dark {
			return c
		}
	}
	return t.background
}

// Indexed returns t for a terminal with 256 colors. Tints are too coarse there: on dark backgrounds
// line numbers and signs alone have one, and changed lines have the color of their side;
// changed words are bold and underlined.
func (t *Theme) Indexed() *Theme {
	few := *t
	few.mixBands(true)
	few.fit(indexed)
	for i, side := range []*lipgloss.Style{&few.Diff.Added, &few.Diff.Removed} {
		if _, ok := side.GetBackground().(color.RGBA); !ok {
			continue // none, or one by number
		}
		if few.Dark {
			*side = lipgloss.NewStyle().Foreground(ansi.IndexedColor(255)).Background([...]ansi.IndexedColor{22, 52}[i])
			few.Diff.Gutter = true
			continue
		}
		*side = lipgloss.NewStyle().Background([...]ansi.IndexedColor{194, 224}[i])
	}
	for _, word := range []*lipgloss.Style{&few.Diff.AddedWord, &few.Diff.RemovedWord} {
		if _, ok := word.GetBackground().(color.RGBA); ok {
			*word = lipgloss.NewStyle()
		}
	}
	return &few
}
