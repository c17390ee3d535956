// Package format formats numbers, durations, sizes and money, so that they look
// the same on the screen, in plain lines and in print. Its functions are pure. If
// two places of the screen have different space, each form has its own function.
package format

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Plural returns n and a noun: "1 file", "3 files".
func Plural(n int, noun string) string {
	return strconv.Itoa(n) + " " + noun + PluralSuffix(n)
}

// PluralSuffix returns the ending of a noun for n things: "" or "s".
func PluralSuffix(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// Join joins the texts that are not empty.
func Join(separator string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return text == "" }), separator)
}

// When returns text if it applies, otherwise "".
func When(applies bool, text string) string {
	if applies {
		return text
	}
	return ""
}

// Tokens returns a number of tokens in few characters: 812, 1.2k, 18k, 1.1M.
func Tokens(n int) string {
	switch {
	case n >= 999_500:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 9_950:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	case n >= 1_000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return strconv.Itoa(n)
}

// TokensExact returns a number of tokens to three digits: 812, 1.2k, 18.4k, 1.1M.
func TokensExact(n int) string {
	switch {
	case n < 1000:
		return strconv.Itoa(n)
	case n < 99_950:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	case n < 999_500:
		return fmt.Sprintf("%.0fk", float64(n)/1e3)
	}
	return fmt.Sprintf("%.1fM", float64(n)/1e6)
}

// Window returns the size of a context window as vendors write it: 128K, 1.05M.
func Window(tokens int) string {
	if tokens >= 1_000_000 {
		return strconv.FormatFloat(math.Round(float64(tokens)/1e4)/100, 'f', -1, 32) + "M"
	}
	return strconv.Itoa(tokens/1000) + "K"
}

// Rate returns tokens per second; "" for zero.
func Rate(perSecond float64) string {
	switch {
	case perSecond <= 0:
		return ""
	case perSecond < 10:
		return fmt.Sprintf("%.1f tok/s", perSecond)
	}
	return fmt.Sprintf("%.0f tok/s", perSecond)
}

// Percent returns a share, from 0 to 1, in whole percent; "" below 0. A share above 1 is not
// rounded to 100%.
func Percent(share float64) string {
	n := math.Round(share * 100)
	switch {
	case share < 0:
		return ""
	case share > 1:
		n = max(n, 101)
	}
	return fmt.Sprintf("%.0f%%", n)
}

// Capital returns text for the user, with a capital first letter. It leaves text unchanged
// that begins with a name, a path or a key: anything but a single word of lowercase letters
// (model names contain hyphens), or a single letter other than "a".
func Capital(text string) string {
	word, _, _ := strings.Cut(text, " ")
	word = strings.TrimRight(word, ",;")
	if word == "" || len(word) == 1 && word != "a" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz'") != "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// ModelID returns the name of a model, provider/model, without its provider.
func ModelID(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// Cost returns dollars with two digits, or four below a cent; "" for zero. known
// reports that the cost is complete; otherwise it is shown as "≥$0.12".
func Cost(dollars float64, known bool) string {
	if dollars == 0 {
		return ""
	}
	least, digits := "", 2
	if !known {
		least = "≥"
	}
	if dollars < 0.01 {
		digits = 4
	}
	var buffer [32]byte
	text := append(append(buffer[:0], least...), '$')
	return string(strconv.AppendFloat(text, dollars, 'f', digits, 64))
}

// Price returns dollars with at least two digits, so that prices in a column
// are easy to compare, and with more for fractions of a cent.
func Price(dollars float64) string {
	exact := strconv.FormatFloat(dollars, 'f', -1, 64)
	if cents := fmt.Sprintf("%.2f", dollars); len(cents) > len(exact) {
		return "$" + cents
	}
	return "$" + exact
}

// Size returns a number of bytes: 812 bytes, 1.2 KB, 3.4 MB, 5.6 GB.
func Size(bytes int) string {
	if bytes < 1000 {
		return Plural(bytes, "byte")
	}
	size, unit := float64(bytes)/1e3, 0
	for ; size >= 999.95 && unit < 3; unit++ {
		size /= 1e3
	}
	return fmt.Sprintf("%.1f %s", size, []string{"KB", "MB", "GB", "TB"}[unit])
}

// Duration returns a completed duration: 40 ms, 1.2 s, 3 s, 12 s, 3 min 5 s, 2
// h 10 min.
func Duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return strconv.FormatFloat(math.Floor(d.Seconds()*10)/10, 'f', -1, 64) + " s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}

// Elapsed returns a running time, in whole seconds and with a steady width: 9
// s, 3 min 05 s, 1 h 02 min.
func Elapsed(d time.Duration) string {
	s := int(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
}

// Latency returns a short time to a tenth of a second: 40 ms, 1.2 s, 12.0 s.
func Latency(d time.Duration) string {
	if d < time.Second {
		return fmt.Sprintf("%d ms", d.Milliseconds())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}

// Seconds returns a time with tenths of a second below 10 s: 0.4 s, 1.2 s, 12 s,
// 3 min 5 s.
func Seconds(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return Duration(d.Round(time.Second))
}

// Age returns the time since an event: now, 3 min, 5 h, 2 d, 4 mo, 1 y.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, u := range [...]struct {
		least, unit time.Duration
		name        string
	}{{365 * day, 365 * day, "y"}, {60 * day, 30 * day, "mo"}, {day, day, "d"}, {time.Hour, time.Hour, "h"}, {time.Minute, time.Minute, "min"}} {
		if d >= u.least {
			return strconv.FormatInt(int64(d/u.unit), 10) + " " + u.name
		}
	}
	return "now"
}

// Clock returns a time of day in the zone of now, with the date unless both are on the same day.
func Clock(at, now time.Time) string {
	at = at.In(now.Location())
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// FirstLine returns the first line of s, with an ellipsis if more lines follow.
func FirstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// JoinComma joins values with commas.
func JoinComma[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return strings.Join(words, ", ")
}
