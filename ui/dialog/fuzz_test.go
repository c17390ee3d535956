package dialog_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"parley/tools"
	"parley/ui/dialog"
	"parley/ui/theme"
)

// What is shown is what runs: whatever a command holds, before it can be allowed
// every graphic character of it was on the screen, in its order, and every
// other one as a token; and nothing of it reached the terminal as a control.
func FuzzApprovalShowsAll(f *testing.F) {
	f.Add("echo good\r\x1b[2Krm -rf ~", uint8(60), uint8(12))
	f.Add("ls"+strings.Repeat(" ", 5000)+"; rm -rf ~", uint8(60), uint8(12))
	f.Add(strings.Repeat("echo ok\n", 300)+"rm", uint8(20), uint8(3))
	f.Add("a\bb\x7f\u009b31m\u202egpj\u2066\u200b\u00a0\u3000сat\U000E0041\u2028", uint8(17), uint8(5))
	f.Add("日本語\t👨‍👩‍👧 e"+strings.Repeat("\u0301", 40), uint8(16), uint8(2))
	f.Add("x", uint8(0), uint8(0))
	f.Fuzz(func(t *testing.T, command string, width, height uint8) {
		input, err := json.Marshal(map[string]string{"command": command})
		if err != nil || command == "" || !utf8.ValidString(command) || len(command) > 1000 && height < 3 { // that many single rows take too long
			t.Skip()
		}
		d, clock := asked(&tools.Action{Tool: "shell", Access: tools.Runs, Command: command, Input: input}, theme.Plain())
		w, h := int(width)%120, int(height)%40
		var seen strings.Builder
		for range len(command)*10 + 200 { // a token can take a dozen rows
			page := rows(t, d, w, h)
			for _, r := range strings.Join(page, "") {
				if unicode.IsControl(r) {
					t.Fatalf("a control character is on the screen: %q", page)
				}
			}
			headless := w < len("Allow shell to run a command?")
			for i, row := range page {
				if i == 0 && h > 2 && !headless || i == len(page)-1 && h > 1 { // head and foot
					continue
				}
				seen.WriteString(ansi.TruncateLeft(row, 2, ""))
			}
			d.Painted(clock.now())
			clock.pass(400)
			page = rows(t, d, w, h)
			if h == 0 || h > 1 && !strings.Contains(page[len(page)-1], "pgdn") {
				break
			}
			press(t, d, "pgdown")
		}
		allowed := press(t, d, "y") == allow(tools.Answer{})
		if readable := w >= 16 && h > 0; allowed != readable {
			t.Fatalf("allowed: %v in a window of %d by %d", allowed, w, h)
		}
		if allowed {
			inOrder(t, seen.String(), command)
		}
	})
}

// inOrder expects the characters of command on the screen, apart from spaces.
func inOrder(t *testing.T, screen, command string) {
	t.Helper()
	rest := squeeze(screen)
	for _, r := range command {
		if unicode.IsSpace(r) && r < 0x80 || r < ' ' || r == 0x7f {
			continue
		}
		at := strings.IndexRune(rest, r)
		if token := fmt.Sprintf("<U+%04X>", r); at < 0 || strings.Contains(rest, token) && strings.Index(rest, token) < at {
			at = strings.Index(rest, token)
		}
		if at < 0 {
			t.Fatalf("%q is missing on the screen: %q", r, screen)
		}
		rest = rest[at:]
		rest = rest[1:]
	}
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if r == ' ' {
			return -1
		}
		return r
	}, s)
}

// No size, key or content makes a dialog panic or leave its place.
func FuzzDialogs(f *testing.F) {
	f.Add("title", []byte("\x00\x10\x20abc"), uint8(80), uint8(24))
	f.Add("日本\x1b[31m\n👨‍👩‍👧", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, uint8(7), uint8(2))
	names := []string{"up", "down", "pgup", "pgdown", "home", "end", "backspace", "ctrl+w", "ctrl+u", "ctrl+o", "n", "e", "a", "日", "space", "x"}
	f.Fuzz(func(t *testing.T, text string, keys []byte, width, height uint8) {
		th := theme.Dark()
		items := []dialog.Item{{Title: text, Detail: text, Key: text}, {Title: "x" + text}, {Title: "日本", Current: true, Dim: true}}
		action := &tools.Action{Tool: text, Path: text, Diff: "@@ -1 +1 @@\n-" + text + "\n+" + text, Input: json.RawMessage(text)}
		approval, clock := asked(action, th)
		for _, d := range []dialog.Dialog{
			dialog.Pick("k", text, items, th), approval,
			dialog.Help([]dialog.Section{{Title: text, Rows: [][2]string{{text, text}, {"x", text}}}, {Title: text}}, th),
		} {
			for i, k := range keys[:min(len(keys), 64)] {
				rows(t, d, (int(width)+i)%130, (int(height)+i)%50)
				if d == approval {
					approval.Painted(clock.now())
					clock.pass(100)
				}
				press(t, d, names[int(k)%len(names)])
			}
			rows(t, d, int(width), int(height))
		}
	})
}

func BenchmarkPickFilter(b *testing.B) {
	var items []dialog.Item
	for i := range 2000 {
		items = append(items, dialog.Item{Title: fmt.Sprintf("provider-%d/some-model-%d-instruct", i%40, i), Detail: "128k context · tools · vision"})
	}
	p := dialog.Pick("model", "Model", items, theme.Dark())
	p.SetSize(120, 30)
	b.ReportAllocs()
	for b.Loop() { // three keys with a frame each, and back
		for _, key := range []string{"m", "o", "7", "ctrl+u"} {
			press(b, p, key)
			p.View()
		}
	}
}

func BenchmarkViewIdle(b *testing.B) {
	d, _ := asked(shell("ls"), theme.Dark())
	p := dialog.Pick("model", "Model", models(), theme.Dark())
	b.ReportAllocs()
	for b.Loop() {
		d.View()
		p.View()
	}
}
