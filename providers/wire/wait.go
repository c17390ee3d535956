package wire

import (
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/tools/lazy"
)

// wait returns how long the server asked to wait after a response with this status; zero if it did
// not say or the value is nonsense. The first of these counts: Retry-After-Ms, Retry-After,
// Gemini's RetryInfo, the reset of an exhausted rate-limit bucket, the reset of a subscription's limit,
// "try again in 7.66s" in the message, "resets 3pm (Europe/Berlin)" there.
func (w *evidence) wait(status int, h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		if d := saneDuration(ms / 1000); d > 0 {
			return d
		}
	}
	if d := retryAfter(h, now); d > 0 {
		return d
	}
	if w.delay > 0 {
		return w.delay
	}
	if status == http.StatusTooManyRequests {
		handed := http.Header{}
		for name, v := range w.headers {
			handed.Set(name, v)
		}
		if d := max(latestReset(h, now), latestReset(handed, now)); d > 0 {
			return d
		}
	}
	if d := parseReset(w.resets, now); d > 0 {
		return d
	}
	message := strings.ToLower(w.message)
	if m := retryPhrase.FindStringSubmatch(message); m != nil {
		return saneDuration(parseDuration(m[1]))
	}
	if m := epochPhrase.FindStringSubmatch(message); m != nil {
		return parseReset(m[1], now)
	}
	zone := now.Location()
	if slices.ContainsFunc(w.codes, glmLimit.MatchString) {
		zone = time.FixedZone("", 8*3600) // GLM names China's time without a zone
	}
	return saneDuration(resetAt(w.message, now.In(zone)).Sub(now).Seconds())
}

// resetAt returns the time at which a limit resets according to a message, such as
//
//	resets 3pm (Europe/Berlin)    try again at Dec 1st, 2026 3:04 PM    will reset at 2026-11-30 19:01:25
//
// A time without seconds is over after its minute. A time without a zone that is known here is in now's. The zero time
// means that the message contains none.
func resetAt(message string, now time.Time) time.Time {
	if m := datePhrase.FindStringSubmatch(message); m != nil {
		at, err := time.Parse(time.RFC3339, m[1]+"T"+m[2]+strings.ToUpper(m[3]))
		if m[3] == "" {
			at, err = time.ParseInLocation(time.DateTime, m[1]+" "+m[2], now.Location())
		}
		if err == nil {
			return at
		}
	}
	m := clockPhrase.FindStringSubmatch(message)
	if m == nil {
		return time.Time{}
	}
	if zone, err := time.LoadLocation(m[5]); err == nil && m[5] != "" {
		now = now.In(zone)
	}
	layout, clock := "15:04", strings.ToUpper(strings.ReplaceAll(m[4], " ", ""))
	if strings.HasSuffix(clock, "M") {
		layout = "3:04PM"
		if !strings.Contains(clock, ":") {
			layout = "3PM"
		}
	}
	at, err := time.Parse(layout, clock)
	if err != nil {
		return time.Time{}
	}
	year, month, day := now.Date()
	if m[1] != "" {
		date, err := time.Parse("Jan 2", m[1]+" "+m[2])
		if err != nil {
			return time.Time{}
		}
		if month, day = date.Month(), date.Day(); m[3] != "" {
			year, _ = strconv.Atoi(m[3])
		}
	}
	on := func(year, day int) time.Time {
		return time.Date(year, month, day, at.Hour(), at.Minute()+1, 0, 0, now.Location())
	}
	reset := on(year, day)
	switch past := now.Sub(reset); {
	case m[1] == "" && past > justReset:
		reset = on(year, day+1)
	case m[1] != "" && m[3] == "" && past > 183*24*time.Hour:
		reset = on(year+1, day)
	}
	return reset
}

// justReset is how long ago a reset without a date can be: earlier times of day are those of tomorrow.
const justReset = 10 * time.Minute

// retryAfter reads Retry-After: seconds, possibly with a fraction, or an HTTP date. The date is
// compared with the server's clock if it sends one.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil {
		return saneDuration(s)
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return saneDuration(at.Sub(now).Seconds())
}

// latestReset returns when the last of the exhausted rate-limit buckets is full again:
//
//	x-ratelimit-remaining-tokens: 0              x-ratelimit-reset-tokens: 6m0s
//	anthropic-ratelimit-requests-remaining: 0    anthropic-ratelimit-requests-reset: 2026-11-20T12:00:00Z
func latestReset(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for name, values := range h {
		name = strings.ToLower(name)
		if !strings.Contains(name, "ratelimit-") || !strings.Contains(name, "reset") || len(values) == 0 {
			continue
		}
		remaining := strings.TrimSpace(h.Get(strings.Replace(name, "reset", "remaining", 1)))
		if left, err := strconv.ParseFloat(remaining, 64); err != nil || left > 0 {
			continue
		}
		longest = max(longest, parseReset(strings.TrimSpace(values[0]), now))
	}
	return longest
}

// parseReset parses a time or a delay: a Go duration, RFC 3339, seconds, or a Unix time in seconds
// or milliseconds, distinguished by size.
func parseReset(value string, now time.Time) time.Duration {
	if at, err := time.Parse(time.RFC3339, value); err == nil {
		return saneDuration(at.Sub(now).Seconds())
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil {
		return saneDuration(parseDuration(value))
	}
	epoch := float64(now.UnixMilli()) / 1000
	switch {
	case n >= 1e11:
		return saneDuration(n/1000 - epoch)
	case n >= 1e9:
		return saneDuration(n - epoch)
	}
	return saneDuration(n)
}

const amount = `[0-9]+(?:\.[0-9]+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)`

var (
	retryPhrase   = lazy.NewRegexp(`(?:try(?:ing)? again|retry|resets?)(?: after| in)(?: about)? ((?:` + amount + `[\s,]*)*` + amount + `\b)`)
	durationPiece = lazy.NewRegexp(`([0-9]+(?:\.[0-9]+)?)\s*(ms|mil|s|m|h|d)`)
	epochPhrase   = lazy.NewRegexp(`limit reached\|([0-9]{10,13})\b`) // Claude Code
	datePhrase    = lazy.NewRegexp(`(?i)(?:resets?|again|retry|until|after|将在)[^0-9]{0,12}([0-9]{4}-[0-9]{2}-[0-9]{2})[ T]([0-9]{2}:[0-9]{2}:[0-9]{2})(z|[+-][0-9]{2}:[0-9]{2})?`)
	clockPhrase   = lazy.NewRegexp(`(?i)(?:resets?|again|retry)(?: on| at| after|:)? (?:([a-z]{3})[a-z]* ([0-9]{1,2})(?:st|nd|rd|th)?(?:,? ([0-9]{4}))?,?(?: at)? )?` +
		`([0-9]{1,2}(?::[0-9]{2})?\s?[ap]m|[0-9]{1,2}:[0-9]{2})\b(?: \(([a-z][a-z0-9_+/-]+)\))?`)
	glmLimit = lazy.NewRegexp(`^13(04|08|10|1[6-9]|2[01])$`)
)

// units maps units of time to seconds.
var units = map[string]float64{"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600, "d": 24 * 3600}

// parseDuration parses "1m30.5s", "900ms" and "7.66 seconds"; 0 if s is not a duration.
func parseDuration(s string) float64 {
	var sum float64
	for _, m := range durationPiece.FindAllStringSubmatch(s, -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			return 0
		}
		sum += n * units[m[2]]
	}
	return sum
}

// saneDuration returns seconds as a duration; 0 if it is implausible.
func saneDuration(seconds float64) time.Duration {
	const year = 366 * 24 * time.Hour
	if math.IsNaN(seconds) || seconds <= 0 || seconds > year.Seconds() {
		return 0
	}
	return time.Duration(math.Round(seconds*1000)) * time.Millisecond
}
