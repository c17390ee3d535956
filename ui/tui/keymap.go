package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/app"
	"parley/ui/app/classify"
	"parley/ui/tui/common"
	"parley/ui/tui/composer"
	"parley/ui/tui/terminal"
)

// A keymap maps keys and names to actions.
type keymap struct {
	actions   []action
	keys      map[string]*action
	leaders   map[string]bool   // keys that begin a sequence
	writing   map[string]string // composer keys with their help; they include keys of dialogs and search
	leader    string            // the pressed leader; "" for none
	presses   int               // number of times a leader was pressed
	showsNext bool              // the keys that may follow the leader are shown
	lastEsc   time.Time
	quitAsked time.Time // time of the first ctrl+c that asked to quit
}

// newKeymap returns the actions with the keys of the configuration, which must
// be validated. Escapes are counted separately and do not begin a sequence.
func newKeymap(own Keys, shared []app.Command) keymap {
	k := keymap{actions: actions(shared), keys: map[string]*action{}, leaders: map[string]bool{}, writing: composer.Keys()}
	if changed, err := own.apply(actions(shared)); err == nil {
		k.actions = changed
	}
	for i := range k.actions {
		for _, key := range k.actions[i].Keys {
			k.keys[key] = &k.actions[i]
			if first, _, two := strings.Cut(key, " "); two && first != "esc" {
				k.leaders[first] = true
			}
		}
	}
	return k
}

// resolve returns a key with the name under which it is bound; see terminal.Resolve.
func (k *keymap) resolve(key tea.KeyPressMsg) tea.KeyPressMsg {
	return terminal.Resolve(key, k.leader != "", func(name string) bool {
		if k.leader != "" {
			return k.keys[k.leader+" "+name] != nil
		}
		return k.keys[name] != nil || k.leaders[name] || k.writing[name] != ""
	})
}

// keyOf returns the first key of an action, or its command if it has no key.
func (k *keymap) keyOf(name string) string {
	for _, a := range k.actions {
		if a.Name == name && len(a.Keys) > 0 {
			return a.Keys[0]
		}
	}
	return "/" + name
}

// classify parses a line.
func (k *keymap) classify(a *app.App, text string) classify.Line {
	return classify.Entered(text, k.commands(), a.Prompts.Has)
}

// commands returns the commands of the actions.
func (k *keymap) commands() []app.Command {
	all := make([]app.Command, len(k.actions))
	for i, a := range k.actions {
		all[i] = a.Command
	}
	return all
}

// leaderDelay is the delay after a leader until the keys that may follow are shown.
const leaderDelay = 300 * time.Millisecond

// leaderMsg reports that leaderDelay has passed since a leader was pressed; its value is that of presses.
type leaderMsg int

// lead begins a key sequence.
func (k *keymap) lead(s *common.Screen, key string) tea.Cmd {
	k.leader, k.showsNext = key, false
	k.presses++
	return s.Tick(leaderDelay, leaderMsg(k.presses))
}

// leaderWords maps command names to the short words of the command list, where they differ.
var leaderWords = []struct{ name, words string }{
	{"btw", "aside"}, {"now", "retry now"}, {"stash", "stash draft"}, {"sessions", "conversations"}, {"tree", "branches"}, {"compact", "summarize"},
	{"copy", "copy answer"}, {"copy-code", "copy code"}, {"palette", "all commands"}, {"wire", "HTTP inspector"},
}

// leaderWord returns the words for a command, shown after its key.
func leaderWord(name string) string {
	for _, l := range leaderWords {
		if l.name == name {
			return l.words
		}
	}
	return strings.ReplaceAll(name, "-", " ")
}

// fitLeaders lays out cells in columns with a gap between them, each of height cells except the
// last: as many columns as fit into width, and at least one. It returns the width of each column.
func fitLeaders(cells []int, width, gap int) (height int, columns []int) {
	for height = 1; height <= len(cells); height++ {
		columns = nil
		total := -gap
		for column := range slices.Chunk(cells, height) {
			columns = append(columns, slices.Max(column))
			total += slices.Max(column) + gap
		}
		if total <= width {
			break
		}
	}
	return min(height, len(cells)), columns
}

// next lays out the keys that may follow the leader, in columns of at most rows rows. It
// omits keys that do not fit.
func (k *keymap) next(width, rows int, s *common.Screen) []string {
	th := s.Theme
	type entry struct{ key, name string }
	var entries []entry
	var widths []int
	for _, a := range k.actions {
		for _, key := range a.Keys {
			if second, ok := strings.CutPrefix(key, k.leader+" "); ok && !slices.ContainsFunc(entries, func(e entry) bool { return e.key == second }) {
				entries = append(entries, entry{second, leaderWord(a.Name)})
				widths = append(widths, ansi.StringWidth(second+" "+leaderWord(a.Name)))
			}
		}
	}
	const margin, gap = 2, 2
	all, columns := fitLeaders(widths, width-margin, gap)
	height := min(all, max(rows-1, 0))
	out := []string{th.Accent.Render(k.leader) + th.Dim.Render(" …")}
	for y := range height {
		row := strings.Repeat(" ", margin)
		for x, widest := range columns {
			if i := x*all + y; i < len(entries) {
				e := entries[i]
				cell := th.Strong.Render(e.key) + " " + th.Text.Render(e.name)
				row += cell + strings.Repeat(" ", max(widest+gap-widths[i], 0))
			}
		}
		out = append(out, strings.TrimRight(row, " "))
	}
	return out
}
