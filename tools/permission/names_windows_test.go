package permission

import "testing"

// Paths in rules have slashes or backslashes.
func TestWindowsPaths(t *testing.T) {
	for text, want := range map[string]string{
		`edit:src\**`:            "src/**",
		`edit:src/**`:            "src/**",
		`read:C:\Users\me\*.txt`: "C:/Users/me/*.txt",
		`edit:a\[1\].txt`:        `a\[1\].txt`,
		`edit:.\secrets\`:        "secrets",
	} {
		r, err := ParseRule(text)
		if err != nil || r.Match != want {
			t.Errorf("%s: got %q, %v, want %q", text, r.Match, err, want)
		}
		if again, err := ParseRule(r.String()); err != nil || again != r {
			t.Errorf("%s: again: %q, %v", text, again.Match, err)
		}
	}
}
