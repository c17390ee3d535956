package dialog_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/tools/act"
	"parley/ui/theme"
	"parley/ui/tui/dialog"
)

// The user sees the complete command: before it can be allowed, every graphic
// character of it was on the screen, in order, and every other one as a token.
// No part of it reached the terminal as a control character.
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
		d, clock := asked(&act.Action{Tool: "shell", Access: act.AccessRun, Command: command, Input: input}, theme.Plain())
		w, h := int(width)%120, int(height)%40
		var seen strings.Builder
		for range len(command)*10 + 200 { // a token can take a dozen rows
			page := rows(t, d, w, h)
			for _, r := range strings.Join(page, "") {
				if unicode.IsControl(r) {
					t.Fatalf("a control character is on the screen: %q", page)
				}
			}
			band := slices.IndexFunc(page, func(row string) bool { return strings.HasPrefix(row, "▌") })
			for i, row := range page {
				if band >= 0 && i >= band || i == len(page)-1 && h > 1 { // title, choices and keys
					continue
				}
				seen.WriteString(ansi.TruncateLeft(row, 2, ""))
			}
			d.Drawn(clock.now())
			clock.pass(400)
			page = rows(t, d, w, h)
			if h == 0 || h > 1 && !strings.Contains(page[len(page)-1], "pgdn") {
				break
			}
			press(t, d, "pgdown")
		}
		allowed := press(t, d, "y") == allow(act.Approval{})
		if readable := w >= 16 && h > 0; allowed != readable {
			t.Fatalf("allowed: %v in a window of %d by %d", allowed, w, h)
		}
		if allowed {
			inOrder(t, seen.String(), command)
		}
	})
}

// inOrder expects the characters of command on the screen, except spaces.
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

// No size, key or content makes a dialog panic or leave its area.
func FuzzDialogs(f *testing.F) {
	f.Add("title", []byte("\x00\x10\x20abc"), uint8(80), uint8(24))
	f.Add("日本\x1b[31m\n👨‍👩‍👧", []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, uint8(7), uint8(2))
	f.Add("0", []byte("00000000000b0"), uint8('v'), uint8(22)) // an editor of zero cells
	names := []string{"up", "down", "pgup", "pgdown", "home", "end", "backspace", "ctrl+w", "ctrl+u", "ctrl+o", "n", "e", "a", "日", "space", "x",
		"tab", "left", "ctrl+e", "enter", "ctrl+t", "delete", "ctrl+_", "p", "w", "right", "-", "+", "y"}
	f.Fuzz(func(t *testing.T, text string, keys []byte, width, height uint8) {
		th := theme.Dark()
		items := []dialog.Item{{Title: text, Detail: text, Key: text}, {Title: "x" + text}, {Title: "日本", Current: true, Disabled: true}}
		action := &act.Action{Tool: text, Path: text, Diff: "@@ -1 +1 @@\n-" + text + "\n+" + text, Input: json.RawMessage(text)}
		approval, clock := asked(action, th)
		command, moment := asked(&act.Action{Tool: "shell", Command: text, Access: act.AccessRun, Sandboxed: len(keys)%2 == 0, Input: json.RawMessage(text)}, th)
		question, instant := confirm(text)
		of, hour := modelQuestion(len(keys)%2 == 0, text)
		for _, d := range []dialog.Dialog{
			dialog.Pick(text, items, th), approval, command,
			sessionHit(text, th),
			dialog.Tree([]dialog.Branch{{Text: text, Label: text, Age: text}, {Depth: len(text), Text: text, Current: true}, {Depth: 1, Model: text, Length: len(text)}}, openBranch, forkBranch, th),
			dialog.Confirm(text, text, text, th), question, of, dialog.AskSecret(text, text, th),
			dialog.Help([]dialog.Section{{Title: text, Rows: [][2]string{{text, text}, {"x", text}}}, {Title: text}}, th),
		} {
			for i, k := range keys[:min(len(keys), 64)] {
				rows(t, d, (int(width)+i)%130, (int(height)+i)%50)
				switch d {
				case approval:
					approval.Drawn(clock.now())
					clock.pass(100)
				case command:
					command.Drawn(moment.now())
					moment.pass(500)
				case of:
					of.Drawn(hour.now())
					hour.pass(500)
				case question:
					question.Drawn(instant.now())
					instant.pass(100)
				}
				press(t, d, names[int(k)%len(names)])
			}
			rows(t, d, int(width), int(height))
		}
	})
}

// sessionHit returns conversations and messages named text, with text typed.
func sessionHit(text string, th *theme.Theme) *dialog.SessionList {
	row := dialog.SessionRow{ID: "1", Title: text, Model: text, Age: text, Cost: text, Directory: text, Preview: text, Locked: text}
	l := dialog.Sessions([]dialog.SessionRow{row, {ID: "2", Current: true}, {ID: "3", Title: "x" + text, Pinned: true}}, actions(says), th)
	l.SetPreview("2", []string{text, "", text})
	l.Update(tea.PasteMsg{Content: text})
	l.SetMatches(strings.TrimSpace(strings.Join(strings.Fields(text), " ")), []dialog.FoundRow{{ID: text, Title: text, Snippet: text, Marks: [][2]int{{1, len(text)}, {len(text) / 2, 3}, {-1, 1 << 40}}}})
	return l
}

func catalog(n int) []dialog.Item {
	var items []dialog.Item
	for i := range n {
		items = append(items, dialog.Item{Title: fmt.Sprintf("provider-%d/some-model-%d-instruct", i%40, i), Detail: "128k context · tools · vision"})
	}
	return items
}

// A key costs only drawing the visible rows, and storing the marks of each title.
func TestPickFiltersWithinAFrame(t *testing.T) {
	typed := func(n int) float64 {
		p := dialog.Pick("Model", catalog(n), theme.Dark())
		p.SetSize(120, 30)
		keys := []tea.KeyPressMsg{{Code: 'm', Text: "m"}, {Code: 'u', Mod: tea.ModCtrl}}
		turn := 0
		return testing.AllocsPerRun(20, func() {
			p.Update(keys[turn%2])
			p.View()
			turn++
		})
	}
	few, lots := typed(30), typed(2000)
	if each := (lots - few) / (2000 - 30); each > 0.6 { // half of the keys clear the query
		t.Errorf("a key takes %v allocations for each item more: %v for 30, %v for 2000", each, few, lots)
	}
}

func BenchmarkPickFilter(b *testing.B) {
	items := catalog(2000)
	p := dialog.Pick("Model", items, theme.Dark())
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
	p := dialog.Pick("Model", models(), theme.Dark())
	b.ReportAllocs()
	for b.Loop() {
		d.View()
		p.View()
	}
}
