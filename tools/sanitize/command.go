package sanitize

import (
	"net/url"
	"slices"
	"sort"
	"strings"

	"parley/tools/lazy"
)

// keyRun matches the characters that can be hidden in a command line: those that keys consist of.
// None of them has a meaning to shells or interpreters, so that no code can be hidden.
const keyRun = `[A-Za-z0-9_.+=~/:@%-]`

var isKeyRun = lazy.NewRegexp(`^` + keyRun + `+$`)

// headerShape matches NAME: VALUE at the end of an argument, or between quotes.
var headerShape = lazy.NewRegexp(`(^|[\s"'=])([A-Za-z][A-Za-z0-9_-]*):[ \t]*((?i:bearer|basic|token)[ \t]+)?(` + keyRun + `{6,})(["']|$)`)

// dataSource matches the password of "user:password@tcp(host)/database".
var dataSource = lazy.NewRegexp(`^[^:/@=]*:(` + keyRun + `+)@(tcp|udp|unix)\(`)

var optionShape = lazy.NewRegexp(`^--?[A-Za-z0-9_.-]+$`)

// A span is the position of a secret in a text, in bytes.
type span struct{ from, to int }

// CommandSecrets returns the secrets in a command line: the values of options ("--api-key KEY",
// "--api-key=KEY"), of variables ("-e API_KEY=KEY") and of headers ("Authorization: Bearer KEY")
// whose names suggest a secret; the parts of addresses that [URLSecrets] finds; and words that look
// like a key, unless they are the value of an option for a name ("--project-id"). Secrets consist of
// [A-Za-z0-9_.+=~/:@%-] only.
func CommandSecrets(argv []string) (secrets []string) {
	for i, spans := range commandSpans(argv, false) {
		for _, s := range spans {
			secret := argv[i][s.from:s.to]
			secrets = append(secrets, secret)
			if plain, err := url.PathUnescape(secret); err == nil && plain != secret {
				secrets = append(secrets, plain)
			}
		}
	}
	return secrets
}

// RedactCommand returns the words of a command line for display, with [Redacted] in place of the secrets
// that [CommandSecrets] finds. It does not hide anything elsewhere, in the program, or in words that a
// launcher such as npx or docker may run, except for passwords in their addresses. quote quotes a word for
// a shell; nil for lines that are a shell's, which are not quoted.
func RedactCommand(argv []string, quote func(string) string) (shown []string) {
	for i, spans := range commandSpans(argv, true) {
		word := argv[i]
		if quote != nil && i == 0 {
			spans = nil
		}
		for _, s := range slices.Backward(spans) {
			word = word[:s.from] + Redacted + word[s.to:]
		}
		if quote != nil && quote(argv[i]) != argv[i] {
			word = quote(word)
		}
		shown = append(shown, word)
	}
	return shown
}

// commandSpans returns the positions of secrets in each word, in order and without overlaps. With
// shown, words that a launcher may run are not treated as secrets, because the user must see them.
func commandSpans(argv []string, shown bool) [][]span {
	all := make([][]span, len(argv))
	option := "" // the previous word, if it is an option
	var l launch
	for i, arg := range argv {
		begins := i == 0 || strings.ContainsAny(arg, " \t\n")
		if all[i] = headerSpans(arg); strings.ContainsAny(arg, " \t\n") && !schemeValue.MatchString(arg) {
			option = "" // its value is the whole word
		}
		for line, at := range pieces(arg, "\n\r") { // a shell line has several words or lines
			begins = begins || at > 0
			for word, start := range pieces(line, " \t\v\f") {
				start += at
				if shown && !isScriptName(argv, i) && l.names(word, begins) {
					all[i] = slices.DeleteFunc(all[i], func(s span) bool { return s.to > start && s.from < start+len(word) })
					all[i] = append(all[i], targetSpans(word, start)...)
				} else {
					all[i] = append(all[i], pieceSpans(option, word, start)...)
				}
				begins = beginsCommand(begins, word)
				if option == "" || !isScheme(word) {
					option = optionOf(word)
				}
			}
			if at+len(line) < len(arg) {
				option = ""
			}
		}
		sort.SliceStable(all[i], func(j, k int) bool { return all[i][j].from < all[i][k].from })
		end := 0
		all[i] = slices.DeleteFunc(all[i], func(s span) bool {
			inside := s.from < end
			end = max(end, s.to)
			return inside
		})
	}
	return all
}

// schemeValue matches values such as "Bearer KEY".
var schemeValue = lazy.NewRegexp(`^(?i:bearer|basic|token)[ \t]+` + keyRun + `+$`)

func isScheme(word string) bool {
	return slices.Contains([]string{"bearer", "basic", "token"}, strings.ToLower(word))
}

// pieces yields the parts between separators with their offsets.
func pieces(text, separators string) func(yield func(string, int) bool) {
	return func(yield func(string, int) bool) {
		for at := 0; at < len(text); {
			n := strings.IndexAny(text[at:], separators)
			if n < 0 {
				n = len(text) - at
			}
			if n > 0 && !yield(text[at:at+n], at) {
				return
			}
			at += n + 1
		}
	}
}

// optionOf returns word if it is an option whose value may be the next word; else "".
func optionOf(word string) string {
	if word = strings.Trim(word, `"'`); optionShape.MatchString(word) {
		return word
	}
	return ""
}

// headerSpans returns the positions of secrets in headers.
func headerSpans(arg string) (spans []span) {
	for _, m := range headerShape.FindAllStringSubmatchIndex(arg, -1) {
		if HoldsSecret(arg[m[4]:m[5]]) {
			spans = append(spans, span{m[8], m[9]})
		}
	}
	return spans
}

// pieceSpans returns the positions of secrets in a word without spaces at offset start, which is the
// value of name.
func pieceSpans(name, word string, start int) (spans []span) {
	plain := strings.TrimLeft(word, `"'`)
	start += len(word) - len(plain)
	if plain != word && strings.Count(word, word[:1]) == 1 {
		name = "" // its value is longer than the word
	}
	plain = strings.TrimRight(plain, `"';`)
	_, value, _ := strings.Cut(word, "=")
	if isScheme(plain) || value != "" && strings.ContainsAny(value[:1], `"'`) && strings.Count(value, value[:1]) == 1 {
		return nil // only part of a quoted text
	}
	for _, s := range wordSpans(name, plain) {
		if s.from < s.to && isKeyRun.MatchString(plain[s.from:s.to]) {
			spans = append(spans, span{start + s.from, start + s.to})
		}
	}
	return spans
}

// namedKinds are last words of names whose values look random but are not secret.
var namedKinds = []string{"id", "ids", "sha", "hash", "digest", "commit", "rev", "ref", "tag", "image", "version"}

// wordSpans returns the positions of possible secrets in word, the value of name; name is "" if there is none.
func wordSpans(name, word string) []span {
	before, value, assigned := strings.Cut(word, "=")
	address := strings.Index(word, "://")
	source := dataSource.FindStringSubmatchIndex(word)
	switch {
	case word == "":
		return nil
	case assigned && before != "" && value != "" && (address < 0 || len(before) < address):
		inner := strings.TrimLeft(value, `"'`)
		return moved(wordSpans(before, inner), len(word)-len(inner))
	case strings.HasPrefix(word, "-"), strings.HasPrefix(word, "$"):
		return nil // another option, or a variable rather than its value
	case address > 0:
		return moved(addressSpans(word[address+len("://"):]), address+len("://"))
	case source != nil:
		return []span{{source[2], source[3]}}
	case HoldsSecret(name) && !isOrdinary(name, word):
		return []span{{0, len(word)}}
	}
	words := nameWords(name)
	if LooksSecret(word) && (len(words) == 0 || !slices.Contains(namedKinds, words[len(words)-1])) {
		return []span{{0, len(word)}}
	}
	return nil
}

func moved(spans []span, by int) []span {
	for i := range spans {
		spans[i].from += by
		spans[i].to += by
	}
	return spans
}

// addressSpans returns the positions of secrets in an address without its scheme, valid or not, as
// [URLSecrets] finds them.
func addressSpans(rest string) (spans []span) {
	host := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		host = rest[:end]
	}
	if at := strings.LastIndex(host, "@"); at >= 0 {
		user, _, ok := strings.Cut(host[:at], ":")
		if ok {
			spans = append(spans, span{len(user) + 1, at})
		}
		if !ok || LooksSecret(user) {
			spans = append(spans, span{0, len(user)})
		}
	}
	path, fragment, _ := strings.Cut(rest[len(host):], "#")
	path, query, _ := strings.Cut(path, "?")
	before := ""
	for part, at := range pieces(path, "/") {
		if isSecretPart(before, part) {
			spans = append(spans, span{len(host) + at, len(host) + at + len(part)})
		}
		before = part
	}
	for pair, at := range pieces(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if HoldsSecret(name) || LooksSecret(value) {
			at += len(host) + len(path) + len("?") + len(pair)
			spans = append(spans, span{at - len(value), at})
		}
	}
	if LooksSecret(fragment) {
		spans = append(spans, span{len(rest) - len(fragment), len(rest)})
	}
	return spans
}

// isOrdinary reports whether a value is not secret although its name could mean one: a path, or a word
// ("--key name", "--sort-key created-at").
func isOrdinary(name, value string) bool {
	words := nameWords(name)
	last := words[len(words)-1]
	if !slices.Contains([]string{"key", "auth", "sig", "credential", "credentials"}, last) {
		return false
	}
	if strings.ContainsAny(value[:1], "/.~") {
		return true
	}
	kinds := []string{"api", "access", "secret", "private", "auth", "license", "service", "account", "subscription", "encryption", "signing", "master"}
	if strings.HasPrefix(last, "credential") || len(words) > 1 && slices.Contains(kinds, words[len(words)-2]) {
		return false
	}
	return !strings.ContainsAny(value, "0123456789")
}
