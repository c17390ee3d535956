package wire

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"parley/tools/lazy"
)

// wait returns how long the server asked to wait after a response with this status; zero if it did
// not say or the value is nonsense. The first of these counts: Retry-After-Ms, Retry-After,
// Gemini's RetryInfo, the reset of an exhausted rate-limit bucket, "try again in 7.66s" in the
// message.
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
	if m := retryPhrase.FindStringSubmatch(strings.ToLower(w.message)); m != nil {
		return saneDuration(parseDuration(m[1]))
	}
	return 0
}

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

const amount = `[0-9]+(?:\.[0-9]+)?\s*(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)\b`

var (
	retryPhrase   = lazy.NewRegexp(`(?:try(?:ing)? again|retry)(?: after| in)(?: about)? ((?:[0-9]+(?:\.[0-9]+)?(?:h|m)\s*)*` + amount + `)`)
	durationPiece = lazy.NewRegexp(`([0-9]+(?:\.[0-9]+)?)\s*(ms|mil|s|m|h)`)
)

// units maps units of time to seconds.
var units = map[string]float64{"ms": 0.001, "mil": 0.001, "s": 1, "m": 60, "h": 3600}

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
