package chat

import (
	"bytes"
	"image"
	"image/png"
	"reflect"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/ansi/kitty"

	"parley/providers/llm"
	"parley/ui/app/blocks"
	"parley/ui/tui/common"
	"parley/ui/tui/renderer"
	"parley/ui/tui/termimage"
	"parley/ui/tui/transcript"
)

// in returns a chat in a terminal with this environment and setting.
func in(env map[string]string, setting string) *Chat {
	clock := func() time.Time { return time.Unix(0, 0) }
	s := common.New(common.Config{Images: setting}, func(name string) string { return env[name] }, clock)
	s.Tick = func(time.Duration, tea.Msg) tea.Cmd { return nil }
	c := New(s, nil)
	c.Transcript.SetSize(80, 24)
	return c
}

// messages runs commands, and returns their messages.
func messages(cmd tea.Cmd) (all []tea.Msg) {
	if cmd == nil {
		return nil
	}
	msg := cmd()
	if batch, ok := msg.(tea.BatchMsg); ok {
		for _, cmd := range batch {
			all = append(all, messages(cmd)...)
		}
		return all
	}
	return append(all, msg)
}

func somePNG(t *testing.T) llm.Part {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewNRGBA(image.Rect(0, 0, 64, 64))); err != nil {
		t.Fatal(err)
	}
	return llm.Part{Kind: llm.Media, MIME: "image/png", Name: "a.png", Data: b.Bytes()}
}

// A late image is shown in its reserved block, but not after the conversation was left.
func TestImageThatComesLate(t *testing.T) {
	c := in(nil, "")
	ready := imageReadyMsg{shownImage: shownImage{block: "kept", id: 1 << 16}, cells: []string{"▀▀"}, cols: 2}
	c.images.shown = []shownImage{ready.shownImage}
	if _, ok := c.Update(ready); !ok || transcript.HasImage(c.Transcript, "kept") {
		t.Errorf("an image came into a conversation that has no place for it")
	}
	c.Transcript.Blocks.SetImage("kept", nil, 0)
	ready.upload = "upload"
	if cmd, ok := c.Update(ready); !ok || cmd == nil {
		t.Errorf("the image was not sent to the terminal")
	}
	if cmd, ok := c.Update(imageReadyMsg{shownImage: ready.shownImage}); !ok || cmd != nil {
		t.Errorf("an image of no size was sent to the terminal")
	}
	c.images.shown[0].id++
	cmd, _ := c.Update(ready)
	if msgs := messages(cmd); len(msgs) != 1 || !reflect.DeepEqual(msgs[0], renderer.ForgetPicturesMsg{ready.id}) {
		t.Errorf("an image that was prepared again since: %v", msgs)
	}
}

// Images of a deleted conversation are not decoded.
func TestWaitingImagesAreDeleted(t *testing.T) {
	c := in(map[string]string{"TERM": "xterm-ghostty"}, "auto")
	cmd := c.show("one", somePNG(t))
	c.images.gate <- struct{}{}
	c.DeleteImages()
	if msgs := messages(cmd); msgs[0] != nil {
		t.Errorf("%v", msgs)
	}
}

// Images disappear when they are turned off, and appear again.
func TestImagesAreTurnedOff(t *testing.T) {
	c := in(map[string]string{"TERM": "xterm-ghostty"}, "auto")
	c.show("one", somePNG(t))
	for _, setting := range []string{"kitty", "off", "kitty"} {
		for _, msg := range messages(c.setImages(setting)) {
			c.Update(msg)
		}
		if shown := strings.ContainsRune(c.Transcript.View(), kitty.Placeholder); shown != (setting == "kitty") {
			t.Errorf("%s: shown %t", setting, shown)
		}
	}
}

// The terminal is asked when the first image is shown. Images wait for its answer.
func TestTerminalIsAskedForImages(t *testing.T) {
	for _, test := range []struct {
		name   string
		cell   image.Point
		answer tea.Msg
		want   termimage.Protocol
	}{
		{"sixel", image.Pt(10, 20), uv.PrimaryDeviceAttributesEvent{62, 4, 22}, termimage.Sixel},
		{"no sixel", image.Pt(10, 20), uv.PrimaryDeviceAttributesEvent{62, 22}, termimage.Blocks},
		{"sixel in cells of unknown size", image.Point{}, uv.PrimaryDeviceAttributesEvent{62, 4}, termimage.Blocks},
		{"cells of a wrong size", image.Pt(1<<16, 1<<16), uv.PrimaryDeviceAttributesEvent{62, 4}, termimage.Blocks},
		{"no answer in time", image.Pt(10, 20), protocolMsg{termimage.Blocks}, termimage.Blocks},
	} {
		c := in(map[string]string{"TERM": "xterm-256color"}, "auto")
		if cmd, _ := c.Update(uv.PrimaryDeviceAttributesEvent{62, 4}); cmd != nil {
			t.Errorf("%s: an answer that was not asked for", test.name)
		}
		c.images.cellSize = func() image.Point { return test.cell }
		query := messages(c.show("one", somePNG(t)))
		if len(query) != 1 || query[0].(tea.RawMsg).Msg != "\x1b[>q\x1b[c" {
			t.Fatalf("%s: query %q", test.name, query)
		}
		if cmd := c.show("two", somePNG(t)); cmd != nil {
			t.Errorf("%s: the second image does not wait", test.name)
		}
		ready := 0
		cmd, _ := c.Update(test.answer)
		for _, msg := range messages(cmd) {
			if msg, ok := msg.(imageReadyMsg); ok && (msg.picture.Append != nil) == (test.want == termimage.Sixel) {
				ready++
			}
		}
		if ready != 2 || c.images.protocol != test.want {
			t.Errorf("%s: %d images are drawn, as %s; want %s", test.name, ready, c.images.protocol, test.want)
		}
	}
}

// A kitty without placeholders gets half blocks.
func TestOldKitty(t *testing.T) {
	for version, want := range map[string]termimage.Protocol{"kitty(0.26.5)": termimage.Blocks, "kitty(0.41.1)": termimage.Kitty} {
		c := in(map[string]string{"TERM": "xterm-kitty"}, "auto")
		c.show("one", somePNG(t))
		c.Update(tea.TerminalVersionMsg{Name: version})
		if c.Update(uv.PrimaryDeviceAttributesEvent{62}); c.images.protocol != want {
			t.Errorf("%s: %s, want %s", version, c.images.protocol, want)
		}
	}
}

// Images that a tool returned are shown once, though its call is drawn again.
func TestImagesOfTools(t *testing.T) {
	c := in(map[string]string{"TERM": "xterm-ghostty"}, "auto")
	tool := &blocks.Tool{Name: "screenshot", Status: blocks.CallDone, Media: []llm.Part{somePNG(t), somePNG(t)}}
	for range 2 {
		c.drawTool(blocks.Change{ID: "call", Tool: tool})
	}
	if len(c.images.shown) != 2 {
		t.Errorf("%d images, want 2", len(c.images.shown))
	}
}

// Every image that was drawn is deleted, and drawn anew when the setting changes.
func TestImagesAreDeleted(t *testing.T) {
	c := in(map[string]string{"TERM": "xterm-ghostty"}, "auto")
	if msgs := messages(c.show("one", somePNG(t))); len(msgs) != 1 || msgs[0].(imageReadyMsg).upload == "" {
		t.Fatalf("%v", msgs)
	}
	id := c.images.shown[0].id
	if msgs := messages(c.setImages("iterm")); len(msgs) != 3 || msgs[0].(tea.RawMsg).Msg != termimage.Forget(id) || msgs[2].(imageReadyMsg).picture.Append == nil {
		t.Errorf("%v", msgs)
	}
	if msgs := messages(c.DeleteImages()); len(msgs) != 1 || len(c.images.shown) != 0 {
		t.Errorf("%v", msgs)
	}
}
