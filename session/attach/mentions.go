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

// A Mention is a file that a prompt speaks of, as @path, @"path with spaces" or @path\ with\ spaces.
type Mention struct {
	Start, End int    // bytes of the text, the @, quotes and backslashes included
	Path       string // without these
}

// maxPath holds the longest path that is asked for; systems have about this limit.
const maxPath = 4096

// Mentions returns the files that text mentions, in order. Text after an
// @ is a mention if exists says so: of @main.go, (@main.go:12) and @main.go's the
// longest beginning that does. An @ after a letter or a digit, as in a mail
// address, is none.
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

// mayPrecede reports whether a mention may follow r: what a mail address or a path
// is made of does not open one.
func mayPrecede(r rune) bool {
	return !isWordRune(r) && !strings.ContainsRune("@/\\_.-", r) || isUnspaced(r)
}

func isWordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// isUnspaced reports whether r is of a script that puts no spaces around a path.
func isUnspaced(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai)
}

// mention reads the one at text[at], which is an @.
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

// escapes reports whether a backslash in a path takes the next character as it is. On Windows it is
// a part of the path.
const escapes = filepath.Separator != '\\'

// unescape removes such backslashes.
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

// trimCandidate cuts path before what ends it: punctuation, words of a script without
// spaces, or else the last sign that is rare in names.
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

// ExpandMentions returns what text mentions, each once. Open is asked for each path; what it does not
// find is no mention, and of what is no file (a directory, say) the model has only
// the name. Any other error ends it.
func ExpandMentions(text string, open func(path string) (found []llm.Part, note string, err error)) (parts []llm.Part, notes []string, err error) {
	opened := map[string]bool{} // by path; whether it is a mention
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

// missing reports whether an error says that there is nothing of this name, or
// cannot be.
func missing(err error) bool {
	for _, none := range []error{fs.ErrNotExist, fs.ErrInvalid, syscall.ENOTDIR, syscall.ENAMETOOLONG, syscall.EINVAL} {
		if errors.Is(err, none) {
			return true
		}
	}
	return false
}

// SplitMessage returns the text of a message of the user's, and its attachments.
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
