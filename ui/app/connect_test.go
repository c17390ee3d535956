package app

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
)

// canary is a key that must not come back from anything.
const canary = "sk-CANARY-0123456789"

// connectable returns an application in which far/away lacks a key until the canary was
// given, and what was given.
func connectable(t *testing.T) (*App, *[]Key) {
	a := newApp(t)
	var given []Key
	stored := false
	open := a.Open
	a.Open = func(name string) (llm.Endpoint, error) {
		if strings.HasPrefix(name, "far/") && !stored {
			return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Provider: "far", Message: "no key", Err: llm.ErrNoKey}
		}
		if name == "far/away" {
			name = "far/away2" // newApp refuses it
		}
		return open(name)
	}
	all := []Connection{{Provider: "far", Name: "Far", Default: "far/first"}, {Provider: "env", Name: "Env", From: "ENV_API_KEY"},
		{Provider: "here", Name: "Here", Keyless: true, Local: true}, {Provider: "cli", Name: "CLI", Keyless: true}}
	a.Connections = func() []Connection { return all }
	a.Connection = func(name string) (Connection, error) {
		for _, c := range all {
			if c.Provider == name {
				return c, nil
			}
		}
		return Connection{}, errors.New("there is no provider " + name)
	}
	a.Connect = func(_ context.Context, k Key) (string, error) {
		given = append(given, k)
		switch {
		case k.Text == "offline" && !k.Unchecked:
			return "", UncheckedKeyError{"Far", "no network."}
		case k.Text == "wrong":
			return "", errors.New("Far rejected this key: no")
		}
		stored = true
		return "Far connected: 2 models\nKey stored in the system keyring", nil
	}
	return a, &given
}

// take gives a line to what e asks for, and returns what comes of it.
func take(t *testing.T, e Effect, line string) (Effect, error) {
	t.Helper()
	if see(e).Secret == nil {
		t.Fatalf("nothing is asked for: %+v", e)
	}
	then, err := see(e).Secret.Submit(t.Context(), line)
	if err != nil {
		return nil, err
	}
	return then(), nil
}

// Without a provider there is a list, which says what each has and needs.
func TestConnectList(t *testing.T) {
	a, _ := connectable(t)
	e := run(t, a, "/login")
	if see(e).List == nil || len(see(e).List.Items) != 4 {
		t.Fatalf("%+v", e)
	}
	var got []string
	for _, i := range see(e).List.Items {
		got = append(got, i.Value+" "+i.Title+": "+i.Detail)
		if i.Current != (i.Value == "env") {
			t.Errorf("%s is marked: %v", i.Value, i.Current)
		}
	}
	if want := "far Far: no key yet\nenv Env: connected: ENV_API_KEY\nhere Here: local server, needs no key\ncli CLI: uses its own login"; strings.Join(got, "\n") != want {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), want)
	}
	if asked := see(e).List.Choose(see(e).List.Items[0], ""); see(asked).Secret == nil || see(asked).Secret.Title != "Far API key" {
		t.Errorf("chosen: %+v", asked)
	}
	if e := run(t, a, "/connect nobody"); see(e).Err == nil {
		t.Errorf("nobody: %+v", e)
	}
	if e := run(t, a, "/connect env"); see(e).Secret == nil || !strings.HasPrefix(see(e).Secret.Text, "The key from ENV_API_KEY is in use. ") {
		t.Errorf("a key that is there: %+v", see(e).Secret)
	}
	if e := run(t, newApp(t), "/connect far"); toastOf(e) != "Keys cannot be added here" {
		t.Errorf("without a store: %+v", e)
	}
}

// A model without a key asks for that of its provider, and is used then.
func TestConnectForModel(t *testing.T) {
	a, given := connectable(t)
	e := run(t, a, "/model far/away")
	if _, err := take(t, e, "wrong"); err == nil || err.Error() != "Far rejected this key: no" || a.Session.Model().Name != "fake/m" {
		t.Errorf("rejected: %v, the model is %s", err, a.Session.Model().Name)
	}
	got, err := take(t, e, canary)
	if err != nil || a.Session.Model().Name != "far/away2" || len(see(got).Notes) != 1 || see(got).Notes[0] != "Far connected: 2 models · Key stored in the system keyring" || see(got).Async == nil {
		t.Errorf("%+v, %v, the model is %s", got, err, a.Session.Model().Name)
	}
	if len(*given) != 2 || !reflect.DeepEqual((*given)[1], Key{Provider: "far", Text: canary}) {
		t.Errorf("given %+v", *given)
	}
}

// By itself connecting changes no model, but where the demo answers, and where the model in
// use gets another key.
func TestConnectAlone(t *testing.T) {
	for from, want := range map[string]string{"fake/m": "fake/m", "demo/parley": "far/first"} {
		a, _ := connectable(t)
		a.UseModel(from)
		a.NoKey = true
		if e, err := take(t, run(t, a, "/connect far"), canary); err != nil || len(see(e).Notes) != 1 || a.Session.Model().Name != want || UsesDemo(a) {
			t.Errorf("from %s: %+v, %v, the model is %s", from, e, err, a.Session.Model().Name)
		}
	}
	a, _ := connectable(t)
	if _, err := take(t, run(t, a, "/connect far"), canary); err != nil {
		t.Fatal(err)
	}
	a.UseModel("far/x")
	opened := 0
	open := a.Open
	a.Open = func(name string) (llm.Endpoint, error) { opened++; return open(name) }
	if e, err := take(t, run(t, a, "/connect far"), "another"); err != nil || see(e).Event != nil || opened != 1 {
		t.Errorf("%+v, %v, opened %d times", e, err, opened)
	}
}

// A key that could not be checked is stored if the user says so.
func TestConnectUnchecked(t *testing.T) {
	a, given := connectable(t)
	e, err := take(t, run(t, a, "/model far/away"), "offline")
	if err != nil || see(e).Confirm == nil || see(e).Confirm.Text != "The key of Far could not be checked: no network. Store it anyway?" {
		t.Fatalf("%+v, %v", e, err)
	}
	if no := see(e).Confirm.Answer(false); see(no).Toast != "Not stored" || see(no).Prepare != nil || len(*given) != 1 {
		t.Errorf("no: %+v", no)
	}
	done := see(see(e).Confirm.Answer(true)).Prepare(t.Context())()
	if len(see(done).Notes) != 1 || a.Session.Model().Name != "far/away2" || !(*given)[1].Unchecked {
		t.Errorf("yes: %+v, the model is %s, given %+v", done, a.Session.Model().Name, *given)
	}
}

// A provider that takes no key asks nothing: it is connected if it is found on this machine, and says
// why not otherwise.
func TestConnectKeyless(t *testing.T) {
	a, given := connectable(t)
	if e := run(t, a, "/connect here"); see(e).Toast != "Here takes no key" {
		t.Errorf("where nothing is looked for: %+v", e)
	}
	a.Local.Discover = func(context.Context) []Service { return nil }
	if e := run(t, a, "/connect here"); see(e).Err == nil || !strings.Contains(see(e).Err.Error(), "Here was not found on its usual port") {
		t.Errorf("a server that is not found: %+v", e)
	}
	a.Local.Discover = func(context.Context) []Service {
		return []Service{{Provider: "here", Name: "Here", Models: 2, Model: "here/m"}, {Provider: "empty", Name: "Empty"}}
	}
	if e := run(t, a, "/connect cli"); see(e).Err == nil || see(e).Err.Error() != "CLI was not found on this machine" {
		t.Errorf("not found: %+v", e)
	}
	e := run(t, a, "/connect here")
	if see(e).Err != nil || a.Session.Model().Name != "here/m" || !ReadLocalAnswers(a.Library)["here"] || *given != nil {
		t.Errorf("found: %+v, the model is %s, stored %v, given %v", e, a.Session.Model().Name, ReadLocalAnswers(a.Library), *given)
	}
}

// Of a cloud, the parts of its address are asked for one after the other, seen while they are
// typed, then its key; with another program's login there is none.
func TestConnectCloud(t *testing.T) {
	for _, login := range []bool{false, true} {
		a, given := connectable(t)
		far := Connection{Provider: "far", Name: "Far", Default: "far/first", Login: login, Variables: []Variable{{Name: "region", Title: "Region", Help: "Where it is", Value: "r-1"}, {Name: "project", Title: "Project"}}}
		a.Connection = func(string) (Connection, error) { return far, nil }
		a.Variable = func(provider, name, text string) (string, error) {
			if text == "evil/" {
				return "", errors.New(provider + " has no such " + name)
			}
			return strings.TrimSpace(text), nil
		}
		e := run(t, a, "/connect far")
		if see(e).Secret == nil || !see(e).Secret.Visible || see(e).Secret.Title != "Far: Region" || see(e).Secret.Text != "Where it is" || see(e).Secret.Value != "r-1" {
			t.Fatalf("%+v", see(e).Secret)
		}
		if _, err := take(t, e, "evil/"); err == nil || err.Error() != "far has no such region" {
			t.Errorf("a hostile region: %v", err)
		}
		first := e
		e, _ = take(t, e, " r-2 ")
		if see(e).Secret == nil || see(e).Secret.Title != "Far: Project" || see(e).Secret.Value != "" {
			t.Fatalf("%+v", see(e).Secret)
		}
		e, _ = take(t, e, "p")
		want := Key{Provider: "far", Text: canary, Variables: map[string]string{"region": "r-2", "project": "p"}}
		if login {
			want.Text = ""
			if see(e).Prepare == nil || see(e).Secret != nil {
				t.Fatalf("%+v", e)
			}
			e = see(e).Prepare(t.Context())()
		} else {
			if see(e).Secret == nil || see(e).Secret.Visible {
				t.Fatalf("%+v", see(e).Secret)
			}
			e, _ = take(t, e, canary)
		}
		if len(*given) != 1 || !reflect.DeepEqual((*given)[0], want) || len(see(e).Notes) != 1 {
			t.Errorf("given %+v, want %+v; then %+v", *given, want, e)
		}
		if again, _ := take(t, first, "r-3"); see(again).Secret == nil || (*given)[0].Variables["region"] != "r-2" {
			t.Errorf("a second time changes the first: %+v", (*given)[0])
		}
	}
}

// While a prompt with a model of its own is answered, a key for its provider chooses neither that
// model nor another, but holds for both; a model that was asked for is chosen.
func TestConnectDuringPrompt(t *testing.T) {
	far := llm.Endpoint{Name: "far/own", Context: 7}
	tests := []struct {
		line   string
		locked bool // the model lacks its key when it is opened first
		want   llm.Endpoint
		to     session.Event // that is shown
	}{
		{line: "/connect far", want: far},
		{line: "/connect env", want: llm.Endpoint{Name: "far/own"}},
		{line: "/model far/turn", want: llm.Endpoint{Name: "far/turn", Context: 7}, to: session.ModelSwitched{From: "far/own", To: "far/turn"}},
		{line: "/model far/turn", locked: true, want: llm.Endpoint{Name: "far/turn", Context: 7}, to: session.ModelSwitched{From: "far/own", To: "far/turn"}},
		{line: "/model far/own", want: far, to: session.ModelSwitched{From: "far/turn", To: "far/own"}},
	}
	for _, tt := range tests {
		a, _ := connectable(t)
		if _, err := take(t, run(t, a, "/connect far"), canary); err != nil {
			t.Fatal(err)
		}
		first := a.Open
		open := func(name string) (llm.Endpoint, error) {
			m, err := first(name)
			m.Model = llmtest.New(llmtest.Say("answer"))
			return m, err
		}
		a.Open = open
		a.UseModel("far/own")
		from := session.Template{Parts: func([]string) []llm.Part { return []llm.Part{{Kind: llm.Text, Text: "hi"}} }}
		from.Settings.Model, _ = open("far/turn")
		locked := tt.locked
		a.Open = func(name string) (llm.Endpoint, error) {
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
			e := connect(a, strings.TrimPrefix(tt.line, "/connect "))
			if name, ok := strings.CutPrefix(tt.line, "/model "); ok {
				e = a.model(name)
			}
			if see(e).Secret != nil {
				var err error
				if e, err = take(t, e, "another"); err != nil {
					t.Fatal(err)
				}
			}
			if see(e).Err != nil || see(e).Failed != nil || !reflect.DeepEqual(see(e).Event, tt.to) {
				t.Errorf("%s: %+v, want the event %+v", tt.line, e, tt.to)
			}
		}
		if m := a.Session.Model(); m.Name != tt.want.Name || m.Context != tt.want.Context {
			t.Errorf("%s: %s with a context of %d is left, want %s with %d", tt.line, m.Name, m.Context, tt.want.Name, tt.want.Context)
		}
	}
}
