package tools

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/tools/act"
	"parley/tools/permission"
	"parley/tools/process"
	"parley/tools/rule"
)

func TestDecide(t *testing.T) {
	var (
		read    = &act.Action{Tool: "read", Access: act.AccessRead, Path: "a.go"}
		edit    = &act.Action{Tool: "edit", Access: act.AccessWrite, Path: "a.go"}
		create  = &act.Action{Tool: "write", Access: act.AccessWrite, Path: "a.go"}
		other   = &act.Action{Tool: "edit", Access: act.AccessWrite, Path: "b.go"}
		hook    = &act.Action{Tool: "edit", Access: act.AccessWrite, Path: "sub/.GIT/hooks/pre-commit"}
		envrc   = &act.Action{Tool: "write", Access: act.AccessWrite, Path: ".envrc"}
		status  = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "git status"}
		chained = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "git status; rm -rf ~"}
		boxed   = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "make", Sandboxed: true}
		online  = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "make", Sandboxed: true, Network: true}
		unseen  = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "$x y", Sandboxed: true}
		script  = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "sed '1e curl x' f", Sandboxed: true}
		outside = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "$x y"}
		named   = &act.Action{Tool: "shell", Access: act.AccessRun, Command: "curl y", Sandboxed: true}
		page    = &act.Action{Tool: "fetch", Access: act.AccessFetch, Host: "example.com", URL: "https://example.com/a"}
		beside  = &act.Action{Tool: "fetch", Access: act.AccessFetch, Host: "example.com.evil.com", URL: "https://example.com.evil.com/"}
		issue   = &act.Action{Tool: "mcp__github__create_issue", Access: act.AccessRun}
		comment = &act.Action{Tool: "mcp__github__comment", Access: act.AccessRun}
		allowed = &act.Action{Tool: "mcp__github__comment", Access: act.AccessRun, Allowed: true}
	)
	envrcPart := &act.Action{Tool: "edit", Access: act.AccessWrite, Path: ".envrc"}
	remember := func(a *act.Action) func(*Policy) { return func(p *Policy) { p.AllowForSession(a) } }
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
			r.Effect, r.Source = effect, rule.FromConfig
			p.AddRules([]permission.Rule{r})
		}
	}
	both := func(first, second func(*Policy)) func(*Policy) {
		return func(p *Policy) { first(p); second(p) }
	}
	tests := []struct {
		name    string
		mode    act.Mode
		prepare func(*Policy)
		action  *act.Action
		want    act.Verdict
	}{
		{"zero reads", "", nil, read, act.Allow},
		{"zero asks", "", nil, edit, act.Ask},
		{"a mode nobody knows asks", "sudo", nil, status, act.Ask},

		{"ask reads", act.ModeAsk, nil, read, act.Allow},
		{"ask edits", act.ModeAsk, nil, edit, act.Ask},
		{"ask runs", act.ModeAsk, nil, status, act.Ask},
		{"auto edits", act.ModeAuto, nil, edit, act.Allow},
		{"auto creates", act.ModeAuto, nil, create, act.Allow},
		{"auto runs", act.ModeAuto, nil, status, act.Ask},
		{"auto edits what others run", act.ModeAuto, nil, hook, act.Ask},
		{"read-only reads", act.ModeReadOnly, nil, read, act.Allow},
		{"read-only edits", act.ModeReadOnly, nil, edit, act.Deny},
		{"read-only runs", act.ModeReadOnly, nil, status, act.Deny},
		{"yolo runs", act.ModeYolo, nil, chained, act.Allow},
		{"yolo edits what others run", act.ModeYolo, nil, hook, act.Allow},

		{"the command that was allowed", act.ModeAsk, remember(status), status, act.Allow},
		{"more than was allowed", act.ModeAsk, remember(status), chained, act.Ask},
		{"what others run, allowed by name", act.ModeAuto, remember(hook), hook, act.Allow},
		{"all of another guarded file", act.ModeAsk, remember(envrc), hook, act.Ask},
		{"a part of a guarded file, when the whole was allowed", act.ModeAsk, remember(envrc), envrcPart, act.Allow},
		{"read-only beats what was allowed", act.ModeReadOnly, remember(status), status, act.Deny},

		{"a granted tool", act.ModeAsk, grant("edit"), other, act.Allow},
		{"a granted tool is not another", act.ModeAsk, grant("edit"), create, act.Ask},
		{"a granted tool on what others run", act.ModeAsk, grant("edit"), hook, act.Ask},
		{"a granted shell", act.ModeAsk, grant("shell"), chained, act.Allow},
		{"a granted command", act.ModeAsk, grant("shell:git status"), status, act.Allow},
		{"a granted command is no prefix", act.ModeAsk, grant("shell:git status"), chained, act.Ask},
		{"a granted file", act.ModeAsk, grant("edit:./x/../a.go"), edit, act.Allow},
		{"a granted file is not another", act.ModeAsk, grant("edit:a.go"), other, act.Ask},
		{"read-only beats what was granted", act.ModeReadOnly, grant("shell"), status, act.Deny},
		{"a granted prefix", act.ModeAsk, grant("shell:git status *"), status, act.Allow},
		{"a granted prefix ends with its command", act.ModeAsk, grant("shell:git status *"), chained, act.Ask},
		{"granted files", act.ModeAsk, grant("edit:*.go"), other, act.Allow},
		{"granted files on what others run", act.ModeAuto, grant("edit:**"), hook, act.Ask},
		{"both", act.ModeAsk, both(grant("edit:**"), remember(hook)), hook, act.Allow},

		{"auto runs in the sandbox", act.ModeAuto, nil, boxed, act.Allow},
		{"auto with a network", act.ModeAuto, nil, online, act.Ask},
		{"auto fetches", act.ModeAuto, nil, page, act.Ask},
		{"auto and tools from outside", act.ModeAuto, nil, issue, act.Ask},
		{"ask in the sandbox", act.ModeAsk, nil, boxed, act.Ask},
		{"read-only in the sandbox", act.ModeReadOnly, nil, boxed, act.Deny},
		{"read-only fetches", act.ModeReadOnly, grant("fetch"), page, act.Deny},
		{"planning fetches", act.ModePlan, grant("fetch"), page, act.Deny},
		{"yolo fetches", act.ModeYolo, nil, page, act.Allow},

		{"a host that was allowed", act.ModeAsk, remember(page), page, act.Allow},
		{"a host with its name in front", act.ModeAsk, remember(page), beside, act.Ask},
		{"a tool from outside that was allowed", act.ModeAsk, remember(issue), issue, act.Allow},
		{"its neighbour", act.ModeAsk, remember(issue), comment, act.Ask},
		{"a server whose calls the user allowed", act.ModeAsk, nil, allowed, act.Allow},
		{"such a server, read-only", act.ModeReadOnly, nil, allowed, act.Deny},
		{"such a server, a rule that asks", act.ModeAsk, load(act.Ask, "mcp__github__comment"), allowed, act.Ask},
		{"such a server, a rule that denies", act.ModeYolo, load(act.Deny, "mcp__github__*"), allowed, act.Deny},
		{"its server", act.ModeAsk, grant("mcp__github__*"), comment, act.Allow},

		{"deny beats what was remembered", act.ModeAsk, both(remember(status), load(permission.Deny, "shell:git *")), status, act.Deny},
		{"deny beats auto", act.ModeAuto, load(permission.Deny, "shell:make"), boxed, act.Deny},
		{"deny beats yolo", act.ModeYolo, load(permission.Deny, "shell:rm *"), chained, act.Deny},
		{"deny beats reading", act.ModeAsk, load(permission.Deny, "read:a.go"), read, act.Deny},
		{"ask beats what was remembered", act.ModeAsk, both(remember(status), load(permission.Ask, "shell:git *")), status, act.Ask},
		{"ask beats auto", act.ModeAuto, load(permission.Ask, "shell:make"), boxed, act.Ask},
		{"ask beats reading", act.ModeAsk, load(permission.Ask, "read:*.go"), read, act.Ask},
		{"not yolo", act.ModeYolo, load(permission.Ask, "shell"), chained, act.Allow},
		{"what a deny rule cannot see through", act.ModeAuto, load(permission.Deny, "shell:curl x *"), unseen, act.Ask},
		{"a script where something is denied", act.ModeAuto, load(permission.Deny, "shell:curl x *"), script, act.Ask},
		{"the same outside of the sandbox", act.ModeYolo, load(permission.Deny, "shell:curl"), outside, act.Ask},
		{"a program that the sandbox hides", act.ModeAuto, load(permission.Deny, "shell:curl"), unseen, act.Allow},
		{"its name in the line", act.ModeAuto, load(permission.Deny, "shell:curl"), named, act.Deny},
		{"a program that the sandbox cannot hide", act.ModeAuto, load(permission.Deny, "shell:applet"), unseen, act.Ask},
		{"a script where nothing is", act.ModeAuto, nil, script, act.Allow},
		{"without one", act.ModeAuto, nil, unseen, act.Allow},
		{"in yolo", act.ModeYolo, load(permission.Deny, "shell:curl x *"), unseen, act.Ask},
		{"in yolo, a rule that asks", act.ModeYolo, load(permission.Ask, "shell:curl x *"), unseen, act.Allow},
	}
	defer func(hides func(string) bool) { process.Sandbox.Hides = hides }(process.Sandbox.Hides)
	process.Sandbox.Hides = func(program string) bool { return program != "applet" }
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
	if p.Mode() != act.ModeAsk {
		t.Errorf("begins with %s", p.Mode())
	}
	mode := p.Mode()
	for _, want := range []act.Mode{act.ModeAuto, act.ModePlan, act.ModeReadOnly, act.ModeAsk} {
		if mode = mode.Next(); mode != want {
			t.Errorf("got %s, want %s", mode, want)
		}
	}
	if got := act.ModeYolo.Next(); got != act.ModeAsk {
		t.Errorf("from yolo to %s", got)
	}
}

func TestAlways(t *testing.T) {
	p := NewPolicy(act.ModeAsk)
	log := &act.Action{Tool: "shell", Access: act.AccessRun, Command: "git log --oneline -5"}
	if err := p.AllowAlways(log, 0); err == nil || p.Decide(log) != act.Ask {
		t.Errorf("remembered for no workspace: %v", err)
	}
	p.SetWorkspace("/w")
	var kept []permission.Rule
	p.OnChange(func(rs []permission.Rule) { kept = rs })
	p.AllowForSession(&act.Action{Tool: "shell", Access: act.AccessRun, Command: "ls"})
	if kept != nil {
		t.Errorf("kept for good: %v", kept)
	}
	err := p.AllowAlways(log, 2)
	wide := kept[len(kept)-1]
	if want := (permission.Rule{Effect: permission.Allow, Tool: "shell", Match: "git log", Prefix: true, Workspace: "/w", Source: rule.FromState}); wide != want || err != nil {
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
	for folder, want := range map[string]act.Verdict{"/w": act.Allow, "/x": act.Ask} {
		later := NewPolicy(act.ModeAsk)
		later.SetWorkspace(folder)
		later.AddRules(again)
		if got := later.Decide(&act.Action{Tool: "shell", Access: act.AccessRun, Command: "git log main.go"}); got != want {
			t.Errorf("in %s: %s, want %s", folder, got, want)
		}
	}

	if !p.Remove(wide) || p.Remove(wide) || len(kept) != 1 {
		t.Errorf("after it was removed, kept are %v", kept)
	}
	if p.Decide(&act.Action{Tool: "shell", Access: act.AccessRun, Command: "git log main.go"}) != act.Ask {
		t.Error("a removed rule allows")
	}
	fixed := permission.Rule{Effect: permission.Deny, Tool: "shell", Source: rule.FromConfig}
	p.AddRules([]permission.Rule{fixed, fixed})
	if p.Remove(fixed) || len(p.Rules()) != 3 {
		t.Errorf("rules are %v", p.Rules())
	}
}

func TestWhy(t *testing.T) {
	p := NewPolicy(act.ModeReadOnly)
	rm := &act.Action{Tool: "shell", Access: act.AccessRun, Command: "rm x"}
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
		words, why := (&Policy{}).PrefixLengths(&act.Action{Tool: "shell", Command: test.command})
		if !slices.Equal(words, test.words) || why != test.why {
			t.Errorf("%s: got %v, %q, want %v, %q", test.command, words, why, test.words, test.why)
		}
	}
	if words, why := (&Policy{}).PrefixLengths(&act.Action{Tool: "edit", Path: "x"}); words != nil || why != "" {
		t.Errorf("edit: %v, %q", words, why)
	}
}

// A rule for a pipe allows its parts, alone and together, and nothing else.
func TestAlwaysOfPipe(t *testing.T) {
	p := NewPolicy(act.ModeAsk)
	p.SetWorkspace("/w")
	run := func(command string) *act.Action {
		return &act.Action{Tool: "shell", Access: act.AccessRun, Command: command}
	}
	err := p.AllowAlways(run("git log -3 | head -5"), 2)
	if rules := p.Rules(); err != nil || len(rules) != 2 || rules[0].String() != "shell:git log *" || rules[1].String() != "shell:head -5 *" {
		t.Fatalf("got %v, %v", rules, err)
	}
	for command, want := range map[string]act.Verdict{
		"git log -3 | head -5": act.Allow, "git log | head -5": act.Allow, "git log --oneline": act.Allow, "git log; head -5 x": act.Allow,
		"git log | head -6": act.Ask, "git log | sh": act.Ask, "git push | head -5": act.Ask, "git log --output=x | head -5": act.Ask,
	} {
		if got := p.Decide(run(command)); got != want {
			t.Errorf("%s: %s, want %s", command, got, want)
		}
	}
}

// Changes are told one after the other, and the last one tells all.
func TestChangesAreToldInOrder(t *testing.T) {
	p := NewPolicy(act.ModeAsk)
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
			edit := &act.Action{Tool: "edit", Access: act.AccessWrite, Path: strings.Repeat("a", i+1)}
			rules, err := rulesFor(edit, 0)
			rule := rules[0]
			rule.Workspace, rule.Source = "/w", "state"
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

// Writing to the folder of core.hooksPath asks, as writing to .git does.
func TestHooksElsewhereAreGuarded(t *testing.T) {
	f := open(t, map[string]string{
		".git/config":     "[core]\n\thooksPath = .githooks\n[include]\n\tpath = ../shared.config\n",
		"sub/.git/config": "[core]\n\thookspath = hooks\n",
	})
	auto := NewPolicy(act.ModeAuto)
	for file, want := range map[string]act.Verdict{
		".githooks/pre-commit": act.Ask, ".GITHOOKS/x": act.Ask, "shared.config": act.Ask, "sub/hooks/pre-push": act.Ask,
		"hooks/x": act.Allow, ".githooks2/x": act.Allow, "sub/.githook": act.Allow, "a.go": act.Allow,
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

// An approval of all edits covers ordinary files of the folder and nothing else.
func TestAllEdits(t *testing.T) {
	outside, added := t.TempDir(), t.TempDir()
	write(t, filepath.Join(outside, "x"), "x")
	write(t, filepath.Join(added, "x"), "x")
	f := open(t, map[string]string{
		"a.go": "x", "deep/b.go": "x", "denied.go": "x", "asks.go": "x", ".envrc": "x", ".mcp.json": "x", ".git/config": "[core]\n\thooksPath = hooks\n", "hooks/x": "x",
	})
	for name, target := range map[string]string{"out": filepath.Join(outside, "x"), "added": filepath.Join(added, "x"), "config": ".git/config", "same": "deep/b.go"} {
		if err := os.Symlink(target, filepath.Join(f.Set.workspace.realDir, name)); err != nil {
			t.Skip(err)
		}
	}
	if err := f.Set.RestoreDirectories(nil, added); err != nil {
		t.Fatal(err)
	}
	policy := func() *Policy {
		p := NewPolicy(act.ModeAsk)
		p.SetWorkspace(f.Set.workspace.realDir)
		rules, err := Permissions{Deny: []string{"edit:denied.go"}, Ask: []string{"edit:asks.go", "write:deep/new.go"}}.Rules()
		if err != nil {
			t.Fatal(err)
		}
		p.AddRules(rules)
		return p
	}
	plan := func(tool, file string) *act.Action {
		input := args("path", file, "old", "x", "new", "y")
		if tool == "write" {
			input = args("path", file, "content", "y")
			if read, err := f.Plan(t.Context(), "read", args("path", file)); err == nil {
				read.Run(t.Context(), nil)
			}
		}
		a, err := f.Plan(t.Context(), tool, input)
		if err != nil && file != "out" {
			t.Fatal(err)
		}
		return a
	}
	p := policy()
	p.AllowForSession(plan("edit", "a.go"))
	if p.Mode() != act.ModeEdits {
		t.Fatalf("the mode is %s", p.Mode())
	}
	for file, want := range map[string]act.Verdict{
		"edit a.go": act.Allow, "edit deep/b.go": act.Allow, "write a.go": act.Allow, "write new.go": act.Allow, "write .github/x.yml": act.Allow, "edit same": act.Allow,
		"edit .envrc": act.Ask, "edit .mcp.json": act.Ask, "write .parley/skills/x/SKILL.md": act.Ask, "write .netrc": act.Ask,
		"write .git/config": act.Ask, "write sub/.GIT/hooks/x": act.Ask, "edit hooks/x": act.Ask, "write config": act.Ask,
		"edit " + filepath.Join(added, "x"): act.Ask, "edit added": act.Ask, "write " + filepath.Join(added, "new"): act.Ask,
		"edit denied.go": act.Deny, "edit asks.go": act.Ask, "write deep/new.go": act.Ask,
	} {
		tool, name, _ := strings.Cut(file, " ")
		if got := p.Decide(plan(tool, name)); got != want {
			t.Errorf("%s: got %s, want %s", file, got, want)
		}
	}
	if plan("edit", "out") != nil {
		t.Error("a link out of the folder can be followed")
	}
	hooked, once := *plan("edit", "a.go"), *plan("edit", "a.go")
	hooked.Caution, once.AskEachTime = "a hook asks about it", true
	for name, a := range map[string]*act.Action{
		"asked by a hook": &hooked, "asks each time": &once, "of the project": act.FromProject(plan("edit", "a.go"), "x.md"),
		"a command": {Tool: "shell", Access: act.AccessRun, Command: "touch a.go", Sandboxed: true}, "a tool of a server": {Tool: "mcp__fs__edit", Access: act.AccessWrite, Path: "a.go"},
		"in no workspace": {Tool: "edit", Access: act.AccessWrite, Path: "a.go", NoWorkspace: true}, "a page": {Tool: "fetch", Access: act.AccessFetch, Host: "x"},
	} {
		if got := p.Decide(a); got != act.Ask {
			t.Errorf("%s: got %s", name, got)
		}
	}
	p.SetWorkspace(outside)
	if got := p.Mode(); got != act.ModeAsk {
		t.Errorf("in another folder the mode is %s", got)
	}
	for name, file := range map[string]string{"guarded": ".envrc", "credentials": ".netrc", "added": filepath.Join(added, "new")} {
		p := policy()
		p.AllowForSession(plan("write", file))
		if got := p.Decide(plan("edit", "a.go")); got != act.Ask || p.Mode() != act.ModeAsk {
			t.Errorf("an approval of a %s file: mode %s, another file: %s", name, p.Mode(), got)
		}
	}
	for _, mode := range []act.Mode{act.ModePlan, act.ModeReadOnly, act.ModeAuto} { // chosen while the question was open
		p := policy()
		p.SetMode(mode)
		if p.AllowForSession(plan("edit", "a.go")); p.Mode() != mode {
			t.Errorf("an approval changes mode %s to %s", mode, p.Mode())
		}
	}
}
