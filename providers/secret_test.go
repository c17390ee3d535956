package providers

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

const canary = "sk-CANARY-0123456789abcdef"

// leaks returns the encoding in which text contains the canary.
func leaks(text string) string {
	for form, secret := range map[string]string{
		"plain": canary, "hex": hex.EncodeToString([]byte(canary)),
		"base64": base64.StdEncoding.EncodeToString([]byte(canary)), "a part": canary[3:12],
	} {
		if strings.Contains(strings.ToLower(text), strings.ToLower(secret)) {
			return form
		}
	}
	return ""
}

// However a secret is printed, alone or inside other values, the key does not appear.
func TestSecretNeverAppears(t *testing.T) {
	s := Secret(canary)
	holders := map[string]any{
		"secret": s, "pointer": &s, "slice": []Secret{s}, "array": [1]Secret{s}, "map": map[string]Secret{"k": s},
		"interface": []any{s}, "provider": Provider{APIKey: s},
		"config": Config{Providers: map[string]Provider{"openai": {APIKey: s}}},
		"error":  fmt.Errorf("key %v: %w", s, errors.New("refused")),
	}
	for name, holder := range holders {
		for _, verb := range strings.Split("%v %+v %#v %s %q %x %X % x %d %t %T %20v %-8.3s %c %U %e %b %o", " ") {
			if form := leaks(fmt.Sprintf(verb, holder)); form != "" {
				t.Errorf("%s: %s shows it (%s)", name, verb, form)
			}
		}
		if form := leaks(fmt.Sprint(holder) + fmt.Sprintln(holder)); form != "" {
			t.Errorf("%s: Sprint shows it (%s)", name, form)
		}
		if text, err := json.Marshal(holder); err == nil && leaks(string(text)) != "" {
			t.Errorf("%s: JSON shows it: %s", name, text)
		}
		var text bytes.Buffer
		if err := toml.NewEncoder(&text).Encode(map[string]any{"x": holder}); err == nil && leaks(text.String()) != "" {
			t.Errorf("%s: TOML shows it: %s", name, &text)
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "k", holder)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "k", holder)
		if leaks(log.String()) != "" {
			t.Errorf("%s: slog shows it: %s", name, &log)
		}
	}
}

func TestSecret(t *testing.T) {
	var c Config
	if _, err := toml.Decode("[providers.openai]\napi_key = \""+canary+"\"", &c); err != nil {
		t.Fatal(err)
	}
	key := c.Providers["openai"].APIKey
	if got := key.Reveal(); got != canary {
		t.Errorf("Reveal() = %q, want %q", got, canary)
	}
	if got := fmt.Sprint(key); got != "[redacted]" {
		t.Errorf("prints as %q, want [redacted]", got)
	}
	if got := fmt.Sprint(Secret("")); got != "" {
		t.Errorf("no key prints as %q, want nothing", got)
	}
}
