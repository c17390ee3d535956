package providers

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/token"
	"parley/tools/process"
)

// Keys are masked from every place of the configuration, in other encodings too, and if a command
// of this process printed them. A key as short as a word is not masked. The output of a command
// that was not run is unknown, and the error says so: masking runs nothing.
func TestMaskKeys(t *testing.T) {
	env := map[string]string{"XAI_API_KEY": "xai-0123456789", "MINE": "mine-0123456789", "GROQ_API_KEY": "short77"}
	ran := filepath.Join(t.TempDir(), "ran")
	stored := &fakeStore{commands: map[string]string{"s": "echo sto-0123456789", "unused": "echo unused-0123456789 >" + ran}}
	c := Config{Stored: stored, Providers: map[string]Provider{
		"a": {APIKey: "conf-0123456789"},
		"b": {APIKeyEnv: "MINE"},
		"c": {Headers: map[string]string{"Authorization": "Bearer head-0123456789", "X-Title": "a title of mine"}},
		"d": {BaseURL: "https://me:pass-0123456789@h/v1?key=url-0123456789&mode=plain-mode"},
		"e": {APIKeyCommand: "echo cmd-0123456789"},
		"f": {APIKeyCommand: process.ShellText("echo run >" + ran)},
		"h": {TokenCommand: process.ShellText("echo run >" + ran + "; echo other-0123456789")},
		"g": {TokenCommand: `echo '{"access_token":"tok-0123456789"}'`},
	}}
	for _, command := range []string{string(c.Providers["e"].APIKeyCommand), stored.commands["s"]} {
		if _, err := KeyFromCommand(t.Context(), command); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := token.Command(string(c.Providers["g"].TokenCommand), 0).Get(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	mask, err := c.MaskKeys(func(name string) string { return env[name] })
	if err == nil || !strings.HasSuffix(err.Error(), " did not for f, h, unused") || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error %v names not just the commands that did not run", err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("masking ran a command")
	}
	for _, key := range []string{"xai-0123456789", "mine-0123456789", "conf-0123456789", "head-0123456789", "pass-0123456789", "url-0123456789", "cmd-0123456789", "tok-0123456789", "sto-0123456789",
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

// TestHeadersAreSecretByName checks that an error has the server's text, except for headers that hold keys by name,
// even short ones.
func TestHeadersAreSecretByName(t *testing.T) {
	server := scripted(t, func(map[string]any) (int, string) {
		return 400, `{"error":{"message":"openai error: team blue-whale, author jane, key vk-0123456789, bearer tok-0123456789, cookie id=c-0123456789"}}`
	})
	c := Config{Providers: map[string]Provider{"box": {BaseURL: server.URL + "/v1", Headers: map[string]string{
		"x-portkey-provider": "openai", "X-Team": "blue-whale", "X-Author": "jane",
		"x-portkey-virtual-key": "vk-0123456789", "Proxy-Authorization": "Bearer tok-0123456789", "Cookie": "id=c-0123456789",
	}}}}
	got := hold(t, opens(t, c, "box/m", OpenOptions{Memory: &Memory{}}), llm.Request{})
	want := "openai error: team blue-whale, author jane, key [redacted], bearer [redacted], cookie [redacted]"
	if got.err == nil || !strings.HasSuffix(got.err.Error(), want) {
		t.Errorf("%v, want %s", got.err, want)
	}
}
