package attach

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"parley/providers/llm"
)

// A Mention is a file mentioned in a prompt, as @path, @"path with spaces" or @path\ with\ spaces.
type Mention struct {
	Start, End int    // byte range in the text, including the @, quotes and backslashes
	Path       string // without these
}

// maxPath is the longest path that is checked; systems have about this limit.
const maxPath = 4096

// Mentions returns the files that text mentions, in order. Text after an @ is a
// mention if exists returns true for it: in @main.go, (@main.go:12) and
// @main.go's, the longest such prefix. An @ after a letter or a digit, as in a
// mail address, is not a mention.
func Mentions(text string, exists func(path string) bool) []Mention {
	var found []Mention
	for i := 0; i < len(text); {
		at := strings.IndexByte(text[i:], '@')
		if at < 0 {
			break
		}
		at += i
		i = at + 1
		if before, _ := utf8.DecodeLastRuneInString(text[:at]); at > 0 && !mayPrecede(before) {
			continue
		}
		if m, ok := mention(text, at, exists); ok {
			found = append(found, m)
			i = m.End
		}
	}
	return found
}

// mayPrecede reports whether a mention may follow r; it may not follow characters
// of mail addresses and paths.
func mayPrecede(r rune) bool {
	return !isWordRune(r) && !strings.ContainsRune("@/\\_.-", r) || isUnspaced(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// isUnspaced reports whether r belongs to a script without spaces around words.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// mention parses the mention at text[at], which is an @.
func mention(text string, at int, exists func(string) bool) (Mention, bool) {
	rest := text[at+1:]
	rest = rest[:min(len(rest), maxPath+2)] // a path in quotes
	if line, _, _ := strings.Cut(rest, "\n"); line != "" && (line[0] == '"' || line[0] == '\'') {
		path, _, closed := strings.Cut(line[1:], line[:1])
		ok := closed && path != "" && len(path) <= maxPath && exists(path)
		return Mention{at, at + 1 + len(path) + 2, path}, ok
	}
	rest = rest[:wordEnd(rest)]
	if len(rest) > maxPath {
		return Mention{}, false
	}
	const tries = 8
	for range tries {
		if rest == "" {
			break
		}
		if exists(rest) {
			return Mention{at, at + 1 + len(rest), rest}, true
		}
		if path := unescape(rest); escapes && path != rest && !strings.HasSuffix(rest, `\`) && exists(path) {
			return Mention{at, at + 1 + len(rest), path}, true
		}
		rest = trimCandidate(rest)
	}
	return Mention{}, false
}

// escapes reports whether a backslash in a path escapes the next character. On Windows it is a
// separator.
const escapes = filepath.Separator != '\\'

// unescape removes escaping backslashes.
func unescape(path string) string {
	return strings.NewReplacer(`\\`, `\`, `\`, "").Replace(path)
}

// wordEnd returns the index of the first space of text that no backslash escapes, or else its length.
func wordEnd(text string) int {
	escaped := false
	for i, r := range text {
		if unicode.IsSpace(r) && (!escaped || r == '\n') {
			return i
		}
		escaped = escapes && r == '\\' && !escaped
	}
	return len(text)
}

// trimCandidate shortens path by its last delimiter: punctuation, words of a script
// without spaces, or else the last character that is rare in names.
func trimCandidate(path string) string {
	last, size := utf8.DecodeLastRuneInString(path)
	switch {
	case isUnspaced(last):
		return strings.TrimRightFunc(path, isUnspaced)
	case !isWordRune(last):
		return path[:len(path)-size]
	}
	cut := strings.LastIndexFunc(path, func(r rune) bool {
		return !isWordRune(r) && !strings.ContainsRune("/\\.-_@#%&+=~$", r)
	})
	return path[:max(cut, 0)]
}

// ExpandMentions returns the files that text mentions, without duplicates. It calls open for each
// path. A path that open does not find is not a mention; of anything but a file, such as a directory,
// the model gets only the name. Any other error is returned.
func ExpandMentions(text string, open func(path string) (found []llm.Part, note string, err error)) (parts []llm.Part, notes []string, err error) {
	opened := map[string]bool{} // by path: whether it is a mention
	Mentions(text, func(path string) bool {
		key := filepath.Clean(path)
		if known, ok := opened[key]; ok || err != nil {
			return known
		}
		found, note, failed := open(path)
		opened[key] = failed == nil
		switch {
		case failed == nil:
			parts = append(parts, found...)
			if note != "" {
				notes = append(notes, printable(path)+": "+note)
			}
		case errors.Is(failed, ErrNotRegular):
			notes = append(notes, failed.Error())
		case !missing(failed):
			err = failed
		}
		return failed == nil
	})
	if err != nil {
		return nil, nil, err
	}
	return parts, notes, nil
}

// missing reports whether an error says that a file does not exist, or cannot
// exist.
func missing(err error) bool {
	for _, none := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// SplitMessage returns the text and the attachments of a user message.
func SplitMessage(msg llm.Message) (text string, attached []llm.Part) {
	var texts []string
	for _, p := range msg.Parts {
		if p.Kind != llm.Text || p.Name != "" {
			attached = append(attached, p)
			continue
		}
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n"), attached
}
