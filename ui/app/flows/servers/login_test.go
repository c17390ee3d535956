package servers

import (
	"context"
	"errors"
	"testing"

	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/uitest/apptest"
)

// loginServers begin logins that record their calls.
type loginServers struct {
	mcp.Servers
	pasted string
	closed chan bool
}

func (s *loginServers) States() []mcp.State         { return []mcp.State{{Name: "s", Status: mcp.StatusLogin}} }
func (s *loginServers) NextQuestion() *mcp.Question { return nil }
func (s *loginServers) BeginLogin(context.Context, string) (mcp.Login, error) {
	return &recordedLogin{s: s}, nil
}

type recordedLogin struct {
	mcp.Login
	s *loginServers
}

func (l *recordedLogin) URL() string                { return "https://login" }
func (l *recordedLogin) Question() string           { return "open https://login?" }
func (l *recordedLogin) Returned() <-chan struct{}  { return nil }
func (l *recordedLogin) Wait(context.Context) error { return nil }
func (l *recordedLogin) Close()                     { l.s.closed <- true }
func (l *recordedLogin) Paste(address string) error {
	if l.s.pasted = address; address != "https://here?code=1" {
		return errors.New("not that address")
	}
	return nil
}

// TestLogin: a login ends when the browser returns or its address is pasted; a wrong address is refused and can be
// entered again; a login that is declined or has ended is closed.
func TestLogin(t *testing.T) {
	for name, tt := range map[string]struct{ line, refused, pasted string }{
		"the browser returned": {"", "", ""},
		"its address":          {"https://here?code=1", "", "https://here?code=1"},
		"another address":      {"https://elsewhere", "not that address", "https://elsewhere"},
	} {
		all := &loginServers{closed: make(chan bool, 1)}
		a := apptest.New(t, Register, func(o *app.Options) {
			o.MCP.Servers = func() app.Servers { return all }
			o.Machine.OpenURL = func(context.Context, string) error { return errors.New("no browser") }
		})
		confirm := apptest.See(apptest.Run(t, a, "/mcp login s")).Confirm
		if confirm.Text != "open https://login?" {
			t.Fatalf("%s: asks %q", name, confirm.Text)
		}
		ask := apptest.See(apptest.See(confirm.Answer(true)).Prepare(t.Context())()).Secret
		if want := "No browser here: open https://login elsewhere, and paste the address that it ends on"; ask.Text != want {
			t.Errorf("%s: says %q, want %q", name, ask.Text, want)
		}
		done, err := ask.Submit(t.Context(), tt.line)
		if all.pasted != tt.pasted || (err == nil) != (tt.refused == "") || err != nil && err.Error() != tt.refused {
			t.Errorf("%s: pasted %q, %v", name, all.pasted, err)
		}
		if err == nil && (!<-all.closed || apptest.Toast(done()) != "Logged in to s") {
			t.Errorf("%s: says %q", name, apptest.Toast(done()))
		}
		if declined := apptest.Toast(confirm.Answer(false)); err != nil && (!<-all.closed || declined != "Not logged in to s") {
			t.Errorf("%s: when declined says %q", name, declined)
		}
	}
}
