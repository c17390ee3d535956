package wording

import (
	"testing"

	"parley/session"
)

func TestVerdictText(t *testing.T) {
	for _, tt := range []struct {
		winner int
		short  bool
		want   string
	}{
		{0, false, "Judge j: A, m · r"}, {1, true, "Judge j: B · r"}, {-1, false, "Judge j: no answer is better · r"},
	} {
		if got := Verdict(session.Verdict{Winner: tt.winner, Judge: "j", Model: "m", Reason: "r"}, tt.short); got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}
