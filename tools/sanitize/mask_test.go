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

// TestMaskForms: a secret is recognized however it is encoded, and a longer one before a shorter one that it begins with.
func TestMaskForms(t *testing.T) {
	m := NewMask([]string{"pä<ss>-wörd", "token-0123", "token-01234567", "short"}, 1)
	for _, form := range []string{
		"pä<ss>-wörd", "p%C3%A4%3Css%3E-w%C3%B6rd", "p%c3%a4%3css%3e-w%c3%b6rd", "pä&lt;ss&gt;-wörd", `pä\u003css\u003e-wörd`, `pä\\u003css\\u003e-wörd`,
		`\u0070\u00e4\u003c\u0073\u0073\u003e\u002d\u0077\u00f6\u0072\u0064`, `\u0070\u00E4\u003C\u0073\u0073\u003E\u002D\u0077\u00F6\u0072\u0064`,
		"&#112;&#228;&#60;&#115;&#115;&#62;&#45;&#119;&#246;&#114;&#100;", "&#x70;&#xe4;&#x3c;&#x73;&#x73;&#x3e;&#x2d;&#x77;&#xf6;&#x72;&#x64;",
		"746f6b656e2d30313233", "746F6B656E2D30313233", "%74%6f%6b%65%6e%2d%30%31%32%33", `\x74\x6f\x6b\x65\x6e\x2d\x30\x31\x32\x33`,
		"token-0123", "token-01234567", "short",
	} {
		if got := m.Text("a " + form + " b"); got != "a [redacted] b" {
			t.Errorf("%s: got %q", form, got)
		}
	}
	for shift := range 3 {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			once := encoding.EncodeToString([]byte("user:"[:2+shift] + "pä<ss>-wörd" + ">?"))
			for _, text := range []string{once, encoding.EncodeToString([]byte(once))} {
				if got := m.Text(text); !strings.Contains(got, Redacted) {
					t.Errorf("base64, %d before it: got %q", 2+shift, got)
				}
			}
		}
	}
	for _, text := range []string{"73686f7274", "ordinary"} { // short secrets could be part of such texts by chance
		if got := m.Text(text); got != text {
			t.Errorf("%s: got %q", text, got)
		}
	}
}
