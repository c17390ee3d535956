package permission

import "testing"

// denyRmTests holds lines under a rule that allows everything and one that denies rm: those that
// are denied, those that ask and those that run.
var denyRmTests = map[string]struct{ denied, ask, run []string }{
	"aliases for a shell": {
		denied: []string{
			"git config alias.x '!rm victim'", "git config alias.x '!rm'", "git config alias.x !rm", "git config --global --add alias.x '! rm victim'", "git config set alias.x '!rm x'", "git config alias.x '!ls; rm x'", "git config alias.x '!f() { rm x; }; f'",
			"git config credential.helper '!rm x'", "git config alias.x \"!rm x\"", "git config alias.x '!sh -c \"rm x\"'", "sudo git config alias.x '!rm x'", "sh -c \"git config alias.x '!rm x'\"", "git -c alias.x='!rm x' x",
			"gh alias set x '!rm victim'", "gh alias set x '!rm'", "gh alias set --shell x 'rm victim'", "gh config set pager 'rm x'", "glab alias set x '!rm victim'", "glab config set editor 'rm x'",
			"hg --config alias.x='!rm x' x", "hg --config=alias.x='!rm x' x", "hg --config alias.x='!rm' x", "jj util exec -- rm x", "jj --config ui.pager='rm x' log", "jj config set --user ui.editor 'rm x'",
		},
		ask: []string{"git config alias.x \"!rm $1\"", "git config alias.x \"!$x\""},
		run: []string{
			"git config alias.co checkout", "git config alias.x '!git log --oneline'", "git config user.name x", "gh alias set co 'pr checkout'", "gh alias list", "gh config get editor", "hg --config ui.color=never log", "jj --config ui.paginate=never log", "jj config list",
			"find . ! -name rm -type f", "test ! -e rm", "! grep rm f",
		},
	},
	"programs with digits at the end": {
		denied: []string{"run0 rm x", "run0 -u me rm x", "/usr/bin/run0 rm x", "c8 rm x", "pm2 start rm", "RUN0.exe rm x"},
		run:    []string{"run0 ls", "pm2 start server.js", "run rm"},
	},
}

func TestDenyRm(t *testing.T) {
	rs := Rules{{Effect: Allow, Tool: "shell"}, parseTestRule(t, Deny, "shell:rm")}
	for kind, test := range denyRmTests {
		for want, lines := range map[Effect][]string{Deny: test.denied, Ask: test.ask, Allow: test.run} {
			for _, line := range lines {
				if got, _, _ := rs.Decide(shellCall(line)); got != want {
					t.Errorf("%s: %q: got %s, want %s", kind, line, got, want)
				}
			}
		}
	}
}
