package composer_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"parley/ui/theme"
	"parley/ui/tui/composer"
	"parley/ui/uitest"
)

// undoKeys edit and move in every way that undo handles. Some type or paste parts of a grapheme
// cluster, which combine with adjacent text.
var undoKeys = []string{
	"a", "é", "e", "\u0301", "日本", "👨", "\u200d", "👩", "🇩", "🇪", "한", "\u0600", "क्", "षि", " ", "two words ", "x-y",
	"paste:p", "paste:\u0301", "paste:日本\n語", "paste:👩\u200d👧", "paste:one\r\ntwo", "paste:🇩", "paste:\t", "paste:" + pastedLines,
	"ctrl+j", "backspace", "delete", "ctrl+w", "ctrl+k", "ctrl+u", "alt+d", "alt+backspace", "ctrl+y", "alt+y", "alt+u", "alt+l", "alt+c",
	"left", "right", "home", "end", "alt+b", "alt+f", "alt+<", "alt+>", "tab", "clear",
}

// pastedLines is long enough for a chip.
const pastedLines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n17\n18\n19\n20\n21\n22\n23\n24\n25\n26\n27\n28\n29\n30\n"

// Any sequence of edits is undone to the text before it and redone to the text after it. Each undo
// leads to an earlier text, and the redos pass the same texts in the other direction.
func TestUndoRestoresEveryText(t *testing.T) {
	for seed := range uint64(600) {
		rng := rand.New(rand.NewPCG(seed, 0))
		m := composer.New(theme.Plain())
		m.SetSize(20+rng.IntN(60), 5)
		m.SetModal(seed%3 == 2)
		var keys []string
		texts := []string{m.Value()}
		send := func(key string) {
			keys = append(keys, key)
			steps := []string{key}
			if _, err := uitest.Key(key); err != nil && key != "clear" && !strings.HasPrefix(key, "paste:") {
				steps = strings.Split(key, "") // each character is typed
			}
			for _, step := range steps {
				play(t, m, step)
				texts = append(texts, m.Value())
			}
		}
		for range 1 + rng.IntN(60) {
			send(undoKeys[rng.IntN(len(undoKeys))])
			if rng.IntN(12) == 0 { // some edits are undone, and others made instead
				for range 1 + rng.IntN(3) {
					play(t, m, "ctrl+_")
					keys = append(keys, "ctrl+_")
				}
				texts = append(texts, m.Value())
			}
		}
		send("z") // nothing can be redone
		var undone []string
		last := len(texts)
		for range 150 {
			text := m.Value()
			undone = append(undone, text)
			at := lastIndex(texts[:last], text)
			if at < 0 {
				t.Fatalf("seed %d: %q\nundo leads to %q, which never stood there before the text it undoes; the texts were\n%q", seed, keys, text, texts)
			}
			last = at + 1
			play(t, m, "ctrl+_")
		}
		if got := m.Value(); got != texts[0] {
			t.Fatalf("seed %d: %q\nall undone: %q, want %q", seed, keys, got, texts[0])
		}
		var redone []string
		for range undone {
			redone = append(redone, m.Value())
			play(t, m, "alt+/")
		}
		slices.Reverse(undone)
		if got, want := slices.Compact(redone), slices.Compact(undone); !slices.Equal(got, want) {
			t.Fatalf("seed %d: %q\nredo passes %q, want %q", seed, keys, got, want)
		}
		if got, want := m.Value(), texts[len(texts)-1]; got != want {
			t.Fatalf("seed %d: %q\nall redone: %q, want %q", seed, keys, got, want)
		}
	}
}

func lastIndex(list []string, s string) int {
	for i, have := range slices.Backward(list) {
		if have == s {
			return i
		}
	}
	return -1
}
