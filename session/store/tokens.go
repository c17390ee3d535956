package store

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Matches are found and marked by the same tokens: runs of letters and digits,
// without case and accents, as SQLite's unicode61 splits them. Scripts without spaces
// between words have a token per letter, and a word of theirs is a phrase.

// isUnspaced reports whether r is a letter of such a script.
func isUnspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
		unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsMark(r)
}

func inToken(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.Is(unicode.Co, r)
}

// spaceOut returns text with spaces around the letters of scripts without spaces, for
// SQLite's tokenizer.
func spaceOut(text string) string {
	at := strings.IndexFunc(text, isUnspaced)
	if at < 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + len(text)/2)
	b.WriteString(text[:at])
	after := false
	for _, r := range text[at:] {
		if d := isUnspaced(r); d || after && !unicode.IsMark(r) {
			b.WriteByte(' ')
			after = d
		}
		b.WriteRune(r)
	}
	return b.String()
}

// fold returns r without case and accents; 0 for an accent alone.
func fold(r rune) rune {
	switch {
	case r < utf8.RuneSelf:
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	case unicode.IsMark(r):
		return 0
	}
	if to, ok := accents()[r]; ok {
		return to
	}
	return unicode.ToLower(r)
}

// folded returns text with fold applied to each rune.
func folded(text string) string {
	return strings.Map(func(r rune) rune {
		if r = fold(r); r == 0 {
			return -1
		}
		return r
	}, text)
}

// A token is a word of a text, and its position.
type token struct {
	word       string // folded
	start, end int    // in bytes
}

func tokens(text string) iter.Seq[token] {
	return func(yield func(token) bool) {
		var word []byte
		start := -1
		for i, r := range text {
			mark := start >= 0 && unicode.IsMark(r)
			if start >= 0 && !mark && (!inToken(r) || isUnspaced(r) || isUnspaced(firstRune(text[start:]))) {
				if !yield(token{string(word), start, i}) {
					return
				}
				word, start = word[:0], -1
			}
			if start < 0 && inToken(r) {
				start = i
			}
			if f := fold(r); start >= 0 && f != 0 {
				word = utf8.AppendRune(word, f)
			}
		}
		if start >= 0 {
			yield(token{string(word), start, len(text)})
		}
	}
}

func firstRune(text string) rune {
	r, _ := utf8.DecodeRuneInString(text)
	return r
}

// A term is one or more consecutive words.
type term struct {
	text   string   // as it was written
	words  []string // folded
	prefix bool     // the last word is a prefix
}

type terms []term

// Limits on a query, far above what a user types.
const (
	maxQuery = 4096 // bytes
	maxTerms = 64
)

// parseQuery returns the terms of a query: words, "quoted words" that must be
// consecutive, and prefixes*. Any text is valid. Words without a letter or digit are left
// out, because they are not indexed.
func parseQuery(text string) terms {
	if len(text) > maxQuery {
		text = text[:maxQuery]
	}
	text = strings.Map(func(r rune) rune {
		if r == 0 { // SQLite ends an expression at a zero byte
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, " "))
	var found terms
	add := func(text string, prefix bool) {
		t := term{text: text, prefix: prefix}
		for token := range tokens(text) {
			t.words = append(t.words, token.word)
		}
		if len(t.words) > 0 && len(found) < maxTerms {
			found = append(found, t)
		}
	}
	for text != "" {
		if quoted, ok := strings.CutPrefix(text, `"`); ok {
			inner, after, _ := strings.Cut(quoted, `"`)
			after, star := strings.CutPrefix(after, "*")
			add(inner, star)
			text = after
			continue
		}
		end := strings.IndexFunc(text, func(r rune) bool { return r == '"' || unicode.IsSpace(r) })
		switch end {
		case -1:
			end = len(text)
		case 0:
			text = text[len(string(firstRune(text))):]
			continue
		}
		word := text[:end]
		add(word, strings.HasSuffix(word, "*"))
		text = text[end:]
	}
	return found
}

// match returns the terms as an FTS5 expression with everything quoted; "" if there are none.
func (t terms) match() string {
	var b strings.Builder
	for i, term := range t {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteByte('"')
		b.WriteString(strings.ReplaceAll(spaceOut(term.text), `"`, `""`))
		b.WriteByte('"')
		if term.prefix {
			b.WriteString(" *")
		}
	}
	return b.String()
}

// matchAt reports whether window begins with t, and how many tokens t has.
func (t term) matchAt(window []token) (int, bool) {
	if len(window) < len(t.words) {
		return 0, false
	}
	for i, word := range t.words {
		have := window[i].word
		if have != word && (!t.prefix || i < len(t.words)-1 || !strings.HasPrefix(have, word)) {
			return 0, false
		}
	}
	return len(t.words), true
}

// Size of a snippet and of its text before the match, in bytes.
const (
	snippetLead = 60
	snippetSize = 240
)

// snippet returns one line around the first match, and the byte ranges of all matches in it.
func snippet(texts []string, words terms) (string, [][2]int) {
	for _, text := range texts {
		if at := firstMatch(text, words); at >= 0 {
			return markWords(window(text, at), words)
		}
	}
	if len(texts) == 0 {
		return "", nil
	}
	return markWords(window(texts[0], 0), words)
}

// firstMatch returns the offset of the first match of words in text; -1 if there is none.
func firstMatch(text string, words terms) int {
	longest := 0
	for _, t := range words {
		longest = max(longest, len(t.words))
	}
	var ring []token
	match := func() int {
		for _, t := range words {
			if _, ok := t.matchAt(ring); ok {
				return ring[0].start
			}
		}
		return -1
	}
	for tok := range tokens(text) {
		if ring = append(ring, tok); len(ring) < longest {
			continue
		}
		if at := match(); at >= 0 {
			return at
		}
		ring = ring[1:]
	}
	for ; len(ring) > 0; ring = ring[1:] {
		if at := match(); at >= 0 {
			return at
		}
	}
	return -1
}

// window returns the part of text around the offset at, as one line.
func window(text string, at int) string {
	start := max(at-snippetLead, 0)
	for start > 0 && start < at && !utf8.RuneStart(text[start]) {
		start++
	}
	end := min(start+snippetSize, len(text))
	for end < len(text) && end > start && !utf8.RuneStart(text[end]) {
		end--
	}
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text[start:end], "\uFFFD")), " ")
	if start > 0 {
		line = "…" + line
	}
	if end < len(text) {
		line += "…"
	}
	return line
}

// markWords returns line, and the byte ranges of words in it.
func markWords(line string, words terms) (string, [][2]int) {
	all := slices.Collect(tokens(line))
	var marks [][2]int
	for i := 0; i < len(all); i++ {
		taken := 0
		for _, t := range words {
			if n, ok := t.matchAt(all[i:]); ok {
				taken = max(taken, n)
			}
		}
		if taken > 0 {
			marks = append(marks, [2]int{all[i].start, all[i+taken-1].end})
			i += taken - 1
		}
	}
	return line, marks
}

// accents maps letters of the Latin, Greek and Cyrillic alphabets to those without case and
// accents, for fold, which marks matches and compares words with titles. SQLite's full text
// search covers all alphabets and does not use it.
var accents = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for _, family := range strings.Fields(families) {
		plain := firstRune(family)
		for _, r := range family {
			m[r] = plain
		}
	}
	return m
})

// families holds letters, each followed by its accented forms (the canonical
// decompositions of Unicode 16).
const families = "" +
	"aÀÁÂÃÄÅàáâãäåĀāĂăĄąǍǎǞǟǠǡǺǻȀȁȂȃȦȧḀḁẠạẢảẤấẦầẨẩẪẫẬậẮắẰằẲẳẴẵẶặ bḂḃḄḅḆḇ cÇçĆćĈĉĊċČčḈḉ dĎďḊḋḌḍḎḏḐḑḒḓ " +
	"eÈÉÊËèéêëĒēĔĕĖėĘęĚěȄȅȆȇȨȩḔḕḖḗḘḙḚḛḜḝẸẹẺẻẼẽẾếỀềỂểỄễỆệ fḞḟ gĜĝĞğĠġĢģǦǧǴǵḠḡ hĤĥȞȟḢḣḤḥḦḧḨḩḪḫẖ " +
	"iÌÍÎÏìíîïĨĩĪīĬĭĮįİǏǐȈȉȊȋḬḭḮḯỈỉỊị jĴĵǰ kĶķǨǩḰḱḲḳḴḵ lĹĺĻļĽľḶḷḸḹḺḻḼḽ mḾḿṀṁṂṃ nÑñŃńŅņŇňǸǹṄṅṆṇṈṉṊṋ " +
	"oÒÓÔÕÖòóôõöŌōŎŏŐőƠơǑǒǪǫǬǭȌȍȎȏȪȫȬȭȮȯȰȱṌṍṎṏṐṑṒṓỌọỎỏỐốỒồỔổỖỗỘộỚớỜờỞởỠỡỢợ pṔṕṖṗ rŔŕŖŗŘřȐȑȒȓṘṙṚṛṜṝṞṟ " +
	"sŚśŜŝŞşŠšȘșṠṡṢṣṤṥṦṧṨṩ tŢţŤťȚțṪṫṬṭṮṯṰṱẗ uÙÚÛÜùúûüŨũŪūŬŭŮůŰűŲųƯưǓǔǕǖǗǘǙǚǛǜȔȕȖȗṲṳṴṵṶṷṸṹṺṻỤụỦủỨứỪừỬửỮữỰự vṼṽṾṿ " +
	"wŴŵẀẁẂẃẄẅẆẇẈẉẘ xẊẋẌẍ yÝýÿŶŷŸȲȳẎẏẙỲỳỴỵỶỷỸỹ zŹźŻżŽžẐẑẒẓẔẕ æǢǣǼǽ øǾǿ ſẛ ʒǮǯ αΆά εΈέ ηΉή ιΊΐΪίϊ οΌό υΎΫΰϋύ ωΏώ " +
	"ϒϓϔ гЃѓ еЀЁѐё иЍЙйѝ кЌќ уЎў іЇї "
