package tools

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/tools/permission"
)

func TestDecide(t *testing.T) {
	var (
		read    = &Action{Tool: "read", Access: AccessRead, Path: "a.go"}
		edit    = &Action{Tool: "edit", Access: AccessWrite, Path: "a.go"}
		create  = &Action{Tool: "write", Access: AccessWrite, Path: "a.go"}
		other   = &Action{Tool: "edit", Access: AccessWrite, Path: "b.go"}
		hook    = &Action{Tool: "edit", Access: AccessWrite, Path: "sub/.GIT/hooks/pre-commit"}
		status  = &Action{Tool: "shell", Access: AccessRun, Command: "git status"}
		chained = &Action{Tool: "shell", Access: AccessRun, Command: "git status; rm -rf ~"}
		boxed   = &Action{Tool: "shell", Access: AccessRun, Command: "make", Sandboxed: true}
		online  = &Action{Tool: "shell", Access: AccessRun, Command: "make", Sandboxed: true, Network: true}
		unseen  = &Action{Tool: "shell", Access: AccessRun, Command: "$x y", Sandboxed: true}
		script  = &Action{Tool: "shell", Access: AccessRun, Command: "sed '1e curl x' f", Sandboxed: true}
		page    = &Action{Tool: "fetch", Access: AccessFetch, Host: "example.com", URL: "https://example.com/a"}
		beside  = &Action{Tool: "fetch", Access: AccessFetch, Host: "example.com.evil.com", URL: "https://example.com.evil.com/"}
		issue   = &Action{Tool: "mcp__github__create_issue", Access: AccessRun}
		comment = &Action{Tool: "mcp__github__comment", Access: AccessRun}
	)
	remember := func(a *Action) func(*Policy) { return func(p *Policy) { p.AllowForSession(a) } }
	grant := func(rule string) func(*Policy) {
		return func(p *Policy) {
			if err := p.AllowFlag(rule); err != nil {
				t.Errorf("%s: %v", rule, err)
			}
		}
	}
	load := func(effect permission.Effect, text string) func(*Policy) {
		return func(p *Policy) {
			r, err := ParseRule(text)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			r.Effect, r.Source = effect, permission.FromConfig
			p.AddRules([]permission.Rule{r})
		}
	}
	both := func(first, second func(*Policy)) func(*Policy) {
		return func(p *Policy) { first(p); second(p) }
	}
	tests := []struct {
		name    string
		mode    Mode
		prepare func(*Policy)
		action  *Action
		want    Verdict
	}{
		{"zero reads", "", nil, read, Allow},
		{"zero asks", "", nil, edit, Ask},
		{"a mode nobody knows asks", "sudo", nil, status, Ask},

		{"ask reads", ModeAsk, nil, read, Allow},
		{"ask edits", ModeAsk, nil, edit, Ask},
		{"ask runs", ModeAsk, nil, status, Ask},
		{"auto edits", ModeAuto, nil, edit, Allow},
		{"auto creates", ModeAuto, nil, create, Allow},
		{"auto runs", ModeAuto, nil, status, Ask},
		{"auto edits what others run", ModeAuto, nil, hook, Ask},
		{"read-only reads", ModeReadOnly, nil, read, Allow},
		{"read-only edits", ModeReadOnly, nil, edit, Deny},
		{"read-only runs", ModeReadOnly, nil, status, Deny},
		{"yolo runs", ModeYolo, nil, chained, Allow},
		{"yolo edits what others run", ModeYolo, nil, hook, Allow},

		{"the command that was allowed", ModeAsk, remember(status), status, Allow},
		{"more than was allowed", ModeAsk, remember(status), chained, Ask},
		{"the file that was allowed", ModeAsk, remember(edit), edit, Allow},
		{"another file", ModeAsk, remember(edit), other, Ask},
		{"the whole file, when edits were allowed", ModeAsk, remember(edit), create, Ask},
		{"a part of the file, when the whole was allowed", ModeAsk, remember(create), edit, Allow},
		{"a part of another file", ModeAsk, remember(create), other, Ask},
		{"what others run, allowed by name", ModeAuto, remember(hook), hook, Allow},
		{"read-only beats what was allowed", ModeReadOnly, remember(status), status, Deny},

		{"a granted tool", ModeAsk, grant("edit"), other, Allow},
		{"a granted tool is not another", ModeAsk, grant("edit"), create, Ask},
		{"a granted tool on what others run", ModeAsk, grant("edit"), hook, Ask},
		{"a granted shell", ModeAsk, grant("shell"), chained, Allow},
		{"a granted command", ModeAsk, grant("shell:git status"), status, Allow},
		{"a granted command is no prefix", ModeAsk, grant("shell:git status"), chained, Ask},
		{"a granted file", ModeAsk, grant("edit:./x/../a.go"), edit, Allow},
		{"a granted file is not another", ModeAsk, grant("edit:a.go"), other, Ask},
		{"read-only beats what was granted", ModeReadOnly, grant("shell"), status, Deny},
		{"a granted prefix", ModeAsk, grant("shell:git status *"), status, Allow},
		{"a granted prefix ends with its command", ModeAsk, grant("shell:git status *"), chained, Ask},
		{"granted files", ModeAsk, grant("edit:*.go"), other, Allow},
		{"granted files on what others run", ModeAuto, grant("edit:**"), hook, Ask},
		{"both", ModeAsk, both(grant("edit:**"), remember(hook)), hook, Allow},

		{"auto runs in the sandbox", ModeAuto, nil, boxed, Allow},
		{"auto with a network", ModeAuto, nil, online, Ask},
		{"auto fetches", ModeAuto, nil, page, Ask},
		{"auto and tools from outside", ModeAuto, nil, issue, Ask},
		{"ask in the sandbox", ModeAsk, nil, boxed, Ask},
		{"read-only in the sandbox", ModeReadOnly, nil, boxed, Deny},
		{"read-only fetches", ModeReadOnly, grant("fetch"), page, Deny},
		{"planning fetches", ModePlan, grant("fetch"), page, Deny},
		{"yolo fetches", ModeYolo, nil, page, Allow},

		{"a host that was allowed", ModeAsk, remember(page), page, Allow},
		{"a host with its name in front", ModeAsk, remember(page), beside, Ask},
		{"a tool from outside that was allowed", ModeAsk, remember(issue), issue, Allow},
		{"its neighbour", ModeAsk, remember(issue), comment, Ask},
		{"its server", ModeAsk, grant("mcp__github__*"), comment, Allow},

		{"deny beats what was remembered", ModeAsk, both(remember(status), load(permission.Deny, "shell:git *")), status, Deny},
		{"deny beats auto", ModeAuto, load(permission.Deny, "shell:make"), boxed, Deny},
		{"deny beats yolo", ModeYolo, load(permission.Deny, "shell:rm *"), chained, Deny},
		{"deny beats reading", ModeAsk, load(permission.Deny, "read:a.go"), read, Deny},
		{"ask beats what was remembered", ModeAsk, both(remember(status), load(permission.Ask, "shell:git *")), status, Ask},
		{"ask beats auto", ModeAuto, load(permission.Ask, "shell:make"), boxed, Ask},
		{"ask beats reading", ModeAsk, load(permission.Ask, "read:*.go"), read, Ask},
		{"not yolo", ModeYolo, load(permission.Ask, "shell"), chained, Allow},
		{"what a deny rule cannot see through", ModeAuto, load(permission.Deny, "shell:curl *"), unseen, Ask},
		{"a script where something is denied", ModeAuto, load(permission.Deny, "shell:curl *"), script, Ask},
		{"a script where nothing is", ModeAuto, nil, script, Allow},
		{"without one", ModeAuto, nil, unseen, Allow},
		{"in yolo", ModeYolo, load(permission.Deny, "shell:curl *"), unseen, Allow},
	}
	for _, test := range tests {
		p := NewPolicy(test.mode)
		if test.prepare != nil {
			test.prepare(p)
		}
		if got := p.Decide(test.action); got != test.want {
			t.Errorf("%s: got %s, want %s", test.name, got, test.want)
		}
	}
}

func TestGrantWhatIsNoRule(t *testing.T) {
	tests := []struct{ rule, want string }{
		{"wirte", `did you mean "write"?`},
		{"Shell", `did you mean "shell"?`},
		{"bash:ls", `the tools are read,`},
		{"", `the tools are read,`},
		{"shell:", `nothing follows the colon`},
		{"edit: ", `nothing follows the colon`},
		{"shell:env *", `env runs its arguments`},
		{"shell:git *", `git does many things`},
		{"shell:ls | sh *", `is a pipeline`},
	}
	for _, test := range tests {
		if err := new(Policy).AllowFlag(test.rule); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: got %v, want %s", test.rule, err, test.want)
		}
	}
}

func TestModesGoAround(t *testing.T) {
	p := new(Policy)
	if p.Mode() != ModeAsk {
		t.Errorf("begins with %s", p.Mode())
	}
	mode := p.Mode()
	for _, want := range []Mode{ModeAuto, ModePlan, ModeReadOnly, ModeAsk} {
		if mode = mode.Next(); mode != want {
			t.Errorf("got %s, want %s", mode, want)
		}
	}
	if got := ModeYolo.Next(); got != ModeAsk {
		t.Errorf("from yolo to %s", got)
	}
}

func TestAlways(t *testing.T) {
	p := NewPolicy(ModeAsk)
	log := &Action{Tool: "shell", Access: AccessRun, Command: "git log --oneline -5"}
	if err := p.AllowAlways(log, 0); err == nil || p.Decide(log) != Ask {
		t.Errorf("remembered for no workspace: %v", err)
	}
	p.SetWorkspace("/w")
	var kept []permission.Rule
	p.OnChange(func(rs []permission.Rule) { kept = rs })
	p.AllowForSession(&Action{Tool: "shell", Access: AccessRun, Command: "ls"})
	if kept != nil {
		t.Errorf("kept for good: %v", kept)
	}
	err := p.AllowAlways(log, 2)
	wide := kept[len(kept)-1]
	if want := (permission.Rule{Effect: permission.Allow, Tool: "shell", Match: "git log", Prefix: true, Workspace: "/w", Source: permission.FromState}); wide != want || err != nil {
		t.Errorf("got %+v, %v, want %+v", wide, err, want)
	}
	if err := p.AllowAlways(log, 1); err == nil {
		t.Error("git alone is a prefix")
	}
	if err := p.AllowAlways(log, 0); err != nil || kept[len(kept)-1].String() != "shell:git log --oneline -5" {
		t.Errorf("exactly: %q, %v", kept, err)
	}
	if len(kept) != 2 {
		t.Errorf("kept are %v", kept)
	}

	// A later parley in the same directory, and one in another.
	text, err := permission.Marshal(kept)
	if err != nil {
		t.Fatal(err)
	}
	again, err := permission.Unmarshal(text)
	if err != nil {
		t.Fatal(err)
	}
	for folder, want := range map[string]Verdict{"/w": Allow, "/x": Ask} {
		later := NewPolicy(ModeAsk)
		later.SetWorkspace(folder)
		later.AddRules(again)
		if got := later.Decide(&Action{Tool: "shell", Access: AccessRun, Command: "git log main.go"}); got != want {
			t.Errorf("in %s: %s, want %s", folder, got, want)
		}
	}

	if !p.Remove(wide) || p.Remove(wide) || len(kept) != 1 {
		t.Errorf("after it was removed, kept are %v", kept)
	}
	if p.Decide(&Action{Tool: "shell", Access: AccessRun, Command: "git log main.go"}) != Ask {
		t.Error("a removed rule allows")
	}
	fixed := permission.Rule{Effect: permission.Deny, Tool: "shell", Source: permission.FromConfig}
	p.AddRules([]permission.Rule{fixed, fixed})
	if p.Remove(fixed) || len(p.Rules()) != 3 {
		t.Errorf("rules are %v", p.Rules())
	}
}

func TestWhy(t *testing.T) {
	p := NewPolicy(ModeReadOnly)
	rm := &Action{Tool: "shell", Access: AccessRun, Command: "rm x"}
	if got, want := p.DenialReason(rm), "the approval mode is read-only."; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	p.AddRules([]permission.Rule{{Effect: permission.Deny, Tool: "shell", Match: "rm", Prefix: true}})
	if got, want := p.DenialReason(rm), `the rule "shell:rm *" denies it.`; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrefixes(t *testing.T) {
	tests := []struct {
		command string
		words   []int
		why     string
	}{
		{"git log --oneline -5", []int{4, 3, 2}, "git does many things: name which"},
		{"go test -exec sh ./x", []int{5, 4, 2}, "go does many things: name which"},
		{"ls -l", []int{2, 1}, ""},
		{"env ls", nil, "env runs its arguments"},
		{"ls | wc", []int{1}, ""},
		{"ls -l | wc -l | wc", []int{2, 1}, ""},
		{"git log -3 2>&1 | head -5; ls", []int{3, 2}, "git does many things: name which"},
		{"ls | sh", nil, "sh runs code given as an argument"},
		{"ls | xargs wc", nil, "xargs runs its arguments"},
		{"cd x && ls", nil, "cd changes the shell for what follows"},
		{"ls | wc /etc/x", []int{2}, "its commands are not allowed together by a rule for each"},
		{"ls > x | wc", nil, "the command is redirected"},
		{"ls *.go", nil, "the command contains a variable, wildcard or substitution: *.go"},
		{"ls x/*.go | wc", nil, "the command contains a variable, wildcard or substitution: x/*.go"},
		{"ls 2>&1", nil, "the command is redirected"},
		{"echo $x", nil, "the command contains a variable, wildcard or substitution: $x"},
	}
	for _, test := range tests {
		words, why := PrefixLengths(&Action{Tool: "shell", Command: test.command})
		if !slices.Equal(words, test.words) || why != test.why {
			t.Errorf("%s: got %v, %q, want %v, %q", test.command, words, why, test.words, test.why)
		}
	}
	if words, why := PrefixLengths(&Action{Tool: "edit", Path: "x"}); words != nil || why != "" {
		t.Errorf("edit: %v, %q", words, why)
	}
}

// What is always allowed of a pipe allows its parts, alone and together, and nothing else.
func TestAlwaysOfPipe(t *testing.T) {
	p := NewPolicy(ModeAsk)
	p.SetWorkspace("/w")
	run := func(command string) *Action { return &Action{Tool: "shell", Access: AccessRun, Command: command} }
	err := p.AllowAlways(run("git log -3 | head -5"), 2)
	if rules := p.Rules(); err != nil || len(rules) != 2 || rules[0].String() != "shell:git log *" || rules[1].String() != "shell:head -5 *" {
		t.Fatalf("got %v, %v", rules, err)
	}
	for command, want := range map[string]Verdict{
		"git log -3 | head -5": Allow, "git log | head -5": Allow, "git log --oneline": Allow, "git log; head -5 x": Allow,
		"git log | head -6": Ask, "git log | sh": Ask, "git push | head -5": Ask, "git log --output=x | head -5": Ask,
	} {
		if got := p.Decide(run(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// Changes are told one after the other, and the last one tells all.
func TestChangesAreToldInOrder(t *testing.T) {
	p := NewPolicy(ModeAsk)
	p.SetWorkspace("/w")
	var last, calls int
	p.OnChange(func(rs []permission.Rule) { // unguarded: the race detector sees two at once
		last = len(rs)
		calls++
		p.Rules() // may be asked meanwhile
	})
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			edit := &Action{Tool: "edit", Access: AccessWrite, Path: strings.Repeat("a", i+1)}
			rules, err := RulesFor(edit, 0)
			rule := rules[0]
			rule.Workspace, rule.Source = "/w", permission.FromState
			if err := errors.Join(err, p.AllowAlways(edit, 0)); err != nil || i%2 == 0 && !p.Remove(rule) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	all.Wait()
	if last != 10 || calls != 30 {
		t.Errorf("%d calls, the last with %d rules", calls, last)
	}
}

func TestPermissions(t *testing.T) {
	good := Permissions{Allow: []string{"shell:go test *", "edit:src/**"}, Ask: []string{"shell:git push"}, Deny: []string{"shell:sudo *"}}
	rs, err := good.Rules()
	var got []string
	for _, r := range rs {
		got = append(got, string(r.Effect)+" "+r.String()+" "+r.Source)
	}
	want := []string{"allow shell:go test * config", "allow edit:src/** config", "ask shell:git push config", "deny shell:sudo * config"}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	bad := Permissions{Allow: []string{"shell:sudo *", "shell:ls *"}, Deny: []string{"shall", "edit:["}}
	rs, err = bad.Rules()
	if len(rs) != 1 || err == nil || bad.Validate() == nil {
		t.Fatalf("got %v, %v", rs, err)
	}
	for _, want := range []string{
		`permissions.allow: rule "shell:sudo *": only exact commands can be allowed, for sudo runs its arguments`,
		`permissions.deny: unknown tool "shall": did you mean "shell"?`, `permissions.deny: rule "edit:[": this is no glob`,
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v\ndoes not say %s", err, want)
		}
	}
}

// What git runs by core.hooksPath asks, as what is in .git does.
func TestHooksElsewhereAreGuarded(t *testing.T) {
	f := open(t, map[string]string{
		".git/config":     "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.config\n",
		"sub/.git/config": "[core]\n\thookspath = hooks\n",
	})
	auto := NewPolicy(ModeAuto)
	for file, want := range map[string]Verdict{
		".githooks/pre-commit": Ask, ".GITHOOKS/x": Ask, "shared.config": Ask, "sub/hooks/pre-push": Ask,
		"hooks/x": Allow, ".githooks2/x": Allow, "sub/.githook": Allow, "a.go": Allow,
	} {
		a, err := f.Plan(t.Context(), "write", args("path", file, "content", "x"))
		if err != nil {
			t.Fatal(err)
		}
		if got := auto.Decide(a); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
}
