package attach

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Limits of a list of dragged files.
const (
	maxPasted = 32 << 10 // bytes
	maxPaths  = 64
)

// DroppedPaths returns the files that were dragged into the terminal, which types or
// pastes their absolute paths or file:// URLs: one per line or separated by spaces,
// bare, in quotes, or with backslashes in shell syntax. It returns nil if the text
// is anything else, or if one of the paths is not a regular file, which it checks in
// the file system.
func DroppedPaths(pasted string) []string {
	return paths(pasted, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	})
}

func paths(pasted string, exists func(string) bool) []string {
	if len(pasted) > maxPasted || strings.ContainsRune(pasted, 0) {
		return nil
	}
	var found []string
	for line := range strings.Lines(pasted) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		// A bare path may include spaces, quotes and backslashes.
		words := []string{line}
		if !filepath.IsAbs(line) || !exists(line) {
			words = shellWords(line)
		}
		if len(words) == 0 || len(found)+len(words) > maxPaths {
			return nil
		}
		for _, word := range words {
			path, ok := local(word)
			if !ok || !exists(path) {
				return nil
			}
			if !slices.Contains(found, path) {
				found = append(found, path)
			}
		}
	}
	return found
}

// local returns the path in word, which is a path or a file:// URL.
func local(word string) (string, bool) {
	if !strings.HasPrefix(word, "file://") {
		return word, filepath.IsAbs(word)
	}
	u, err := url.Parse(word)
	host, _ := os.Hostname() // the host that file managers put into URLs
	if err != nil || u.Host != "" && u.Host != "localhost" && u.Host != host {
		return "", false
	}
	path := u.Path
	if filepath.Separator == '\\' { // file:///C:/…
		path = filepath.FromSlash(strings.TrimPrefix(path, "/"))
	}
	return path, filepath.IsAbs(path) && !strings.ContainsRune(path, 0)
}

// shellWords splits line like a shell that supports only quotes and
// backslashes; nil if a quote is not closed. On Windows the backslash is a path
// separator.
func shellWords(line string) []string {
	const plain = ' '
	var words []string
	var word strings.Builder
	state, begun := rune(plain), false
	runes := []rune(line)
	for i := 0; i < len(runes); i++ {
		r := runes[i]
		escaped := escapes && r == '\\' && i+1 < len(runes)
		switch {
		case state == plain && (r == ' ' || r == '\t'):
			if begun {
				words = append(words, word.String())
			}
			word.Reset()
			begun = false
			continue
		case state == plain && (r == '\'' || r == '"'):
			state = r
		case state == r:
			state = plain
		case escaped && (state == plain || state == '"' && strings.ContainsRune("\"\\$`", runes[i+1])):
			i++
			word.WriteRune(runes[i])
		default:
			word.WriteRune(r)
		}
		begun = true
	}
	if state != plain {
		return nil
	}
	if begun {
		words = append(words, word.String())
	}
	return words
}
