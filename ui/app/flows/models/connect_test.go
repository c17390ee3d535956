package models

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/access"
	"parley/ui/uitest/apptest"
)

// canary is a key that no output may contain.
const canary = "sk-CANARY-0123456789"

// connectable returns an application in which far/away has no key until the canary is given, and the list of given
// keys.
func connectable(t *testing.T) (*app.App, *[]access.Key) {
	a := newApp(t)
	var given []access.Key
	stored := false
	open := a.Models.Open
	a.Models.Open = func(name string) (llm.Endpoint, error) {
		if strings.HasPrefix(name, "far/") && !stored {
			return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "far", Message: "no key", Err: llm.ErrNoKey}
		}
		if name == "far/away" {
			name = "far/away2" // newApp rejects it
		}
		return open(name)
	}
	all := []access.Connection{{Provider: "far", Name: "Far", Default: "far/first"}, {Provider: "env", Name: "Env", From: "ENV_API_KEY"},
		{Provider: "here", Name: "Here", Keyless: true, Local: true}, {Provider: "cli", Name: "CLI", Keyless: true}}
	a.Models.Connections = func() []access.Connection { return all }
	a.Models.Connection = func(name string) (access.Connection, error) {
		for _, c := range all {
			if c.Provider == name {
				return c, nil
			}
		}
		return access.Connection{}, errors.New("there is no provider " + name)
	}
	a.Models.Connect = func(_ context.Context, k access.Key) (string, error) {
		given = append(given, k)
		switch {
		case k.Text == "offline" && !k.Unchecked:
			return "", access.UncheckedKeyError{Name: "Far", Reason: "no network."}
		case k.Text == "wrong":
			return "", errors.New("Far rejected this key: no")
		}
		stored = true
		return "Far connected: 2 models\nKey stored in the system keyring", nil
	}
	return a, &given
}

// Without a provider there is a list with the state and the needs of each one.
func TestConnectList(t *testing.T) {
	a, _ := connectable(t)
	e := apptest.Run(t, a, "/login")
	if apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 4 {
		t.Fatalf("%+v", e)
	}
	var got []string
	for _, i := range apptest.See(e).List.Items {
		got = append(got, i.Value+" "+i.Title+": "+i.Detail)
		if i.Current != (i.Value == "env") {
			t.Errorf("%s is marked: %v", i.Value, i.Current)
		}
	}
	if want := "far Far: no key yet\nenv Env: connected: ENV_API_KEY\nhere Here: local server, needs no key\ncli CLI: uses its own login"; strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if asked := apptest.See(e).List.Choose(apptest.See(e).List.Items[0].Value); apptest.See(asked).Secret == nil || apptest.See(asked).Secret.Title != "Far API key" {
		t.Errorf("chosen: %+v", asked)
	}
	if e := apptest.Run(t, a, "/connect nobody"); apptest.See(e).Err == nil {
		t.Errorf("nobody: %+v", e)
	}
	if e := apptest.Run(t, a, "/connect env"); apptest.See(e).Secret == nil || !strings.HasPrefix(apptest.See(e).Secret.Text, "Currently using the key from ENV_API_KEY. ") {
		t.Errorf("a key that is there: %+v", apptest.See(e).Secret)
	}
	if e := apptest.Run(t, newApp(t), "/connect far"); apptest.Toast(e) != "Keys cannot be added here" {
		t.Errorf("without a store: %+v", e)
	}
}

// A model without a key asks for the key of its provider, and is used then.
func TestConnectForModel(t *testing.T) {
	a, given := connectable(t)
	e := apptest.Run(t, a, "/model far/away")
	if _, err := apptest.Take(t, e, "wrong"); err == nil || err.Error() != "Far rejected this key: no" || a.Session.Model().Name != "fake/m" {
		t.Errorf("rejected: %v, the model is %s", err, a.Session.Model().Name)
	}
	got, err := apptest.Take(t, e, canary)
	if err != nil || a.Session.Model().Name != "far/away2" || len(apptest.See(got).Notes) != 1 || apptest.See(got).Notes[0] != "Far connected: 2 models · Key stored in the system keyring" || apptest.See(got).Async == nil {
		t.Errorf("%+v, %v, the model is %s", got, err, a.Session.Model().Name)
	}
	if len(*given) != 2 || !reflect.DeepEqual((*given)[1], access.Key{Provider: "far", Text: canary}) {
		t.Errorf("given %+v", *given)
	}
}

// Connecting changes the model only if the demo answers, or if the current model gets another key.
func TestConnectAlone(t *testing.T) {
	for from, want := range map[string]string{"fake/m": "fake/m", "demo/parley": "far/first"} {
		a, _ := connectable(t)
		a.Models.Use(from)
		a.FirstScreen.NoKey = true
		if e, err := apptest.Take(t, apptest.Run(t, a, "/connect far"), canary); err != nil || len(apptest.See(e).Notes) != 1 || a.Session.Model().Name != want || app.UsesDemo(a) {
			t.Errorf("from %s: %+v, %v, the model is %s", from, e, err, a.Session.Model().Name)
		}
	}
	a, _ := connectable(t)
	if _, err := apptest.Take(t, apptest.Run(t, a, "/connect far"), canary); err != nil {
		t.Fatal(err)
	}
	a.Models.Use("far/x")
	opened := 0
	open := a.Models.Open
	a.Models.Open = func(name string) (llm.Endpoint, error) { opened++; return open(name) }
	if e, err := apptest.Take(t, apptest.Run(t, a, "/connect far"), "another"); err != nil || apptest.See(e).Event != nil || opened != 1 {
		t.Errorf("%+v, %v, opened %d times", e, err, opened)
	}
}

// A key that could not be checked is stored if the user agrees.
func TestConnectUnchecked(t *testing.T) {
	a, given := connectable(t)
	e, err := apptest.Take(t, apptest.Run(t, a, "/model far/away"), "offline")
	if err != nil || apptest.See(e).Confirm == nil || apptest.See(e).Confirm.Text != "Could not check the Far key: no network. Store it anyway?" {
		t.Fatalf("%+v, %v", e, err)
	}
	if no := apptest.See(e).Confirm.Answer(false); apptest.See(no).Toast != "Not stored" || apptest.See(no).Prepare != nil || len(*given) != 1 {
		t.Errorf("no: %+v", no)
	}
	done := apptest.See(apptest.See(e).Confirm.Answer(true)).Prepare(t.Context())()
	if len(apptest.See(done).Notes) != 1 || a.Session.Model().Name != "far/away2" || !(*given)[1].Unchecked {
		t.Errorf("yes: %+v, the model is %s, given %+v", done, a.Session.Model().Name, *given)
	}
}

// Connecting a provider without a key asks nothing: it succeeds if the provider is found on this machine, and otherwise
// says why not.
func TestConnectKeyless(t *testing.T) {
	a, given := connectable(t)
	if e := apptest.Run(t, a, "/connect here"); apptest.See(e).Toast != "Here takes no key" {
		t.Errorf("where nothing is looked for: %+v", e)
	}
	a.Models.Local.Discover = func(context.Context) []access.Service { return nil }
	if e := apptest.Run(t, a, "/connect here"); apptest.See(e).Err == nil || !strings.Contains(apptest.See(e).Err.Error(), "Here was not found on its usual port") {
		t.Errorf("a server that is not found: %+v", e)
	}
	a.Models.Local.Discover = func(context.Context) []access.Service {
		return []access.Service{{Provider: "here", Name: "Here", Models: 2, Model: "here/m"}, {Provider: "empty", Name: "Empty"}}
	}
	if e := apptest.Run(t, a, "/connect cli"); apptest.See(e).Err == nil || apptest.See(e).Err.Error() != "CLI was not found on this machine" {
		t.Errorf("not found: %+v", e)
	}
	e := apptest.Run(t, a, "/connect here")
	if apptest.See(e).Err != nil || a.Session.Model().Name != "here/m" || !access.ReadAnswers(a.Library)["here"] || *given != nil {
		t.Errorf("found: %+v, the model is %s, stored %v, given %v", e, a.Session.Model().Name, access.ReadAnswers(a.Library), *given)
	}
}

// For a cloud, the variables of its address are asked for one by one and shown while they are typed, then its key. With
// another program's login there is no key.
func TestConnectCloud(t *testing.T) {
	for _, login := range []bool{false, true} {
		a, given := connectable(t)
		far := access.Connection{Provider: "far", Name: "Far", Default: "far/first", Login: login, Variables: []access.Variable{{Name: "region", Title: "Region", Help: "Where it is", Value: "r-1"}, {Name: "project", Title: "Project"}}}
		a.Models.Connection = func(string) (access.Connection, error) { return far, nil }
		a.Models.Variable = func(provider, name, text string) (string, error) {
			if text == "evil/" {
				return "", errors.New(provider + " has no such " + name)
			}
			return strings.TrimSpace(text), nil
		}
		e := apptest.Run(t, a, "/connect far")
		if apptest.See(e).Secret == nil || !apptest.See(e).Secret.Visible || apptest.See(e).Secret.Title != "Far: Region" || apptest.See(e).Secret.Text != "Where it is" || apptest.See(e).Secret.Value != "r-1" {
			t.Fatalf("%+v", apptest.See(e).Secret)
		}
		if _, err := apptest.Take(t, e, "evil/"); err == nil || err.Error() != "far has no such region" {
			t.Errorf("a hostile region: %v", err)
		}
		first := e
		e, _ = apptest.Take(t, e, " r-2 ")
		if apptest.See(e).Secret == nil || apptest.See(e).Secret.Title != "Far: Project" || apptest.See(e).Secret.Value != "" {
			t.Fatalf("%+v", apptest.See(e).Secret)
		}
		e, _ = apptest.Take(t, e, "p")
		want := access.Key{Provider: "far", Text: canary, Variables: map[string]string{"region": "r-2", "project": "p"}}
		if login {
			want.Text = ""
			if apptest.See(e).Prepare == nil || apptest.See(e).Secret != nil {
				t.Fatalf("%+v", e)
			}
			e = apptest.See(e).Prepare(t.Context())()
		} else {
			if apptest.See(e).Secret == nil || apptest.See(e).Secret.Visible {
				t.Fatalf("%+v", apptest.See(e).Secret)
			}
			e, _ = apptest.Take(t, e, canary)
		}
		if len(*given) != 1 || !reflect.DeepEqual((*given)[0], want) || len(apptest.See(e).Notes) != 1 {
			t.Errorf("given %+v, want %+v; then %+v", *given, want, e)
		}
		if again, _ := apptest.Take(t, first, "r-3"); apptest.See(again).Secret == nil || (*given)[0].Variables["region"] != "r-2" {
			t.Errorf("a second time changes the first: %+v", (*given)[0])
		}
	}
}

// While a prompt with its own model is answered, connecting its provider changes neither that model nor the
// conversation's, and both get the key. A model that was asked for is chosen.
func TestConnectDuringPrompt(t *testing.T) {
	far := llm.Endpoint{Name: "far/own", Context: 7}
	tests := []struct {
		line   string
		locked bool // the model lacks its key when it is first opened
		want   llm.Endpoint
		to     session.Event // expected event
	}{
		{line: "/connect far", want: far},
		{line: "/connect env", want: llm.Endpoint{Name: "far/own"}},
		{line: "/model far/turn", want: llm.Endpoint{Name: "far/turn", Context: 7}, to: session.ModelSwitched{From: "far/own", To: "far/turn"}},
		{line: "/model far/turn", locked: true, want: llm.Endpoint{Name: "far/turn", Context: 7}, to: session.ModelSwitched{From: "far/own", To: "far/turn"}},
		{line: "/model far/own", want: far, to: session.ModelSwitched{From: "far/turn", To: "far/own"}},
	}
	for _, tt := range tests {
		a, _ := connectable(t)
		if _, err := apptest.Take(t, apptest.Run(t, a, "/connect far"), canary); err != nil {
			t.Fatal(err)
		}
		first := a.Models.Open
		open := func(name string) (llm.Endpoint, error) {
			m, err := first(name)
			m.Model = llmtest.New(llmtest.Say("answer"))
			return m, err
		}
		a.Models.Open = open
		a.Models.Use("far/own")
		from := session.Template{Parts: func([]string) []llm.Part { return []llm.Part{{Kind: llm.Text, Text: "hi"}} }}
		from.Settings.Model, _ = open("far/turn")
		locked := tt.locked
		a.Models.Open = func(name string) (llm.Endpoint, error) {
			if locked {
				locked = false
				return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "far", Message: "no key", Err: llm.ErrNoKey}
			}
			m, err := open(name)
			m.Context = 7
			return m, err
		}
		for ev := range a.Session.TurnFromTemplate(t.Context(), from) {
			if _, ok := ev.(session.Step); !ok {
				continue
			}
			e := apptest.Do(t, a, tt.line)
			if apptest.See(e).Secret != nil {
				var err error
				if e, err = apptest.Take(t, e, "another"); err != nil {
					t.Fatal(err)
				}
			}
			if apptest.See(e).Err != nil || apptest.See(e).Failed != nil || !reflect.DeepEqual(apptest.See(e).Event, tt.to) {
				t.Errorf("%s: %+v, want the event %+v", tt.line, e, tt.to)
			}
		}
		if m := a.Session.Model(); m.Name != tt.want.Name || m.Context != tt.want.Context {
			t.Errorf("%s: %s with a context of %d is left, want %s with %d", tt.line, m.Name, m.Context, tt.want.Name, tt.want.Context)
		}
	}
}
