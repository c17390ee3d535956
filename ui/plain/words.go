package plain

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/ui/format"
)

// length returns how long something took, as one says it.
func length(d time.Duration) string {
	d = d.Round(time.Second)
	switch hours, minutes, seconds := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60; {
	case d < time.Second:
		return "less than a second"
	case hours > 0:
		return format.Plural(hours, "hour") + " " + format.Plural(minutes, "minute")
	case minutes > 0 && seconds > 0:
		return format.Plural(minutes, "minute") + " " + format.Plural(seconds, "second")
	case minutes > 0:
		return format.Plural(minutes, "minute")
	default:
		return format.Plural(seconds, "second")
	}
}

// tokensOut returns how many tokens were generated, as one says it.
func tokensOut(u llm.Usage) string {
	text := format.Plural(u.Output, "token")
	if u.Estimated {
		text = "about " + text
	}
	return text
}

// money returns what usage cost, as one says it; "" if that is unknown or nothing.
func money(u llm.Usage) string {
	switch cents := u.Cost * 100; {
	case u.Cost <= 0:
		return ""
	case !u.Priced:
		u.Priced = true
		return "at least " + money(u)
	case cents >= 100:
		return fmt.Sprintf("%.2f dollars", u.Cost)
	case cents >= 1:
		return fmt.Sprintf("%.1f cents", cents)
	case cents < 0.01:
		return "less than 0.01 cents"
	default:
		return strings.TrimRight(fmt.Sprintf("%.2f", cents), "0") + " cents"
	}
}

// oneLine returns text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// truncate returns the beginning of text, for one line.
func truncate(text string, most int) string {
	text = oneLine(text)
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
	}
	return text
}

// sentence returns text with a full stop, unless it ends in a sign of its own, or in a
// path, which is to be copied.
func sentence(text string) string {
	last := text[strings.LastIndexByte(text, ' ')+1:]
	path := strings.Contains(last, "/") && strings.LastIndexByte(last, '/') > 0 // no command
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") || path {
		return text
	}
	return text + "."
}

// lines returns how many there are in text.
func lines(text string) int {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// hint returns advice as a sentence.
func hint(text string) string { return sentence(oneLine(text)) }
