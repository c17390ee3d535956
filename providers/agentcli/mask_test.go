package agentcli

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"

	"parley/providers/llmtest"
)

// The text of a program is truncated after masking credentials, so that no part of one remains.
func TestMaskBeforeCut(t *testing.T) {
	t.Parallel()
	const secret = "QXZKVWJYQUZXKVJWQZYX"
	part := regexp.MustCompile(`[JKQUVWXYZ]`)
	says := map[string]func(a *answer, m *Model, words string) error{
		"at its end": func(a *answer, m *Model, words string) error {
			return m.exitError(a, exitInfo{code: 1, stderr: words, byItself: true})
		},
		"before it was silent": func(_ *answer, m *Model, words string) error {
			return m.timeoutError(&process{stderr: &stderrBuffer{last: []byte(words), mask: m.mask()}}, "nothing", 0)
		},
		"in plain text": func(a *answer, m *Model, words string) error {
			a.plain = []byte(words)
			return m.exitError(a, exitInfo{code: 1, byItself: true})
		},
		"in an error": func(a *answer, m *Model, words string) error { return a.toError("", 0, words) },
		"in an event that is not known": func(a *answer, m *Model, words string) error {
			a.skip([]byte(words))
			return a.unknownFormError()
		},
		"of what it denied": func(a *answer, m *Model, words string) error {
			return errors.New((&antigravity{answer: a}).denied([]json.RawMessage{[]byte(`"` + words + `"`)}))
		},
	}
	step := 3 // each truncation leaves a different number of letters, from 1 to 19
	switch {
	case llmtest.Long:
		step = 1
	case llmtest.Race:
		step = 13
	}
	for name, say := range says {
		m := New(Options{Provider: "mine", Kind: "antigravity-cli", Env: []string{"A_TOKEN=" + secret}})
		for _, limit := range []int{maxErrorBytes, maxNotice} {
			for i := limit - 2*len(secret); i <= limit; i += step {
				for _, words := range []string{strings.Repeat("a", i) + secret + strings.Repeat("a", limit), strings.Repeat("a", limit) + secret + strings.Repeat("a", i)} {
					a := &answer{run: &run{}, flavor: m.flavor, mask: m.mask()}
					if e := m.withProvider(say(a, m, words)); part.MatchString(strings.TrimPrefix(e.Message, "agy exited with status 1 before the answer was complete")) {
						t.Fatalf("%s: %d before it: %q", name, i, e.Message)
					}
				}
			}
		}
	}
}

// The kept end of stderr may start anywhere in a credential, in any encoding.
func TestTornCredential(t *testing.T) {
	t.Parallel()
	const secret = "QXZKVWJYQUZXKVJWQZYX"
	m := New(Options{Provider: "mine", Kind: "gemini-cli", Env: []string{"A_TOKEN=" + secret}})
	part := regexp.MustCompile(`[JKQUVWXYZ]|5158|UVhaS`)
	step := 1
	if llmtest.Race {
		step = 7
	}
	for _, form := range []string{secret, secret[:9] + "\x1b[1m" + secret[9:], hex.EncodeToString([]byte(secret)), base64.StdEncoding.EncodeToString([]byte(secret))} {
		for left := 0; left <= len(form); left += step {
			b := &stderrBuffer{onWrite: func([]byte) {}, mask: m.mask()}
			io.WriteString(b, strings.Repeat("a", maxStderrTail)+" "+form)
			io.WriteString(b, " "+strings.Repeat("e", maxStderrTail-1-left))
			said := map[string]string{"kept": b.text(), "silent": m.timeoutError(&process{stderr: b}, "nothing", 0).Error()}
			if llmtest.Long || left%6 == 5 { // slow: it compares each word of the kept text
				e := m.exitError(&answer{run: &run{}, flavor: m.flavor, mask: m.mask()}, exitInfo{code: 1, stderr: said["kept"], byItself: true})
				said["error"] = e.Error()
			}
			for name, said := range said {
				if found := part.FindString(said); found != "" {
					t.Fatalf("%s: the last %d of %q: %q", name, left, form, found)
				}
			}
		}
	}
}
