//go:build oracle

package markdown

import (
	"encoding/json"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"charm.land/glamour/v2"
	"github.com/charmbracelet/x/ansi"

	"parley/ui/theme"
)

// misread lists texts that Glamour renders differently than CommonMark specifies.
var misread = map[string]string{
	"control":     "Glamour prints escapes, ours shows what they are",
	"example 14":  "an escaped ampersand begins no entity",
	"example 32":  "entities in an address stand for their characters",
	"example 33":  "entities in an address stand for their characters",
	"example 35":  "entities in code are code",
	"example 503": "entities in an address stand for their characters",
}

// TestNoWordOfGlamourIsMissing renders the examples of CommonMark, and texts as
// models write them, with Glamour and with our renderer: ours shows each word
// at least as often as Glamour.
func TestNoWordOfGlamourIsMissing(t *testing.T) {
	renderer, err := glamour.NewTermRenderer(glamour.WithStandardStyle("notty"), glamour.WithWordWrap(100), glamour.WithInlineTableLinks(true))
	if err != nil {
		t.Fatal(err)
	}
	for name, source := range oracleTexts(t) {
		t.Run(name, func(t *testing.T) {
			theirs, err := renderer.Render(source)
			if err != nil {
				t.Fatal(err)
			}
			ours := Render(source, 100, theme.Plain())
			missing := missingWords(ours, theirs)
			if _, known := misread[name]; known != (len(missing) > 0) {
				t.Errorf("missing %q, known %t\nof\n%s\nours\n%s\nGlamour's\n%s", missing, known, source, ansi.Strip(ours), ansi.Strip(theirs))
			}
		})
	}
}

// missingWords lists the words that theirs contains more often than ours. If one of
// them breaks words that the other does not, for lack of width or because Glamour
// puts no space between the paragraphs of an item, the letters must be there.
func missingWords(ours, theirs string) (missing []string) {
	want, have := map[string]int{}, map[string]int{}
	for _, w := range wordsOf(theirs) {
		want[w]++
	}
	mine := wordsOf(strings.ReplaceAll(ours, "☑", "[x]")) // done tasks
	for _, w := range mine {
		have[w]++
	}
	letters := strings.Join(mine, "")
	for _, w := range slices.Sorted(maps.Keys(want)) {
		if n := want[w] - have[w]; n > 0 && strings.Count(letters, w) < want[w] {
			missing = append(missing, w)
		}
	}
	return missing
}

// percents matches bytes that Glamour escapes in addresses; ours shows them unchanged.
var percents = regexp.MustCompile(`(?:%[0-9A-F]{2})+`)

// wordsOf returns the runs of letters and digits in a rendering, in lower case.
func wordsOf(rendered string) []string {
	text := percents.ReplaceAllStringFunc(ansi.Strip(rendered), func(s string) string {
		if plain, err := url.PathUnescape(s); err == nil {
			return plain
		}
		return s
	})
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// oracleTexts returns the examples of CommonMark, which goldmark contains, our own
// showcase, the answers of the demo, README.md, and the awkward texts.
func oracleTexts(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for name, text := range awkward {
		texts[name] = text
	}
	files, err := filepath.Glob("../../providers/demo/answers/*.md")
	if err != nil || len(files) == 0 {
		t.Fatal("no answers of the demo", err)
	}
	for _, file := range append(files, "testdata/showcase.md", "../../README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(file)] = string(text)
	}
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/yuin/goldmark").Output()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "_test", "spec.json"))
	if err != nil {
		t.Fatal(err)
	}
	var examples []struct {
		Markdown string
		Example  int
	}
	if err := json.Unmarshal(data, &examples); err != nil || len(examples) == 0 {
		t.Fatal(len(examples), err)
	}
	for _, e := range examples {
		texts["example "+strconv.Itoa(e.Example)] = e.Markdown
	}
	return texts
}
