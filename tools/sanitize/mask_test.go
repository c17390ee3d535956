package sanitize

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

func TestMask(t *testing.T) {
	const secret = `s3cret/"key"+1`
	m := NewMask([]string{secret, " padded-one\n", "word", ""}, 5)
	quoted, _ := json.Marshal(secret)
	forms := []string{
		secret, url.QueryEscape(secret), url.PathEscape(secret), strings.Trim(string(quoted), `"`), hex.EncodeToString([]byte(secret)),
		"padded-one",
	}
	for _, form := range forms {
		if got := m.Text("the " + form + " word"); got != "the [redacted] word" {
			t.Errorf("%q: got %q", form, got)
		}
		if got := m.Plain("the " + form[:4] + "\x1b[1m\u200b" + form[4:] + " word"); got != "the [redacted] word" {
			t.Errorf("%q, parted: got %q", form, got)
		}
		for limit := range len(form) + 20 { // masked before it is shortened
			if got := m.Line("the\n"+form, limit); !strings.HasPrefix("the [redacted]", strings.TrimSuffix(got, ellipsis)) {
				t.Errorf("%q: %d runes: got %q", form, limit, got)
			}
		}
		for n := range len(form) {
			if got := m.TrimTornStart(form[n:] + " word"); n > 0 && got != " word" {
				t.Errorf("%q from %d: got %q", form, n, got)
			}
		}
	}
	if got := m.Text(base64.StdEncoding.EncodeToString([]byte("user:" + secret))); strings.Contains(got, base64.StdEncoding.EncodeToString([]byte(secret))[2:12]) || !strings.Contains(got, Redacted) {
		t.Errorf("in base64: got %q", got)
	}
	var none Mask
	if got := none.TrimTornStart(none.Text(secret)); got != secret || !none.IsZero() {
		t.Errorf("got %q", got)
	}
}

// TestExcerpt: where a text was shortened, a piece of a secret is one.
func TestExcerpt(t *testing.T) {
	m := NewMask([]string{"sk-0123456789"}, 4)
	for in, want := range map[string]string{
		"a sk-0123456789 b": "a " + Redacted + " b",
		"a sk-0123":         "a sk-0123", // whole
		"a sk-0123…":        "a " + Redacted + "…",
		"a sk-0123456789…":  "a " + Redacted + "…",
		"…456789 b":         "…" + Redacted + " b",
		"…456789 b sk-012…": "…" + Redacted + " b " + Redacted + "…",
		"…345678…":          "…" + Redacted + "…",
		"…345…":             "…345…", // too short to tell
		"…":                 "…", "……": "……", "": "",
	} {
		if got := m.Excerpt(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
	if got := (Mask{}).Excerpt("…a…"); got != "…a…" {
		t.Errorf("no secrets: %q", got)
	}
}
