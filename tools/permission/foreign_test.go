package permission

import (
	"strings"
	"testing"
)

// A line in a syntax that is not understood is only allowed word for word. Rules that deny or ask
// make it ask.
func TestForeignSyntax(t *testing.T) {
	rulesOf := func(texts string) (rules Rules) {
		for text := range strings.SplitSeq(texts, "|") {
			effect, text, _ := strings.Cut(text, " ")
			r, err := ParseRule(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Effect = Effect(effect)
			rules = append(rules, r)
		}
		return rules
	}
	for _, tt := range []struct {
		rules, command string
		want           Effect // "" if no rule decides
	}{
		{"allow shell:git *", "git status", ""},
		{"allow shell:git status", "git status", Allow},
		{"allow shell", "git status", Allow},
		{"deny shell:rm *", "ls", Ask},
		{"deny shell:rm *", "rm x", Deny},
		{"ask shell:rm *|allow shell:ls", "ls", Allow},
		{"deny edit:a", "ls", ""},
	} {
		got, _, ok := rulesOf(tt.rules).Decide(Call{Tool: shellTool, Command: tt.command, Foreign: true})
		if !ok {
			got = ""
		}
		if got != tt.want {
			t.Errorf("%s: %s: got %q, want %q", tt.rules, tt.command, got, tt.want)
		}
	}
}
