package app

import (
	"strings"
	"testing"
)

// TestTrust: what was decided about a folder can be changed; no changes nothing.
func TestTrust(t *testing.T) {
	a := newApp(t)
	if got := run(t, a, "/trust"); see(got).Toast != "This folder contains no settings for parley" {
		t.Errorf("without files: %+v", got)
	}
	trusted := false
	a.Decided = TrustDecision{
		Review: func() string { return "Do you trust /project?" },
		Get:    func() bool { return trusted },
		Set:    func(yes bool) error { trusted = yes; return nil },
	}
	for _, tt := range []struct{ asks, says string }{
		{"Do you trust /project?", "Folder trusted from the next start of parley"},
		{"You trust this folder. Stop trusting it?", "Folder not trusted from the next start of parley"},
	} {
		c, before := see(run(t, a, "/trust")).Confirm, trusted
		if c == nil || !strings.HasPrefix(c.Text, tt.asks) || c.Harmless != before {
			t.Fatalf("/trust asks %+v, want %q", c, tt.asks)
		}
		if got := see(c.Answer(false)).Toast; got != "" || trusted != before {
			t.Errorf("no: %q, trusted %v", got, trusted)
		}
		if got := see(c.Answer(true)).Toast; got != tt.says || trusted == before {
			t.Errorf("yes: got %q, trusted %v, want %q", got, trusted, tt.says)
		}
	}
}
