// Package band draws the band at the bottom of the screen: the one place where the user writes,
// answers and filters. A bar at its left edge shows whose turn it is.
package band

import (
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// Width is the width of the bar and the free cell after it.
const Width = 2

// AiryFrom is the number of rows from which the band has empty rows around its text.
const AiryFrom = 19

const bar = "▌ "

// Rows appends rows of the band to a screen, each width cells wide. The bar has the style lead.
// Without colors the bar alone shows the band.
func Rows(screen, rows []string, width int, lead lipgloss.Style, th *theme.Theme) []string {
	ground, start := theme.NewSGR(th.Composer), lead.Render(bar)
	for _, row := range rows {
		row = start + row
		switch free := width - ansi.StringWidth(row); {
		case free < 0:
			row = ansi.Truncate(row, max(width, 0), "")
		case ground.On != "":
			row += strings.Repeat(" ", free)
		}
		screen = append(screen, ground.Under(row))
	}
	return screen
}
