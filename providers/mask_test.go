package providers

import (
	"strings"
	"testing"
)

// Keys are found wherever they are configured, in other encodings too; what is
// too short to be told from a word is not looked for.
func TestMaskKeys(t *testing.T) {
	env := map[string]string{"XAI_API_KEY": "xai-0123456789", "MINE": "mine-0123456789", "GROQ_API_KEY": "short77"}
	c := Config{Providers: map[string]Provider{
		"a": {APIKey: "conf-0123456789"},
		"b": {APIKeyEnv: "MINE"},
		"c": {Headers: map[string]string{"Authorization": "Bearer head-0123456789", "X-Title": "a title of mine"}},
		"d": {BaseURL: "https://me:pass-0123456789@h/v1?key=url-0123456789&mode=plain-mode"},
		"e": {APIKeyCommand: "echo cmd-0123456789"},
		"f": {APIKeyCommand: "exit 3"},
		"g": {TokenCommand: `echo '{"access_token":"tok-0123456789"}'`},
	}}
	mask, err := c.MaskKeys(t.Context(), func(name string) string { return env[name] })
	if err == nil || !strings.Contains(err.Error(), "providers.f ") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error %v names not just the command that failed", err)
	}
	for _, key := range []string{"xai-0123456789", "mine-0123456789", "conf-0123456789", "head-0123456789", "pass-0123456789", "url-0123456789", "cmd-0123456789", "tok-0123456789",
		"eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeK", "ya29.a0AfH6SMBxyz0123456789",
		"eGFpLTAxMjM0NTY3ODk"} {
		if got := mask("it is " + key + "."); got != "it is "+redacted+"." && key[:4] != "eGFp" || got == "it is "+key+"." {
			t.Errorf("%s: %q", key, got)
		}
	}
	for _, text := range []string{"short77", "a title of mine", "plain-mode", ""} {
		if got := mask(text); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
}
