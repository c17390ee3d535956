package images

import (
	"bytes"
	"context"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/providers/llm"
	"parley/providers/llmtest"
	"parley/session"
	"parley/session/archive"
	"parley/session/transfer"
	"parley/ui/app"
	"parley/ui/app/flows/conversation"
	"parley/ui/uitest/apptest"
)

// newPainter returns an application with an image model that answers with turns, and the list of opened models.
func newPainter(t *testing.T, turns ...llmtest.Turn) (a *app.App, painter *llmtest.Fake, opened *[]string) {
	a, painter, opened = apptest.New(t, func(a *app.App) { conversation.Register(a); Register(a) }), llmtest.New(turns...), new([]string)
	a.Models.Images.List = func() []app.Item {
		return []app.Item{{Title: "i/draw", Value: "i/draw"}, {Title: "i/paint", Value: "i/paint"}}
	}
	a.Models.Images.Open = func(_ context.Context, name string) (llm.Endpoint, error) {
		*opened = append(*opened, name)
		if name == "far/away" {
			return llm.Endpoint{}, &llm.Error{Fault: llm.Authentication, Message: "no key"}
		}
		return llm.Endpoint{Model: painter, Name: "i/draw", Origin: llm.OriginImages}, nil
	}
	return a, painter, opened
}

func fox() llmtest.Turn {
	return llmtest.Script(llm.Delta{Block: "i", Part: llm.Part{Kind: llm.Media, Name: "fox.png", MIME: "image/png", Data: []byte("f")}}, llm.Finish{Reason: llm.Stop})
}

func TestImage(t *testing.T) {
	a, painter, opened := newPainter(t, fox(), fox(), fox(), fox())
	file := filepath.Join(t.TempDir(), "notes.txt")
	if err := os.WriteFile(file, []byte("hi"), 0o600); err != nil {
		t.Fatal(err)
	}
	if e := apptest.Run(t, a, "/image "+file); len(a.Attached) != 1 || apptest.See(e).Err != nil {
		t.Errorf("a file is attached: %+v", e)
	}
	a.Attached = []llm.Part{{Kind: llm.Media, Name: "me.jpg", MIME: "image/jpeg", Data: []byte("j")}}
	apptest.Play(t, apptest.Run(t, a, "/image as a drawing"))
	if a.Attached != nil {
		t.Error("what was attached is still there")
	}
	apptest.Play(t, apptest.Run(t, a, "/draw --new one of a fox"))
	if e := apptest.Run(t, a, "/image"); apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 2 {
		t.Errorf("%+v", e)
	} else if chosen := apptest.See(e).List.Choose(apptest.See(e).List.Items[1].Value); !strings.Contains(apptest.See(chosen).Toast, "i/paint") {
		t.Errorf("%+v", chosen)
	} else {
		apptest.See(chosen).Async(t.Context())
	}
	apptest.Play(t, apptest.Run(t, a, "/image darker"))
	if got, want := strings.Join(*opened, " "), "  i/paint"; got != want {
		t.Errorf("opened %q, want %q", got, want)
	}
	var parts []int
	for _, r := range painter.Requests() {
		parts = append(parts, len(r.Messages[0].Parts))
	}
	if len(parts) != 3 || parts[0] != 2 || parts[1] != 1 || parts[2] != 2 {
		t.Errorf("%v parts", parts)
	}
	if err := a.Session.Branch.Regenerate(a.Session.Head()); err != nil {
		t.Fatal(err)
	}
	if e := a.AnswerLast(); apptest.See(e).Prepare == nil {
		t.Errorf("another answer is not drawn: %+v", e)
	} else {
		apptest.Play(t, apptest.See(e).Prepare(t.Context())())
	}
	if got := (*opened)[3]; got != "i/draw" {
		t.Errorf("drawn again by %q", got)
	}
}

// If a model cannot be opened, the prompt stays in the draft.
func TestImageOutOfReach(t *testing.T) {
	a, _, _ := newPainter(t)
	if err := a.Library.Set(imageModelKey, "far/away"); err != nil {
		t.Fatal(err)
	}
	if e := apptest.Run(t, a, "/image a fox"); apptest.See(e).Failed == nil || apptest.See(e).Text != "/image a fox" || apptest.See(e).Turn != nil {
		t.Errorf("%+v", e)
	}
	a.Models.Images = app.ImageModels{}
	if e := apptest.Run(t, a, "/image a fox"); apptest.Toast(e) == "" || apptest.See(e).Turn != nil {
		t.Errorf("%+v", e)
	}
}

// A typed line is kept if its image cannot be drawn yet.
func TestImageWaits(t *testing.T) {
	a, painter, _ := newPainter(t, fox())
	a.FrontEnd.Busy = func() bool { return true }
	if e := apptest.Run(t, a, "/image --new a fox"); apptest.See(e).Err == nil || apptest.See(e).Text != "/image --new a fox" || apptest.See(e).Turn != nil || apptest.See(e).Prepare != nil {
		t.Errorf("%+v", e)
	}
	a.FrontEnd.Busy = func() bool { return false }
	if e := apptest.Run(t, a, "/image --new"); apptest.Toast(e) == "" || apptest.See(e).Turn != nil {
		t.Errorf("%+v", e)
	}
	i := a.Session
	e := flow{a}.draw("", "/image a fox", false, "a fox", "")
	other, err := a.Opening.New()
	if err != nil {
		t.Fatal(err)
	}
	shown := apptest.See(e).Prepare(t.Context())
	a.Session = other
	if e := shown(); apptest.See(e).Err == nil || apptest.See(e).Turn != nil || len(painter.Requests()) != 0 || len(i.History()) != 0 {
		t.Errorf("%+v", e)
	}
}

// An export says of each missing image that the provider refused it or that it was stopped.
func TestExportOfImagesNotDrawn(t *testing.T) {
	waiting := make(chan struct{})
	refuse := llmtest.Script(llm.Notice{Text: "The provider refused: blood", Urgent: true}, llm.Finish{Reason: llm.Refused, Raw: "moderation_blocked"})
	hang := func(ctx context.Context, _ llm.Request, _ *llm.Out) error {
		close(waiting)
		<-ctx.Done()
		return ctx.Err()
	}
	a, _, _ := newPainter(t, refuse, hang, fox())
	apptest.Play(t, apptest.Run(t, a, "/image a battle"))
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		<-waiting
		stop()
	}()
	for range apptest.See(apptest.Run(t, a, "/image an owl")).Turn(ctx) {
	}
	apptest.Play(t, apptest.Run(t, a, "/image a fox"))
	for _, as := range []string{"md", "html", "jsonl"} {
		form, err := archive.New().Formats.Find(as)
		if err != nil {
			t.Fatal(err)
		}
		info, _, err := a.Library.Read(a.Session.ID())
		if err != nil {
			t.Fatal(err)
		}
		info.Head = a.Session.Head()
		shown, _ := a.Library.Annotations(info.ID)
		path, err := form.Save(transfer.Conversation{Session: info, Nodes: a.Session.Nodes(), Annotations: shown}, "", t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		text := string(data)
		battle, owl, fox := strings.Index(text, "a battle"), strings.Index(text, "an owl"), strings.LastIndex(text, "a fox")
		refused, stopped := strings.Index(text, "The provider refused: blood"), strings.LastIndex(text, "stopped")
		if as == "jsonl" { // annotations follow the messages
			stopped = strings.Index(text, "context canceled")
		}
		if err != nil || refused < battle || stopped < owl || as != "jsonl" && (refused > owl || stopped > fox) {
			t.Errorf("%s, %v:\n%s", as, err, text)
		}
	}
}

// A file that a prompt mentions is the image to change. It is sent with the prompt once, even if the line is recalled
// with its attachments. A prompt may begin with "new".
func TestImageMentions(t *testing.T) {
	a, painter, _ := newPainter(t, fox(), fox(), fox(), fox(), fox())
	dir := t.TempDir()
	t.Chdir(dir)
	var photo bytes.Buffer
	if err := png.Encode(&photo, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("me.png", photo.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	fetched := 0
	a.Machine.FetchFile = func(context.Context, string) (string, []byte, error) {
		fetched++
		return "web.png", photo.Bytes(), nil
	}
	apptest.Play(t, apptest.Run(t, a, "/image @me.png as a drawing"))
	_, a.Attached = app.SplitPrompt(a.Session.History()[0])
	apptest.Play(t, apptest.Run(t, a, "/image --new @me.png as a drawing"))
	apptest.Play(t, apptest.Run(t, a, "/image new york at night"))
	for i, wanted := range []bool{true, false} {
		e := apptest.Run(t, a, "/image --new @https://a.example/x.png bluer")
		if apptest.See(e).Confirm == nil || !strings.Contains(apptest.See(e).Confirm.Text, "https://a.example/x.png") || fetched > 0 {
			t.Fatalf("%d fetched, %+v", fetched, e)
		}
		apptest.Play(t, apptest.See(apptest.See(e).Confirm.Answer(wanted)).Prepare(t.Context())())
		if want := 1 - i; fetched != want {
			t.Errorf("agreed %v: %d fetched", wanted, fetched)
		}
		fetched = 0
	}
	for i, want := range []string{"<me.png> @me.png as a drawing", "<me.png> @me.png as a drawing", "<fox.png> new york at night", "<web.png> @https://a.example/x.png bluer", "@https://a.example/x.png bluer"} {
		var got []string
		for _, p := range painter.Requests()[i].Messages[0].Parts {
			if p.Kind == llm.Media {
				got = append(got, "<"+p.Name+">")
			} else {
				got = append(got, p.Text)
			}
		}
		if got := strings.Join(got, " "); got != want {
			t.Errorf("request %d: %s, want %s", i+1, got, want)
		}
	}
	past, err := a.Library.Prompts(10)
	if err != nil || len(past) != 4 || past[3].Text != "/image --new @https://a.example/x.png bluer" {
		t.Errorf("%v, %+v", err, past)
	}
	if e := apptest.Run(t, a, "/image @me.png"); apptest.See(e).Turn != nil || len(a.Attached) != 1 {
		t.Errorf("a file alone is attached: %+v", e)
	}
}

// A conversation that is opened again continues with its last image; one forked before that image does not.
func TestImageAfterResume(t *testing.T) {
	a, painter, _ := newPainter(t, fox(), fox(), fox(), fox())
	apptest.Play(t, apptest.Run(t, a, "/image a fox"))
	id := a.Session.ID()
	model := llm.Endpoint{Name: "fake/m", Origin: "fake"}
	a.Session.Close()
	log, err := a.Library.Resume(id)
	if err != nil {
		t.Fatal(err)
	}
	a.Session = session.New(session.Options{Model: model, Log: log})
	defer func() { a.Session.Close() }()
	apptest.Play(t, apptest.Run(t, a, "/image darker"))
	apptest.Play(t, apptest.Run(t, a, "/image --new an owl"))
	for i, want := range []int{1, 2, 1} {
		if got := len(painter.Requests()[i].Messages[0].Parts); got != want {
			t.Errorf("request %d has %d parts, want %d", i+1, got, want)
		}
	}
	if p := painter.Requests()[1].Messages[0].Parts[0]; p.Kind != llm.Media || string(p.Data) != "f" {
		t.Errorf("changed %+v", p)
	}
}

// Spaces around a prompt are removed; those inside are kept.
func TestImagePromptWithSpaces(t *testing.T) {
	a, painter, _ := newPainter(t, fox(), fox())
	apptest.Play(t, apptest.Run(t, a, "/image   a  fox "))
	apptest.Play(t, apptest.Run(t, a, "/image  --new  an owl"))
	for i, want := range []string{"a  fox", "an owl"} {
		parts := painter.Requests()[i].Messages[0].Parts
		if got := parts[len(parts)-1].Text; got != want || len(parts) != 1 {
			t.Errorf("drew %q with %d parts, want %q", got, len(parts), want)
		}
	}
}

// The current image model is in the list, even if no provider lists it.
func TestImageModelInUse(t *testing.T) {
	a, _, _ := newPainter(t)
	if err := a.Library.Set(imageModelKey, "own/sd"); err != nil {
		t.Fatal(err)
	}
	e := apptest.Run(t, a, "/image")
	if apptest.See(e).List == nil || len(apptest.See(e).List.Items) != 3 || apptest.See(e).List.Items[0].Value != "own/sd" || !apptest.See(e).List.Items[0].Current {
		t.Errorf("%+v", apptest.See(e).List)
	}
}
