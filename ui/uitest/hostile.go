package uitest

import (
	"fmt"
	"strings"
)

// Mark stands in the parameters of every sequence of Hostile that moves, paints or
// asks, so that one that got through can be told from the screen's own.
const Mark = "4242"

// attacks lists what text from outside may try on a terminal, most dangerous
// first.
var attacks = []string{
	"\x1b]52;c;NDI0Mg==\a", "\x1b]52;c;NDI0Mg==\x1b\\", // writes the clipboard
	"\x1b]0;4242\a", "\x1b]2;4242\x1b\\", "\x1b[22t", "\x1b[21t", // title
	"\x1b[4242;6n", "\x1b[6n", "\x1b[5n", "\x1b[c", "\x1b[>4242c", "\x1b]10;?\a", "\x1bP$qm\x1b\\", "\x1bP+q4242\x1b\\", // make it answer
	"\x1b]8;;http://evil.example/4242\x1b\\bank.example\x1b]8;;\x1b\\", "\x1b]8;;file:///4242\aopen\x1b]8;;\a", // hidden links
	"\x1b]8;;http://4242", "\x1bP4242", "\x1b_G4242;", "\x1b^4242", "\x1bX4242", "\x1b[4242", "\x1b]4242", "\x1b", // unterminated
	"\x1b[4242;4242H", "\x1b[4242A", "\x1b[4242@", "\x1b[4242M", "\x1b[4242S", "\x1b[4242b", "\x1b[38;5;4242m", "\x1b[?4242h", // move, paint, switch
	"\x1bc", "\x1b#8", "\x1b[!p", "\x1b[?3h", "\x1b[20h", "\x1b(0", "\x1bn", "\x0e", "\x0f", // reset, character sets
	"\u009b4242m", "\u009d0;4242\u009c", "\u0090q4242\u009c", "\u0085", "\u0084", "\x9b4242m", "\x9d52;c;NDI0Mg==\x9c", // C1, encoded and raw
	"\r", "safe\r\x1b[4242Krm -rf ~", "a\b\b\b\bevil", "\v", "\f", "\a", "\x00", "\x7f", "\x05", "\x18", "\x1a",
	"\u202egpj.exe", "\u2066hidden\u2069", "\u200f", "\u061c", "\u2028", "\u2029", // turned around, false line ends
	"\u200b\u200c\u2060\ufeff\u00ad", "\U000e0001\U000e0069\U000e0067\U000e006e\U000e006f\U000e0072\U000e0065", "\ufe00\U000e0100", // unseen
	"e" + strings.Repeat("\u0301", 200), "\xff\xfe\xc0\xaf", "\xed\xa0\x80", "\xe2\x82", "\xf0\x9f", // piled up, broken
	"\x1b[200~rm -rf /\r\x1b[201~", "\x1b]1337;File=inline=1:NDI0Mg==\a", "\x1b]777;notify;4242\a", "\x1b]9;4242\a", "\x1b[?1049;4242l", "\x1b[?2026;4242h", "\x1b[>4;4242m", "\x1b[=4242u",
}

// settings lists where in a text an attack may stand; %s is the attack.
var settings = []string{
	"%s", "before %s after", "`%s`", "```sh\n%s\n```", "- item %s\n- next", "| a | b |\n|---|---|\n| %s | c |",
	"[%s](http://example.com/%s)", "# %s", "> %s", "**%s**", "![%s](http://example.com/x.png)", "<b>%s</b>", "1. %s\n\n   %s",
}

// Hostile returns n texts from outside that try to do more to a terminal than be
// read; the same ones each time. All attacks are among the first 100, and each
// stands in another setting the next time round.
func Hostile(n int) []string {
	texts := make([]string, n)
	for i := range texts {
		attack := attacks[i%len(attacks)]
		setting := settings[(i+i/len(attacks))%len(settings)]
		texts[i] = fmt.Sprint(i, " ", strings.ReplaceAll(setting, "%s", attack))
	}
	return texts
}
