package permission

import "testing"

// denyRmTests holds lines under a rule that allows everything and one that denies rm: those that
// are denied, those that ask and those that run.
var denyRmTests = map[string]struct{ denied, ask, run []string }{
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
