package archive

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"parley/providers/llm"
)

// sanitize returns s with everything in it visible: control characters, runes that
// change the direction of text, and invisible runes are replaced by their names.
// Newlines and tabs stay, and so do joiners in scripts that need them.
func sanitize(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	s = strings.ReplaceAll(s, "\r\n", "\n")
	var prev rune
	for _, r := range s { // invalid UTF-8 comes as U+FFFD
		switch {
		case r == '\n' || r == '\t':
			b.WriteRune(r)
		case r < 0x20:
			b.WriteRune('\u2400' + r) // the symbol of the control character
		case r == 0x7f:
			b.WriteRune('\u2421')
		case unicode.Is(unicode.Cc, r), hidden(r) && !joins(prev, r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		prev = r
	}
	return b.String()
}

// plain reports whether s is ASCII without control characters but newline and tab.
func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 && c != '\n' && c != '\t' || c >= 0x7f {
			return false
		}
	}
	return true
}

// hidden reports whether a rune is invisible, or changes how others are
// displayed.
func hidden(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

// joined holds scripts that are not written without joiners.
var joined = []*unicode.RangeTable{
	unicode.Arabic, unicode.Bengali, unicode.Devanagari, unicode.Gujarati, unicode.Gurmukhi, unicode.Kannada,
	unicode.Khmer, unicode.Malayalam, unicode.Mongolian, unicode.Myanmar, unicode.Oriya, unicode.Sinhala,
	unicode.Syriac, unicode.Tamil, unicode.Telugu,
}

// joins reports whether r belongs to the rune before it: in an emoji, or in a
// script that joins its letters.
func joins(prev, r rune) bool {
	symbol := unicode.In(prev, unicode.So, unicode.Sk)
	switch r {
	case '\ufe0e', '\ufe0f':
		return symbol || strings.ContainsRune("#*0123456789\u203c\u2049\u2194\u3030", prev)
	case '\u200d':
		return symbol || prev == '\ufe0f' || unicode.In(prev, joined...)
	case '\u200c':
		return unicode.In(prev, joined...)
	}
	return false
}

// oneLine returns s visible and on one line.
func oneLine(s string) string {
	return strings.Join(strings.Fields(sanitize(s)), " ")
}

// imageType returns the MIME type of an image that browsers show and that cannot hold
// scripts, by its content; "" for everything else.
func imageType(data []byte) string {
	mime := http.DetectContentType(data)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime) {
		return ""
	}
	return mime
}

// attachedFile returns the name and content of an attached text file, without the tags
// around it that the model gets.
func attachedFile(p llm.Part) (name, body string, ok bool) {
	if p.Kind != llm.Text || p.Name == "" {
		return "", "", false
	}
	tag, body, _ := strings.Cut(p.Text, "\n")
	body, whole := strings.CutSuffix(body, "\n</file>")
	if !whole || !strings.HasPrefix(tag, "<file path=") {
		return p.Name, p.Text, true
	}
	if _, err := fmt.Sscanf(tag, "<file path=%q>", &name); err != nil {
		name = p.Name
	}
	return name, body, true
}

func toolLabel(p llm.Part) string {
	if p.Remote {
		return "Tool of the provider"
	}
	return "Tool"
}

// resultTitle returns the title of the result p, and its text. R may be nil.
func resultTitle(p llm.Part, r *callResult) (title, text string) {
	title = "Result"
	if p.Failed {
		title = "Failed"
	}
	if r != nil && r.outcome.Duration > 0 {
		title += ", " + duration(r.outcome.Duration)
	}
	return title, cmp.Or(p.Text, "(no output)")
}

// describeFile returns the kind, name, type and size of a file that is not shown.
func describeFile(p llm.Part) string {
	words := []string{"file"}
	if strings.HasPrefix(p.MIME, "image/") {
		words[0] = "image"
	}
	if p.Name != "" {
		words = append(words, oneLine(p.Name))
	}
	var about []string
	if p.MIME != "" {
		about = append(about, oneLine(p.MIME))
	}
	if len(p.Data) > 0 {
		about = append(about, grouped(len(p.Data))+" bytes")
	}
	if len(about) > 0 {
		words = append(words, "("+strings.Join(about, ", ")+")")
	}
	return strings.Join(words, " ")
}

// grouped returns a number with its digits in groups of three.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// tokens describes the tokens used; "" if unknown.
func tokens(u llm.Usage) string {
	if u == (llm.Usage{}) {
		return ""
	}
	s := grouped(u.Input) + " in"
	if u.CacheRead > 0 {
		s += " (" + grouped(u.CacheRead) + " cached)"
	}
	s += ", " + grouped(u.Output) + " out"
	if u.Thinking > 0 {
		s += " (" + grouped(u.Thinking) + " thinking)"
	}
	return s
}

// cost formats a price in dollars; "" if unknown, "at least …" if partly known.
func cost(u llm.Usage) string {
	if !u.Priced && u.Cost <= 0 {
		return ""
	}
	digits := 2
	if u.Cost < 1 {
		digits = 4
	}
	s := "$" + strconv.FormatFloat(u.Cost, 'f', digits, 64)
	if !u.Priced {
		s = "at least " + s
	}
	return s
}

// timestamp returns a time in UTC, to the minute, "" if t is zero.
func timestamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// duration returns d, rounded, "" if it is 0.
func duration(d time.Duration) string {
	switch {
	case d <= 0:
		return ""
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	return d.Round(time.Second).String()
}

// endReasons holds the words for reasons that a footer mentions.
var endReasons = map[llm.Reason]string{
	llm.Length: "reached its limit of tokens", llm.Refused: "refused", llm.Other: "ended early",
}

// footer returns the lines under a response, or under a prompt that has none.
func (s *message) footer() []string {
	var out []string
	if s.Role != llm.RoleAssistant {
		return s.endings
	}
	if s.Interrupted {
		out = append(out, "stopped")
	}
	if s.Partial {
		out = append(out, "was still arriving")
	}
	add := func(text string) {
		if text != "" {
			out = append(out, text)
		}
	}
	add(endReasons[s.Reason])
	if s.Usage != nil {
		add(tokens(*s.Usage))
		add(cost(*s.Usage))
	}
	add(duration(s.Duration))
	return out
}

func (s *message) speaker() string {
	switch {
	case s.Summary:
		return "Summary of what came before"
	case s.Role == llm.RoleAssistant && s.Model != "":
		return oneLine(s.Model)
	case s.Role == llm.RoleAssistant:
		return "Assistant"
	case s.Role == llm.RoleTool:
		return "Tool"
	}
	return "User"
}

// A fact is a property of a conversation, as an export shows it.
type fact struct{ name, value string }

// factsOf returns the known properties of c.
func factsOf(c Conversation) []fact {
	models := c.Models
	if c.Pages == nil {
		for n := range branchOf(c) {
			if n.Role == llm.RoleAssistant && n.Model != "" && !slices.Contains(models, n.Model) {
				models = append(models, n.Model)
			}
		}
	}
	u := usageOf(c)
	others := ""
	if n := countBranches(c); n > 1 {
		others = fmt.Sprintf("%d, of which this is one", n)
	}
	var out []fact
	for _, f := range []fact{
		{"date", timestamp(c.Session.Created)}, {"updated", timestamp(c.Session.Updated)}, {"models", oneLine(strings.Join(models, ", "))},
		{"tokens", tokens(u)}, {"cost", cost(u)}, {"folder", oneLine(c.Session.Dir)}, {"branches", others},
		{"origin", oneLine(c.Session.Origin)}, {"session", oneLine(c.Session.ID)},
	} {
		if f.value != "" {
			out = append(out, f)
		}
	}
	return out
}

func titleOf(c Conversation) string {
	if t := oneLine(c.Session.Title); t != "" {
		return t
	}
	return "Conversation"
}

// fence returns a row of backticks longer than any in text, so that nothing in it ends
// the code block.
func fence(text string) string {
	longest := 2
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return r != '`' }) {
		longest = max(longest, len(run))
	}
	return strings.Repeat("`", longest+1)
}

func fenced(text, language string) string {
	marks := fence(text)
	return marks + language + "\n" + strings.TrimSuffix(text, "\n") + "\n" + marks
}

// deepest is how deep JSON may be nested to be indented: indentation grows with the
// square of the depth.
const deepest = 40

// pretty indents JSON; it returns input unchanged if that is not JSON or nested too deep.
func pretty(input string) string {
	depth, most := 0, 0
	for i := 0; i < len(input); i++ {
		switch input[i] {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		most = max(most, depth)
	}
	var b bytes.Buffer
	if most > deepest || json.Indent(&b, []byte(input), "", "  ") != nil {
		return input
	}
	return b.String()
}
