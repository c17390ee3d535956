package permission

import (
	"strings"
	"testing"

	_ "parley/providers/llmtest/heap"

	"parley/tools/rule"
)

func TestParseRule(t *testing.T) {
	tests := []struct {
		text string
		want Rule
	}{
		{"shell", Rule{Tool: "shell"}},
		{"shell:git status", Rule{Tool: "shell", Match: "git status"}},
		{"shell: git status", Rule{Tool: "shell", Match: "git status"}},
		{"shell:git log *", Rule{Tool: "shell", Match: "git log", Prefix: true}},
		{"shell:git log  *", Rule{Tool: "shell", Match: "git log", Prefix: true}},
		{`shell:ls \*`, Rule{Tool: "shell", Match: "ls *"}},
		{`shell:ls \\*`, Rule{Tool: "shell", Match: `ls \*`}},
		{"shell:ls *.go", Rule{Tool: "shell", Match: "ls *.go"}},
		{"shell:ls a*", Rule{Tool: "shell", Match: "ls a*"}},
		{"shell:a && b | c > d", Rule{Tool: "shell", Match: "a && b | c > d"}},
		{"shell:sh -c 'x(' *", Rule{Tool: "shell", Match: "sh -c 'x('", Prefix: true}},
		{"shell:env *", Rule{Tool: "shell", Match: "env", Prefix: true}},
		{"edit:./src//x/../**", Rule{Tool: "edit", Match: "src/**"}},
		{"read:.env", Rule{Tool: "read", Match: ".env"}},
		{"fetch:Example.COM.", Rule{Tool: "fetch", Match: "example.com"}},
		{"fetch:*.example.com", Rule{Tool: "fetch", Match: "*.example.com"}},
		{"fetch:example.com:8080", Rule{Tool: "fetch", Match: "example.com:8080"}},
		{"mcp__github__create_issue", Rule{Tool: "mcp__github__create_issue"}},
		{"mcp__github__*", Rule{Tool: "mcp__github__*"}},
	}
	for _, test := range tests {
		got, err := ParseRule(test.text)
		if err != nil || got != test.want {
			t.Errorf("%q: got %+v, %v, want %+v", test.text, got, err, test.want)
		}
		again, err := ParseRule(got.String())
		if err != nil || again != got {
			t.Errorf("%q is written as %q, which is %+v, %v", test.text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                   "no tool's name",
		":ls":                "no tool's name",
		"a b":                "no tool's name",
		"shell*":             "no tool's name",
		"shell:":             "nothing follows",
		"shell: \n":          "nothing follows",
		"shell:*":            "no command stands before",
		"shell:ls | sh *":    "is a pipeline",
		"shell:ls; rm *":     "contains 2 commands",
		"shell:$x *":         "contains a variable, wildcard or substitution: $x",
		"shell:ls 'x *":      "is not understood",
		"shell:ls\u00a0-l *": "U+00A0",
		"shell:A=b ls *":     "sets variables",
		"shell:\xff":         "valid UTF-8",
		"edit:[":             "no glob",
		"fetch:http://x/":    "no host",
		"fetch:*":            "no host",
		"fetch:a*b":          "no host",
		"mcp__x:y":           "named alone",
	} {
		if r, err := ParseRule(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %+v, %v, want %q", text, r, err, want)
		}
	}
}

func parseTestRule(t testing.TB, effect Effect, text string) Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	r.Effect = effect
	return r
}

func TestDecide(t *testing.T) {
	file := func(tool, path string) Call { return Call{Tool: tool, Path: path, Workspace: "/w"} }
	page := func(host string) Call { return Call{Tool: "fetch", Host: host} }
	mcp := func(tool string) Call { return Call{Tool: tool} }
	const nothing = Effect("")
	tests := []struct {
		name  string
		rules string // such as "allow shell:ls *, deny shell"
		call  Call
		want  Effect
	}{
		{"no rules", "", shellCall("ls"), nothing},
		{"another tool", "allow edit, deny fetch", shellCall("ls"), nothing},
		{"deny beats ask beats allow", "allow shell, ask shell, deny shell", shellCall("ls"), Deny},
		{"ask beats allow", "allow shell:ls, ask shell:ls", shellCall("ls"), Ask},
		{"the narrow rule loses too", "allow shell:rm -rf x, deny shell:rm *", shellCall("rm -rf x"), Deny},

		{"exactly", "allow shell:a | b > c", shellCall("a | b > c"), Allow},
		{"blanks before it", "allow shell:ls", shellCall("\n ls"), Allow},
		{"not behind it", "allow shell:ls \\", shellCall("ls \\\n"), nothing},
		{"exact is no prefix", "allow shell:git log", shellCall("git log x"), nothing},
		{"exact words in a list", "allow shell:go vet ./..., allow shell:go test ./...", shellCall("go vet ./... && go test ./..."), Allow},
		{"a pipeline of exact commands", "allow shell:ls -l, allow shell:wc -l", shellCall("ls -l | wc -l"), Allow},
		{"a pipeline into what is not allowed", "allow shell:ls -l", shellCall("ls -l | wc -l"), nothing},
		{"a pipeline into what could run it", "allow shell:ls -l, allow shell:sh x, allow shell:sh, allow shell:./x y", shellCall("ls -l | ./x y"), nothing},
		{"a redirected exact command", "allow shell:./x y", shellCall("./x y 2>&1"), Allow},
		{"a pipeline that is denied", "allow shell, deny shell:ls | wc", shellCall("ls | wc"), Deny},
		{"a redirection in a rule that denies", "allow shell, deny shell:ls 2>&1", shellCall("ls"), Allow},
		{"a list with one that is not allowed", "allow shell:go vet ./...", shellCall("go vet ./... && go test ./..."), nothing},
		{"a list that goes elsewhere first", "allow shell:cd x, allow shell:make", shellCall("cd x && make"), nothing},
		{"exactly that list", "allow shell:cd x && make", shellCall("cd x && make"), Allow},
		{"a wrapper, exactly", "allow shell:env A=b make", shellCall("env A=b make"), Allow},
		{"a wrapper in a list", "allow shell:sh x, allow shell:ls", shellCall("sh x; ls"), nothing},

		{"a prefix at a word", "allow shell:git log *", shellCall("git log"), Allow},
		{"a prefix in a word", "allow shell:git lo *", shellCall("git log"), nothing},
		{"a prefix with quotes", "allow shell:git commit -m 'a b' *", shellCall(`git commit -m "a b" x`), Allow},
		{"a prefix that can never be meant", "allow shell:env *, allow shell:git *, allow shell:sh -c *, allow shell:rm *", shellCall("env ls"), nothing},
		{"git alone", "allow shell:git *", shellCall("git status"), nothing},
		{"an option of the prefix", "allow shell:go test -tags x *", shellCall("go test -tags x ./..."), Allow},
		{"one whose value is open", "allow shell:go test -exec *", shellCall("go test -exec sh"), nothing},
		{"one more", "allow shell:mix test --only x *", shellCall("mix test --only x --include y"), nothing},

		{"behind what cannot be seen through", "allow shell, deny shell:curl *", shellCall("$x y"), Ask},
		{"behind what can", "allow shell, deny shell:curl *", shellCall("ls | wc > $x"), Allow},
		{"exactly what cannot be seen through", "allow shell:$x y, deny shell:curl *", shellCall("$x y"), Allow},
		{"no rule for it either", "deny shell:curl *", shellCall("$x y"), Ask},

		{"a file", "allow edit:a.go", file("edit", "a.go"), Allow},
		{"another file", "allow edit:a.go", file("edit", "b/a.go"), nothing},
		{"a folder", "allow edit:src/**", file("edit", "src/a/b.go"), Allow},
		{"not beside it", "allow edit:src/**", file("edit", "srcs/a.go"), nothing},
		{"letter case, allowed", "allow edit:a.go", file("edit", "A.go"), nothing},
		{"letter case, denied", "deny edit:secret/**", file("edit", "SECRET/x"), Deny},

		{"a host", "allow fetch:example.com", page("example.com"), Allow},
		{"below it", "allow fetch:example.com", page("x.example.com"), nothing},
		{"below it, denied", "deny fetch:example.com", page("x.example.com:8080"), Deny},
		{"all below", "allow fetch:*.example.com", page("x.example.com"), Allow},
		{"not itself", "allow fetch:*.example.com", page("example.com"), nothing},
		{"not beside", "allow fetch:*.example.com", page("xexample.com"), nothing},
		{"a name in front", "allow fetch:example.com", page("example.com.evil.com"), nothing},
		{"another port", "allow fetch:example.com", page("example.com:22"), nothing},

		{"a tool from outside", "allow mcp__a__b", mcp("mcp__a__b"), Allow},
		{"its neighbour", "allow mcp__a__b", mcp("mcp__a__bc"), nothing},
		{"a server", "deny mcp__a__*", mcp("mcp__a__b"), Deny},
		{"another server", "allow mcp__a__*", mcp("mcp__ab__c"), nothing},
	}
	for _, test := range tests {
		var rs Rules
		for text := range strings.SplitSeq(test.rules, ", ") {
			if effect, text, ok := strings.Cut(text, " "); ok {
				rs = append(rs, parseTestRule(t, Effect(effect), text))
			}
		}
		got, by, ok := rs.Decide(test.call)
		if !ok {
			got = nothing
		}
		if got != test.want {
			t.Errorf("%s: got %q by %s, want %q", test.name, got, by, test.want)
		}
	}
}

func TestWorkspaceRules(t *testing.T) {
	here := Rules{{Effect: Allow, Tool: "shell", Match: "make", Workspace: "/home/me/src"}}
	if _, _, ok := here.Decide(shellCall("make")); !ok {
		t.Error("does not hold in its folder")
	}
	there := shellCall("make")
	there.Workspace = "/home/me/other"
	if _, _, ok := here.Decide(there); ok {
		t.Error("holds in another folder")
	}
}

// A list of commands runs unsandboxed only if each of them may.
func TestListIsAsNarrowAsItsRules(t *testing.T) {
	open, held := ExactRule("shell", "ls"), ExactRule("shell", "make x")
	held.Sandboxed = true
	for _, line := range []string{"ls && make x", "make x && ls", "make x 2>&1", "ls; make x; ls"} {
		for _, rs := range []Rules{{open, held}, {held, open}} {
			if _, by, ok := rs.Decide(shellCall(line)); !ok || by != held {
				t.Errorf("%q: decided by %s, %v", line, by, ok)
			}
		}
	}
}

func TestPrefixRules(t *testing.T) {
	tests := []struct {
		command string
		words   int
		want    string // the rule, or what the error says
	}{
		{"git log --oneline -5", 4, "shell:git log --oneline -5 *"},
		{"git log --oneline -5", 2, "shell:git log *"},
		{"git log --oneline -5", 1, "git does many things: name which"},
		{"git --no-pager log -3", 3, "shell:git --no-pager log *"},
		{"git --no-pager log -3", 2, "git does many things"},
		{"git -C x log", 4, "before any option"},
		{"git config a b", 2, "git config runs its arguments"},
		{`git commit -m "it's (x)"`, 4, `shell:git commit -m "it's (x)" *`},
		{`go test "”"`, 3, "shell:go test '”' *"},
		{"go test -exec sh ./x", 3, "what follows could be the value of -exec"},
		{"go test -exec=sh ./x", 3, "shell:go test -exec=sh *"},
		{"env A=b ls", 1, "env runs its arguments"},
		{"python3.12 x.py", 2, "python runs code given as an argument"},
		{"/usr/bin/rm x", 1, "rm changes whatever it is told to"},
		{"curl x", 1, "curl reaches any address"},
		{"cd x", 1, "cd changes the shell"},
		{"./deploy.sh staging", 1, "deploy.sh is not known: name what it is to do"},
		{"./deploy.sh staging", 2, "shell:./deploy.sh staging *"},
		{"./deploy.sh -f staging", 2, "is not known: name what it is to do, before any option"},
		{"npm install x", 2, "npm install installs what it is told to"},
		{"npm run build", 3, "shell:npm run build *"},
		{"npm run build", 2, "npm run does many things"},
		{"ls", 2, "has no 2 words"},
		{"ls", 0, "has no 0 words"},
		{"ls | wc", 1, "shell:ls * and shell:wc *"},
		{"ls; ls", 1, "shell:ls *"},
		{"git log -3 | head -5 | sort", 2, "shell:git log * and shell:head -5 * and shell:sort *"},
		{"git log -3 | head -5", 1, "git does many things: name which"},
		{"ls -l | sh", 1, "sh runs code given as an argument"},
		{"ls | head x y", 1, "shell:ls * and shell:head *"},
		{"ls | head /x", 1, "its commands are not allowed together"},
		{"ls | wc $x", 1, "it contains a variable, wildcard or substitution: $x"},
		{"ls x/* | wc", 1, "it contains a variable, wildcard or substitution: x/*"},
		{"ls > x | wc", 1, "it is redirected"},
		{"ls | wc &", 1, "it runs in the background"},
		{"ls $x", 1, "it contains a variable, wildcard or substitution: $x"},
	}
	for _, test := range tests {
		rules, err := PrefixRules(test.command, test.words)
		var texts []string
		for _, r := range rules {
			texts = append(texts, r.String())
		}
		got := strings.Join(texts, " and ")
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, test.want) || err == nil && got != test.want {
			t.Errorf("%q, %d words: got %q, want %q", test.command, test.words, got, test.want)
		}
		for i, r := range rules {
			again, err := ParseRule(texts[i])
			if again.Effect = Allow; err != nil || again != r {
				t.Errorf("%q reads as %+v, %v", texts[i], again, err)
			}
			if Validate(r) != nil {
				t.Errorf("%s: %v", r, Validate(r))
			}
		}
	}
}

func TestMarshal(t *testing.T) {
	rs := []Rule{
		{Effect: Allow, Tool: "shell", Match: "ls *", Workspace: "/w", Source: rule.FromState},
		{Effect: Allow, Tool: "shell", Match: "git log", Prefix: true, Workspace: "/w", Source: rule.FromState},
		ExactRule("edit", " a[1]*{b}.go"),
	}
	rs[2].Source = rule.FromState
	text, err := Marshal(rs)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unmarshal(text)
	if err != nil || len(got) != len(rs) {
		t.Fatalf("got %v, %v", got, err)
	}
	for i := range rs {
		if got[i] != rs[i] {
			t.Errorf("got %+v, want %+v", got[i], rs[i])
		}
	}
	got, err = Unmarshal(`[{"effect":"allow","rule":"shell:*"},{"effect":"yes","rule":"shell"},{"effect":"deny","rule":"shell:rm *"}]`)
	if len(got) != 1 || got[0].Effect != Deny || err == nil || !strings.Contains(err.Error(), `unknown effect "yes"`) {
		t.Errorf("of three with two faults: %v, %v", got, err)
	}
	if got, err := Unmarshal("{"); err == nil || got != nil {
		t.Errorf("broken: %v, %v", got, err)
	}
	if got, err := Unmarshal(""); err != nil || got != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
}

func TestExactRuleIsLiteral(t *testing.T) {
	for _, path := range []string{"a.go", "a*.go", "a[1].go", "{a,b}", `a\b`, " a", "\ta", "a b", "-", "日本/*"} {
		r := ExactRule("edit", path)
		again, err := ParseRule(r.String())
		if again.Effect = Allow; err != nil || again != r || !r.IsLiteral() {
			t.Errorf("%q: %q reads as %+v, %v", path, r, again, err)
		}
		if _, _, ok := (Rules{r}).Decide(Call{Tool: "edit", Path: path}); !ok {
			t.Errorf("%q is not what %q allows", path, r)
		}
		if _, _, ok := (Rules{r}).Decide(Call{Tool: "edit", Path: "ab.go"}); ok {
			t.Errorf("%q allows more than %q", r, path)
		}
	}
}

func TestTables(t *testing.T) {
	for name, why := range refusedPrefixes() {
		if why == "" || strings.ToLower(name) != name || strings.Count(name, " ") > 2 {
			t.Errorf("%q: %q", name, why)
		}
		words := strings.Fields(name)
		if words[0] != programName(words[0]) {
			t.Errorf("%q is never looked up", name)
		}
		for n := 1; n < len(words) && !strings.HasPrefix(words[n], "-") && why != reasonRuns; n++ {
			if above := refusedPrefixes()[strings.Join(words[:n], " ")]; above != reasonSubcommands && above != reasonScripts && above != reasonInterprets {
				t.Errorf("%q is never looked up: the words before %s do not lead there, for they are %q", name, words[n], above)
			}
		}
	}
	for _, table := range []map[string]*argSet{opaqueArgsOf(), harmlessTable()} {
		for _, a := range table { // a bad expression panics
			for _, all := range a.exprs {
				for _, re := range all {
					re.MatchString("")
				}
			}
			for _, re := range a.harmless {
				re.MatchString("")
			}
		}
	}
	for name := range opaqueArgsOf() {
		if name != programName(name) {
			t.Errorf("%q is never looked up", name)
		}
	}
	for name, a := range harmlessTable() {
		for _, option := range a.options[""] {
			if !strings.HasPrefix(option, "-") || strings.Contains(option, "=") {
				t.Errorf("%s: %q is no option", name, option)
			}
		}
		words := strings.Fields(name)
		if name == anyProgram {
			continue
		}
		if programName(words[0]) != words[0] || refusalReason(words[0]) != "" && refusalReason(words[0]) != reasonScripts && refusePrefix(words) == words[0]+" "+refusalReason(words[0]) {
			t.Errorf("%q is never looked up", name)
		}
		if why := refusePrefix(append(words, "x")); why != "" {
			t.Errorf("what follows %q is never looked at: %s", name, why)
		}
	}
	for _, why := range []string{reasonRuns, reasonInterprets, reasonAltersShell, reasonSubcommands, reasonScripts, reasonKnown} {
		if !strings.Contains(programText, "\n"+why+"\n") {
			t.Errorf("%q is not in programs.txt", why)
		}
	}
}
