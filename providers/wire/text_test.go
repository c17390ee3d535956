package wire_test

import (
	"encoding/json"
	"testing"
	"unicode/utf8"

	"parley/providers/wire"
)

func TestUnquote(t *testing.T) {
	for in, want := range map[string]string{
		`"plain"`:                    "plain",
		`"a\"\\\/\b\f\n\r\tb"`:       "a\"\\/\b\f\n\r\tb",
		`"\u00e9\u4e16"`:             "é世",
		`"\ud83d\uDE00"`:             "😀",
		`"a\ud83d"`:                  "a\xed\xa0\xbd",
		`"\ude00\ud83d\ud83d\ude00"`: "\xed\xb8\x80\xed\xa0\xbd😀",
		"\"\xf0\x9f\"":               "\xf0\x9f",
		"\"\\n\xf0\x9f\"":            "\n\xf0\x9f",
	} {
		var text wire.Text
		got, err := wire.Unquote([]byte(in))
		if err != nil || got != want || json.Unmarshal([]byte(in), &text) != nil || string(text) != want {
			t.Errorf("%s: %q, %q, %v, want %q", in, got, text, err, want)
		}
	}
	for _, in := range []string{``, `"`, `1`, `"\x"`, `"\u12"`, `"\u+123"`, `"\`, `"\"`} {
		if got, err := wire.Unquote([]byte(in)); err == nil {
			t.Errorf("%s: %q", in, got)
		}
	}
}

// FuzzUnquote: complete strings are decoded as by encoding/json.
func FuzzUnquote(f *testing.F) {
	f.Add([]byte(`"a\ud83d\ude00\n"`))
	f.Fuzz(func(t *testing.T, in []byte) {
		var want string
		if json.Unmarshal(in, &want) != nil || in[0] != '"' || in[len(in)-1] != '"' {
			return
		}
		got, err := wire.Unquote(in)
		if err != nil || utf8.ValidString(got) && got != want {
			t.Errorf("%s: %q, %v, want %q", in, got, err, want)
		}
	})
}
