package permission

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func addSeeds(f *testing.F, add func(string)) {
	f.Helper()
	for _, lines := range bypasses {
		for _, line := range lines {
			if len(line) < 1000 {
				add(line)
			}
		}
	}
	for _, line := range everydayLines {
		add(line)
	}
}

// parse returns the commands of a line and whether it is a list of simple ones; why says what it is
// otherwise.
func parse(line string) (cmds []Command, simple bool, why string) {
	r := parseLine(line)
	switch {
	case r.notSimple != "" || r.notBare != "":
		return r.cmds, false, cmp.Or(r.notSimple, r.notBare)
	case r.isWrapped:
		return r.cmds, false, "is wrapped"
	}
	return r.list, true, ""
}

// Whatever a line holds: what rules allow is words that stand in it as they are,
// the list is all that runs, and one more rule that denies allows nothing more.
func FuzzParse(f *testing.F) {
	addSeeds(f, func(line string) { f.Add(line) })
	generous := widenedRules(f)
	denying := append(slices.Clone(generous), Rule{Effect: Deny, Tool: "shell", Match: "git", Prefix: true})
	f.Fuzz(func(t *testing.T, line string) {
		cmds, simple, why := parse(line)
		if simple != (why == "") || simple && len(cmds) == 0 {
			t.Fatalf("simple %v, but %q, with %d commands", simple, why, len(cmds))
		}
		effect, by, ok := generous.Decide(shellCall(line))
		more, _, still := denying.Decide(shellCall(line))
		if still && more == Allow && !ok {
			t.Fatalf("%q is allowed once a rule denies", line)
		}
		if !ok {
			return
		}
		r := parseLine(line)
		if effect != Allow || r.notSimple != "" || r.isWrapped || !utf8.ValidString(line) {
			t.Fatalf("%q: %s by %s, but it %s", line, effect, by, why)
		}
		letters := strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\n", "").Replace(line)
		for _, cmd := range r.list {
			for _, word := range cmd.Words {
				if pattern, ok := strings.CutPrefix(word, dynamicMark); ok && filesBelow.MatchString(pattern) {
					word = pattern
				}
				if isDynamic(word) || !strings.Contains(letters, strings.NewReplacer(`'`, "", `"`, "", `\`, "", "\n", "").Replace(word)) {
					t.Fatalf("%q: allowed, but the word %q is not in it", line, word)
				}
			}
		}
	})
}

// A rule reads as it was written.
func FuzzRule(f *testing.F) {
	addSeeds(f, func(line string) { f.Add("shell:" + line) })
	for _, text := range []string{"edit:a/../b", `edit:\ a`, "edit:[a-z]*", "fetch:*.x.", "mcp__a*", `shell:\*`, `shell:x \\\*`, "shell:x \t*", "edit:./ ", "\f/", `0 "”"`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRule(text)
		if err == nil {
			again, err := ParseRule(r.String())
			if err != nil || again != r {
				t.Fatalf("%q is %+v, written %q, which is %+v, %v", text, r, r, again, err)
			}
		}
		if !utf8.ValidString(text) || strings.Trim(text, blanks) == "" {
			return
		}
		for _, tool := range []string{"shell", "edit"} {
			exact := ExactRule(tool, text)
			again, err := ParseRule(exact.String())
			if again.Effect = Allow; err != nil && strings.TrimSpace(text) != "" || err == nil && again != exact {
				t.Fatalf("exactly %q is %q, which is %+v, %v", text, exact, again, err)
			}
		}
		if _, _, ok := (Rules{ExactRule("shell", text)}).Decide(shellCall(text)); !ok {
			t.Fatalf("exactly %q is not allowed", text)
		}
		n, err := CountWords(text)
		if err != nil {
			return
		}
		for ; n > 0; n-- {
			rules, err := PrefixRules(text, n)
			for _, r := range rules {
				again, err := ParseRule(r.String())
				if again.Effect = Allow; err != nil || again != r {
					t.Fatalf("%d words of %q are %q, which is %+v, %v", n, text, r, again, err)
				}
			}
			if _, _, ok := rules.Decide(shellCall(text)); err == nil && len(rules) > 1 && !ok {
				t.Fatalf("%d words of %q are %v, which do not allow it", n, text, rules)
			}
		}
	})
}

// To deny more never allows more, for any three rules and lines.
func TestDenyIsMonotonic(t *testing.T) {
	rank := map[Effect]int{Allow: 0, Ask: 1, Deny: 2}
	decide := func(rs Rules, line string) int {
		effect, _, ok := rs.Decide(shellCall(line))
		if !ok {
			return rank[Ask] // as in the mode that asks
		}
		return rank[effect]
	}
	generous := widenedRules(t)
	var lines []string
	for _, all := range bypasses {
		lines = append(lines, all[:min(len(all), 12)]...)
	}
	for i, text := range []string{"shell:ls *", "shell:git log", "shell:curl *", "shell:rm -rf *", "shell:ls | sh", "edit", "shell"} {
		deny, with := parseTestRule(t, Deny, text), slices.Clone(generous[i*5:i*5+15])
		with = append(with, Rule{Effect: []Effect{Allow, Ask}[i%2], Tool: "shell", Match: "ls"})
		for _, line := range append(lines, everydayLines...) {
			if before, after := decide(with, line), decide(append(slices.Clone(with), deny), line); after < before {
				t.Errorf("%q gets easier with deny %s: %d, then %d", line, deny, before, after)
			}
		}
	}
}

var long = os.Getenv("PARLEY_LONG") == "1"

// The work for a line is bounded by its length, whatever is opened in it. The longest lines are
// those with lines inside, and all with PARLEY_LONG=1.
func TestWorkIsBounded(t *testing.T) {
	units := []string{
		"(", "((", "{ ", "$(", "`", "\"$(", "${a:-", "$((", "$[", "a[", "if ", "while ", "! ", "time ", "coproc ", "f() ", "case x in x) ", "[[ ( ", "$((-", "a=(", "<(", "<<a ", "<<a\n", "a && ", "a | ", "a; ", "\\`", "'", "eval ", "bash x -- ", "foo -- ", "foo --run ",
		"sh -c '", "env ", "sudo ", "xargs ", "xargs -I{} ", "find -exec ", "git -c ", "sh x ", "cp x y; ", "echo > x; ", "a ", "eval 'a b' ", "x=$( ", "a=\"b c\" ", "\u00e9 ", "sh -c \"a b\" ", "echo $((1)) ", "\n", "#\n", "\\\n", "-", "@(",
	}
	for _, start := range []string{"", "eval ", "$(("} {
		for _, unit := range units {
			size := maxLine
			switch {
			case start != "":
				size /= 8
			case !long && !strings.Contains(unit, "eval") && !strings.Contains(unit, "sh -c"):
				size /= 4
			}
			line := start + strings.Repeat(unit, size/len(unit))
			r := parseLine(line)
			if n := len(r.cmds); r.parsedBytes > maxParsed || n > 2*maxParsed {
				t.Errorf("%.20q…: %d bytes parsed, %d commands", line, r.parsedBytes, n)
			}
		}
	}
}

func BenchmarkParse(b *testing.B) {
	for name, line := range map[string]string{
		"git":    "git log --oneline -5",
		"4 KiB":  strings.Repeat("git log --oneline -5 && ", 4096/24) + "ls",
		"nested": strings.Repeat("sh -c \"$(echo `ls`)\";", 64),
		"deep":   strings.Repeat("(", maxOpeners) + "ls",
		"eval":   "eval " + strings.Repeat("'a b' ", maxLine/7),
		"long":   strings.Repeat("a ", maxLine/2),
		"1 MiB":  strings.Repeat("a;", 1<<19),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				parse(line)
			}
		})
	}
}
