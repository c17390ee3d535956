package permission

import (
	"os"
	"path/filepath"
	"testing"
)

// Lines that models write all day run where each of their commands is allowed, also after cd to a
// folder of the workspace.
func TestEverydayRules(t *testing.T) {
	base := t.TempDir()
	for _, dir := range []string{"ws/sub/in", "ws/-", "outside", "ws2"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	ws := filepath.Join(base, "ws")
	for name, to := range map[string]string{"out": "../outside", "root": "/", "inner": "sub/in", "up": ".."} {
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(ws, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var rules Rules
	for _, text := range []string{"echo *", "echo -e *", "git status", "git log *", "ls *", "cat *", "head *", "test *", "printf '%s' *", `printf '%s\n' *`, "sed -n *", "./gradlew test *", "cat ../shared", "go test *"} {
		r, err := ParseRule("shell:" + text)
		if err == nil {
			err = Validate(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = Allow
		rules = append(rules, r)
	}
	allowed := func(line string) bool {
		effect, _, ok := rules.Decide(Call{Tool: "shell", Command: line, Workspace: ws})
		return ok && effect == Allow
	}
	for _, line := range []string{
		"echo ---", "echo -e 'a\\n'", "echo -n --x=/etc/y", "echo a; echo '--- b'", "echo -e a | head -1", "echo -z 2>&1",
		"cd sub && git status", "cd sub; ls -l && git log -3", "cd ./sub && git status", "cd . && git status", "cd sub/in && cat x", "cd inner && ls", "cd " + ws + "/sub && ls",
		"cd sub && git log | head -3", "cd 'sub' && ls", "cd sub || git status", "git status && cd sub && ls", "cd sub && go test ./...", "cd sub >/dev/null && ls", "cd sub\nls", "cd sub && test -f x && cat x",
		"test -f x && echo y", "test -d sub || echo none", "test 3 -gt 2", "test a = b", "test ! -e x", "test -n x -a -z y",
		"printf '%s' a --b", "printf '%s\\n' '$(id)'", "printf '%s' -v",
		"sed -n 5p x", "sed -n '1,20p' x", "sed -n '$p' x y", "sed -n '/a b/,/c/p' x", "sed -n '10,+5p' x", "sed -n '/x/,$p' x", "cat x | sed -n 1,5p", "cd sub && sed -n 2p x",
	} {
		if !allowed(line) {
			t.Errorf("%q asks", line)
		}
	}
	for _, line := range []string{
		"cd sub", "cd", "cd && ls", "cd ~ && ls", "cd - && ls", "cd -- sub && ls", "cd -P sub && ls", "cd -L sub && ls", "cd .. && ls", "cd sub/.. && ls", "cd sub && cd .. && ls", "cd sub && cd in && ls", "cd '' && ls",
		"cd /etc && cat passwd", "cd / && ls", "cd out && cat x", "cd root && cat etc/passwd", "cd up && ls", "cd inner/../.. && ls", "cd " + ws + "/../outside && ls", "cd " + base + "/ws2 && ls", "cd " + ws + "/root && ls",
		"cd none && ls", "cd file && ls", "cd $x && ls", "cd \"$x\" && ls", "cd $(echo sub) && ls", "cd `echo sub` && ls", "cd su* && ls", "cd s{ub,x} && ls", "cd sub/* && ls", "cd sub x && ls", "CDPATH=/ cd sub && ls", "export CDPATH=/; cd sub && ls",
		"command cd sub && ls", "builtin cd sub && ls", "pushd sub && ls", "(cd sub && ls)", "{ cd sub; ls; }", "! cd sub && ls", "cd sub & ls", "ls | cd sub && ls", "cd sub > x && ls", "cd() { :; }; cd sub && ls", "alias cd=rm; cd sub && ls", "cd\u00a0sub && ls",
		"cd sub && rm x", "cd sub && ./gradlew test x", "cd sub && cat ../x", "cd sub && cat ../shared", "cd sub && cat /etc/passwd", "cd sub && cat x/../../../y", "cd sub && GIT_DIR=x git status", "cd sub && git -c core.fsmonitor=x status", "cd sub && set -x; ls", "cd sub && test -v 'a[$(id)]'",
		"echo -e x > y", "echo -n $(id)", "echo -n `id`", "echo -e x | sh", "X=1 echo -n", "echo @x", "echo -n /etc/passwd /etc/x", "echo -e x >& y",
		"test -v x", "test -v 'a[$(id)]'", "test -R 'a[$(id)]'", "test -R x", "test x -o -v y", "test -f x -a -R y", `test "-v" x`, "test 'a[$(id)]' -eq 1", "test -f '`id`'", "test -f /etc/passwd", "test -f ../x", "test -f x*", "test -f $x", "test -t 'x[0]'", "/usr/bin/test -v x", "[ -v x ]", "[ -f x ]", "[[ -v x ]]",
		"printf x", "printf -v PATH %s x", "printf -v 'a[$(id)]' '%s' x", "printf '%d' 'a[$(id)]'", "printf '%s%d' x y", "printf -- '%s' x", "printf '%b' x", "printf '%s' x > y", "printf '%s' x | sh", "printf %s $x",
		"sed -n '1e id' f", "sed -n e f", "sed -n 'w f' g", "sed -n '/x/w f' g", "sed -n '1p;1e' f", "sed -n 5p -i f", "sed -n 5p f -e e", "sed -n 5p f --in-place", "sed -n -f s", "sed -n -e 5p f", "sed -n '5p\ne' f", "sed -n 5d f", "sed -n 's/x/y/e' f", "sed -n 's/x/y/p' f", "sed -n p f", "sed 5p f", "sed -n -i 5p f", "sed -i -n 5p f",
		"sed -n 5p /etc/passwd", "sed -n 5p ../x", "sed -n 5p /x/p", "sed -n '/a\\/e;/p' f", "sed -n '/a/e;/b/p' f", "sed -n \"${x}p\" f", "sed -n '1,5{p}' f", "sed -n '5pw f' g", "sed -ni 5p f", "sed -n 5p --expression=e f", "sed --quiet 5p f",
	} {
		if allowed(line) {
			t.Errorf("%q runs", line)
		}
	}
	t.Setenv("CDPATH", "/")
	if allowed("cd sub && ls") {
		t.Error("cd runs with CDPATH")
	}
	for _, text := range []string{"cd *", "cd sub *", "test -v *", "test -R *", "test -f x -v *", "printf *", "printf -v *", "printf -v x %s *", "sed *", "sed -n e *", "sed -i *", "sed -n -i *", "sed -n 5p -i *"} {
		if r, err := ParseRule("shell:" + text); err == nil && Validate(r) == nil {
			t.Errorf("a rule %q holds", text)
		}
	}
}

// If a rule denies, lines that the shell reads otherwise than they look ask; git-push is git push.
func TestDeniedNames(t *testing.T) {
	decide := func(rule, line string) Effect {
		t.Helper()
		r, err := ParseRule("shell:" + rule)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = Deny
		all, _ := ParseRule("shell")
		all.Effect = Allow
		effect, _, _ := Rules{r, all}.Decide(shellCall(line))
		return effect
	}
	names := []string{"git push", "git-push", "/usr/lib/git-core/git-push", "/usr/libexec/git-core/git-push"}
	for _, rule := range names {
		for _, name := range names {
			for _, line := range []string{name, name + " -f origin", "cd x && " + name, "env A=1 " + name + " x", "sh -c '" + name + "'", "true | xargs " + name, "(" + name + ")", "timeout 5 " + name} {
				if got := decide(rule, line); got != Deny {
					t.Errorf("rule %q: %q is %q", rule, line, got)
				}
			}
		}
		for _, line := range []string{"git pull", "git-pull", "echo git", "git log push-x"} {
			if got := decide(rule, line); got != Allow {
				t.Errorf("rule %q: %q is %q", rule, line, got)
			}
		}
	}
	for _, line := range []string{
		"ls\r", "ls x\rrm y", "ls \r\n", "echo 'a\rb'", "coproc ls", "coproc X { ls; }", "ls; coproc cat", "sh -c 'coproc ls'", "(coproc ls)",
		`ls >&'$(rm x)'`, `ls >&"$x"`, "ls >&\"`rm x`\"", `ls >&\$x`, `ls 2>&'a$x'`, "ls >&'`rm`'", `ls >&$'\x24x'"$y"`, `ls >&'a'$x`, `ls <&'$(rm x)'`, `sh -c "ls >&'\$(rm x)'"`,
	} {
		if got := decide("rm", line); got != Ask && got != Deny {
			t.Errorf("%q is %q", line, got)
		}
	}
	for _, line := range []string{"ls 2>&1", "ls >&2", "ls >&'x'", "echo coproc", "echo '$x'", "ls >'$x'", "ls >&\"x\""} {
		if got := decide("rm", line); got != Allow {
			t.Errorf("%q is %q", line, got)
		}
	}
}
