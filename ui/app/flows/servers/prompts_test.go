package servers

import (
	"os"
	"reflect"
	"testing"

	"parley/ui/app"
	"parley/ui/uitest/apptest"

	"parley/providers/llm"
	"parley/tools/mcp"
)

// A server's prompt is sent once it has all required arguments: those missing in the line are asked for.
func TestServerPromptArguments(t *testing.T) {
	city := mcp.Prompt{Server: "s", Name: "weather", Arguments: []mcp.PromptArgument{{Name: "city", Description: "The city", Required: true}, {Name: "state"}, {Name: "unit", Required: true}}}
	type args = map[string]string
	for _, tt := range []struct {
		line  string
		want  args
		asked []string
	}{
		{"", args{}, []string{"city", "unit"}},
		{"Brno CZ", args{"city": "Brno", "state": "CZ"}, []string{"unit"}},
		{"Brno CZ degrees C", args{"city": "Brno", "state": "CZ", "unit": "degrees C"}, nil},
		{"unit=C Brno", args{"city": "Brno", "unit": "C"}, nil},
		{"a=b unit=C", args{"city": "a=b", "unit": "C"}, nil},
		{"city=Brno state=CZ unit=degrees C", args{"city": "Brno", "state": "CZ", "unit": "degrees C"}, nil},
		{"unit= Brno", args{"city": "Brno", "unit": ""}, []string{"unit"}},
	} {
		got := promptArguments(city, tt.line)
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%q: %v", tt.line, got)
		}
		e := fillServerPrompt(app.Options{}, nil, city, got)
		for _, name := range tt.asked {
			if apptest.See(e).Secret == nil || apptest.See(e).Secret.Title != "/s:weather: "+name || !apptest.See(e).Secret.Visible || name == "city" && apptest.See(e).Secret.Text != "The city" {
				t.Fatalf("%q: %s is not asked: %+v", tt.line, name, apptest.See(e).Secret)
			}
			then, err := apptest.See(e).Secret.Submit(t.Context(), "x")
			if err != nil {
				t.Fatal(err)
			}
			e = then()
		}
		if apptest.See(e).Secret != nil || apptest.See(e).Async == nil {
			t.Errorf("%q: asked for more: %+v", tt.line, apptest.See(e).Secret)
		}
	}
}

// TestPromptArgumentProposals: a value proposed by the server can be chosen, or another one typed.
func TestPromptArgumentProposals(t *testing.T) {
	var given []string
	give := func(value string) app.Effect {
		given = append(given, value)
		return nil
	}
	list, _ := askPromptArgument(mcp.Prompt{Server: "s", Name: "weather"}, mcp.PromptArgument{Name: "city", Description: "The city"}, []string{"Brno", "Graz"}, give).(*app.List)
	if list == nil || len(list.Items) != 3 || list.Title != "/s:weather: city · The city" {
		t.Fatalf("got %+v", list)
	}
	list.Choose(list.Items[1].Value)
	line, _ := list.Choose(list.Items[2].Value).(*app.Secret)
	if line == nil || !line.Visible {
		t.Fatalf("nothing can be typed: %+v", line)
	}
	then, err := line.Submit(t.Context(), "Linz")
	if err != nil {
		t.Fatal(err)
	}
	then()
	if want := []string{"Graz", "Linz"}; !reflect.DeepEqual(given, want) {
		t.Errorf("got %q, want %q", given, want)
	}
}

// A prompt of a server attaches no files, in any form of mention.
func TestServerPromptMentionsNothing(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"a.txt", "b c.txt"} {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	o := app.Options{}.WithDefaults()
	for text, want := range map[string]string{
		"Read @a.txt, (@./a.txt:3) and @'b c.txt'": "Read a.txt, (./a.txt:3) and 'b c.txt'",
		"Ask ana@example.com or @nobody":           "Ask ana@example.com or @nobody",
		"@@a.txt @\"a.txt\"":                       "@@a.txt \"a.txt\"",
	} {
		e := draftOfServer(o, []llm.Message{llm.UserText(text)})
		if apptest.See(e).Text != want || o.Mentions().In(apptest.See(e).Text) || (apptest.See(e).Toast != "") != (text != want) {
			t.Errorf("%q: %q, %q", text, apptest.See(e).Text, apptest.See(e).Toast)
		}
	}
}

// TestFormListSaysWhatIsAsked: a list of choices shows the description of its field, as a typed field does.
func TestFormListSaysWhatIsAsked(t *testing.T) {
	q := &mcp.Question{Server: "s", Fields: []mcp.Field{{Name: "a", Title: "Agree", Help: "Agree to the terms", Choices: []mcp.Choice{{Title: "yes", Value: "true"}}}}}
	if e := askFormField(q, 0, nil, nil); apptest.See(e).List == nil || apptest.See(e).List.Title != "s: Agree · Agree to the terms" {
		t.Errorf("%+v", apptest.See(e).List)
	}
}
