package uitest

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// sequence holds one escape sequence at the beginning of a text.
var sequence = regexp.MustCompile(`^\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[P_^X][^\x1b]*\x1b\\|[ -/]*[0-OQ-WYZ\x60-~=>])`)

// own holds every escape sequence that a screen of ours may send to a terminal.
var own = regexp.MustCompile(`^\x1b(?:` + strings.Join([]string{
	`\[(?:[0-9]{1,3}(?:[;:][0-9]{0,3})*)?m`,        // colors, bold and so on
	`\[[0-9]{0,3}[ABCDEFGdaXPLM@STIZb` + "`" + `]`, // move, erase, insert and delete, scroll, tabs, repeat
	`\[(?:[0-9]{1,3}(?:;[0-9]{1,3})?)?[Hfr]`,       // move, scrolling region
	`\[[0-3]?[JK]`,                                 // erase
	`\[[0-9]? q`,                                   // shape of the cursor
	`\[\?(?:1|7|25|1000|1002|1003|1004|1006|1049|2004|2026|2027|2031)[hl]`,
	`\[\?(?:2026|2027)\$p`, // which modes are there
	`\[>q`,                 // which terminal it is, for images
	`\[[<>=][0-9]{0,2}(?:;[0-9])?u|\[\?u|\[>4(?:;[0-2])?m`, // keyboard protocols
	`\[\?5W|\[[0-3]?g`, // tab stops
	`[78=>M]`,
	`\]11;\?(?:\x07|\x1b\\)`, // background color, asked
	`\]2;(?:[^\x00-\x1f\x7f]*parley)?(?:\x07|\x1b\\)`, // title
	`\[2[23];2t`, // keep the title, and bring it back
	`\]9;4;[0-4](?:;[0-9]{1,3})?(?:\x07|\x1b\\)`, // progress
	`\]8;[^;]*;(?:(?:https?://|mailto:)[!-~]*)?(?:\x07|\x1b\\)`,
}, "|") + `)$`)

// Foreign lists what in the output of a program, as the terminal got it, no
// program of ours sends: escape sequences that are not on the list, those that
// carry Mark, unterminated ones, control characters, C1, text that turns around
// or cannot be seen, invalid UTF-8.
func Foreign(output string) []string {
	var found []string
	for i := 0; i < len(output); {
		rest := output[i:]
		if rest[0] == '\x1b' {
			seq := sequence.FindString(rest)
			if seq == "" {
				found = append(found, fmt.Sprintf("an escape sequence that does not end at %d: %.40q", i, rest))
				i++
				continue
			}
			asked := seq == "\x1b[c" && strings.HasSuffix(output[:i], "\x1b[>q") // the end of that question
			if !asked && !own.MatchString(seq) || strings.Contains(seq, Mark) {
				found = append(found, fmt.Sprintf("%.80q at %d", seq, i))
			}
			i += len(seq)
			continue
		}
		r, size := utf8.DecodeRuneInString(rest)
		if !plain(r, size) {
			found = append(found, fmt.Sprintf("%U at %d, behind %.40q", r, i, output[max(0, i-20):i]))
		}
		i += size
	}
	return found
}

// plain reports whether r may stand between escape sequences. A terminal driver
// and the renderer move with CR, LF, BS and tab.
func plain(r rune, size int) bool {
	switch {
	case r == utf8.RuneError && size == 1:
		return false
	case strings.ContainsRune("\r\n\b\t", r):
		return true
	case r < ' ', r >= 0x7f && r <= 0x9f, unicode.Is(unicode.Bidi_Control, r), r == 0x2028, r == 0x2029:
		return false
	case r == 0x200d, r == 0xfe0e, r == 0xfe0f: // of emoji
		return true
	}
	return !unicode.In(r, unicode.Cf, unicode.Variation_Selector)
}
