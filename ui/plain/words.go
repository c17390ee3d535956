package plain

import (
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/tools/sanitize"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// length returns d in words, such as "2 minutes 5 seconds".
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

// tokensOut returns the number of generated tokens in words.
func tokensOut(u llm.Usage) string {
	text := format.Plural(u.Output, "token")
	if u.Estimated {
		text = "about " + text
	}
	return text
}

// money returns the cost of u in words; "" if it is unknown or zero.
func money(u llm.Usage) string {
	switch cents := u.Cost * 100; {
	case u.Cost <= 0:
		return ""
	case !u.Priced:
		u.Priced = true
		return "at least " + money(u)
	case cents >= 99.95: // would round to 100.0 cents
		return fmt.Sprintf("%.2f dollars", u.Cost)
	case cents >= 0.995: // would round to 1.00
		return fmt.Sprintf("%.1f cents", cents)
	case cents < 0.01:
		return "less than 0.01 cents"
	default:
		return strings.TrimRight(fmt.Sprintf("%.2f", cents), "0") + " cents"
	}
}

// oneLine returns text without line breaks.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// truncate returns text as one line of at most most characters, plus "…" if it was longer.
func truncate(text string, most int) string {
	return sanitize.Truncate(oneLine(text), most)
}

// sentence returns text with a full stop, unless it ends in punctuation or in a path, which the
// user may want to copy.
func sentence(text string) string {
	last := text[strings.LastIndexByte(text, ' ')+1:]
	path := strings.LastIndexByte(last, '/') > 0 // at 0, last is a command
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") || path {
		return text
	}
	return text + "."
}

// lines returns the number of lines in text.
func lines(text string) int {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return 0
	}
	return strings.Count(text, "\n") + 1
}

// failure returns an error of a turn and its hint for the user, in sentences.
func failure(err error) string {
	text := sentence("Error: " + oneLine(wording.Error(err)))
	return strings.TrimSpace(text + " " + sentence(oneLine(wording.Hint(err))))
}
