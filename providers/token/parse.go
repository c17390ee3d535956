package token

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// tokenNames and expiryNames are the names that programs use for a token and its expiry, without
// case, _ and -, in order of preference:
//
//	az account get-access-token        accessToken, expires_on (seconds), expiresOn (local time)
//	azd auth token --output json       token, expiresOn
//	gcloud config config-helper        credential.access_token, credential.token_expiry
//	OAuth token endpoints (RFC 6749)   access_token, expires_in (seconds from now)
//	ExecCredential of Kubernetes       status.token, status.expirationTimestamp
var (
	tokenNames  = []string{"accesstoken", "token", "idtoken"}
	expiryNames = []string{"expiresin", "expireson", "expiresat", "tokenexpiry", "expirationtimestamp", "expiry", "expiration"}
)

// Parse returns the token in a program's output: a JSON object, or a line that is the token itself.
// The expiry comes from the object, or from the token if it is a JWT.
func Parse(text string, now time.Time) (Token, error) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "{") {
		line, _, _ := strings.Cut(text, "\n")
		line = strings.Trim(strings.TrimSpace(line), "\"'")
		return Token{line, jwtExpiry(line)}, validateHeaderValue(line)
	}
	var object map[string]any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return Token{}, errors.New("it printed JSON that cannot be read")
	}
	t := findToken(object, now)
	for _, inner := range []string{"credential", "credentials", "status", "data"} {
		if nested, ok := object[inner].(map[string]any); ok && t.Value == "" {
			t = findToken(nested, now)
		}
	}
	if t.Value == "" {
		return Token{}, errors.New("it printed JSON without a token")
	}
	if t.Expiry.IsZero() {
		t.Expiry = jwtExpiry(t.Value)
	}
	return t, validateHeaderValue(t.Value)
}

// findToken returns the token in an object, with its expiry.
func findToken(object map[string]any, now time.Time) (t Token) {
	for _, want := range tokenNames {
		for name, value := range object {
			if text, ok := value.(string); ok && normalizeName(name) == want && t.Value == "" {
				t.Value = strings.TrimSpace(text)
			}
		}
	}
	for _, want := range expiryNames {
		for name, value := range object {
			if normalizeName(name) != want {
				continue
			}
			// az prints the time twice; the number is not in local time.
			if at, exact := parseTime(value, want == "expiresin", now); t.Expiry.IsZero() || exact && want == "expireson" {
				t.Expiry = at
			}
		}
		if !t.Expiry.IsZero() {
			return t
		}
	}
	return t
}

// normalizeName returns a name without case, _ and -.
func normalizeName(name string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
}

// localTimes lists the formats of times without a zone, which are in local time; az uses them.
var localTimes = []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"}

// parseTime parses a time: seconds, since 1970 or from now, or a date. Exact means that it is a
// number. An invalid value gives the zero time.
func parseTime(value any, fromNow bool, now time.Time) (at time.Time, exact bool) {
	text, _ := value.(string)
	if n, ok := value.(json.Number); ok {
		text = n.String()
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		switch {
		case math.IsNaN(seconds) || seconds < 0 || seconds > 1e14:
			return time.Time{}, false
		case fromNow:
			return now.Add(time.Duration(min(seconds, 1e9) * float64(time.Second))), true
		case seconds > 1e11: // milliseconds
			seconds /= 1000
		}
		return time.Unix(int64(seconds), 0), true
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, false
	}
	for _, layout := range localTimes {
		if at, err := time.ParseInLocation(layout, text, time.Local); err == nil {
			return at, false
		}
	}
	return time.Time{}, false
}

// jwtExpiry returns the expiry of a JSON Web Token (RFC 7519); zero if value is not one or has no
// expiry.
func jwtExpiry(value string) time.Time {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return time.Time{}
	}
	payload, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(parts[1], "="))
	var claims struct {
		Expiry json.Number `json:"exp"`
	}
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return time.Time{}
	}
	at, _ := parseTime(claims.Expiry, false, time.Time{})
	return at
}
