package sanitize

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
)

// KeyShapes is what keys and tokens of well-known services look like, for
// regexp and for sed -E.
const KeyShapes = keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}|([Bb]earer|[Bb]asic) +[A-Za-z0-9_.+=~-]{8,}`

const keyPrefixes = `(sk-|sk_|pk-|rk_|xai-|gsk_|hf_|r8_|nvapi-|tvly-|gh[opsu]_|github_pat_|glpat-|AIza|AKIA|ya29[.]|xox[a-z]-|eyJ)`

var keyShape = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^` + keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}$`) })

var uuidShape = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)
})

// secretNames are the last words of the names of what holds a secret.
var secretNames = []string{
	"token", "secret", "password", "passwd", "passphrase", "passcode", "pwd", "pass", "key", "apikey", "credential", "credentials",
	"bearer", "auth", "authorization", "cookie", "pat", "signature", "sig",
}

// HoldsSecret reports whether an option, a variable, a header or a parameter of a URL is called
// as what holds a secret: "--api-key", "GITHUB_TOKEN", "Authorization", but not "--token-limit".
func HoldsSecret(name string) bool {
	words := nameWords(name)
	return len(words) > 0 && slices.Contains(secretNames, words[len(words)-1])
}

// nameWords returns the words of a name in small letters: "apiKey" and "--api-key" are api and key.
func nameWords(name string) []string {
	var b strings.Builder
	lower := false // the letter before
	for _, r := range name {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// minRandom is how many letters and digits in a row there are at least in what is taken for random.
const minRandom = 16

// LooksSecret reports whether a word is a key by its looks: it begins as those of well-known
// services do, or has a run of at least 16 letters and digits which change between capitals,
// small letters and digits as random ones do. Paths, words and version numbers are none.
func LooksSecret(word string) bool {
	if keyShape().MatchString(word) {
		return true
	}
	if strings.ContainsAny(word, `/\@`) || strings.HasPrefix(word, "sha256:") {
		return false
	}
	for _, run := range strings.FieldsFunc(word, func(r rune) bool { return alnumClass(r) == 0 }) {
		changes, before := 0, alnumClass(rune(run[0]))
		for _, r := range run {
			c := alnumClass(r)
			if c != before && !(before == 'A' && c == 'a') { // "someName" changes once
				changes++
			}
			before = c
		}
		if len(run) >= minRandom && changes*5 > len(run) {
			return true
		}
	}
	return false
}

// alnumClass tells small letters, capitals and digits apart; 0 is none of them.
func alnumClass(r rune) rune {
	switch {
	case 'a' <= r && r <= 'z':
		return 'a'
	case 'A' <= r && r <= 'Z':
		return 'A'
	case '0' <= r && r <= '9':
		return '0'
	}
	return 0
}

// URLSecrets returns what of an address must not be shown: its password, or its user where there
// is none; parameters that are called as secrets or look like one; and the parts of its path that do,
// are a UUID, or follow one that is called as a secret ("/token/…", "/s/…").
func URLSecrets(u *url.URL) (secrets []string) {
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	if user := u.User.Username(); user != "" && len(secrets) == 0 || LooksSecret(user) {
		secrets = append(secrets, user)
	}
	for name, values := range u.Query() {
		for _, v := range values {
			if HoldsSecret(name) || LooksSecret(v) {
				secrets = append(secrets, v)
			}
		}
	}
	before := ""
	for _, part := range strings.Split(u.EscapedPath(), "/") {
		plain, err := url.PathUnescape(part)
		named := (before == "s" || HoldsSecret(before)) && strings.ContainsAny(part, "0123456789")
		if err == nil && (named || LooksSecret(plain) || uuidShape().MatchString(plain)) {
			secrets = append(secrets, plain, part)
		}
		before = part
	}
	if LooksSecret(u.Fragment) {
		secrets = append(secrets, u.Fragment)
	}
	return secrets
}

// CommandSecrets returns what of a command line must not be shown: the values of options
// ("--api-key KEY", "--api-key=KEY"), of variables ("-e API_KEY=KEY") and of headers
// ("Authorization: Bearer KEY") that are called as secrets; what [URLSecrets] finds in addresses; and
// words that look like a key, unless they are the value of an option that names something
// ("--project-id").
func CommandSecrets(argv []string) (secrets []string) {
	option := "" // that the word before is
	for _, arg := range argv {
		if name, value, ok := strings.Cut(arg, ":"); ok && HoldsSecret(name) && !strings.ContainsAny(name, " =/") {
			secrets, option = append(secrets, headerSecrets(value)...), ""
			continue
		}
		for _, word := range strings.Fields(arg) { // a line for a shell has several
			word = strings.Trim(word, `"';`)
			secrets = append(secrets, wordSecrets(option, word)...)
			if option = ""; strings.HasPrefix(word, "-") && !strings.Contains(word, "=") {
				option = word
			}
		}
	}
	return secrets
}

// headerSecrets returns what is secret in the value of a header: all of it, and it without "Bearer".
func headerSecrets(value string) []string {
	words := strings.Fields(value)
	if len(words) == 0 {
		return nil
	}
	return []string{strings.TrimSpace(value), words[len(words)-1]}
}

// namedKinds are the last words of the names of what has a random value that is no secret.
var namedKinds = []string{"id", "ids", "sha", "hash", "digest", "commit", "rev", "ref", "tag", "image", "version"}

// wordSecrets returns what is secret in the value of name, which is "" if it has none.
func wordSecrets(name, word string) []string {
	before, value, assigned := strings.Cut(word, "=")
	address := strings.Index(word, "://")
	switch {
	case word == "":
		return nil
	case assigned && before != "" && value != "" && (address < 0 || len(before) < address):
		return wordSecrets(before, strings.Trim(value, `"'`))
	case strings.HasPrefix(word, "-"), strings.HasPrefix(word, "$"):
		return nil // another option; a variable, which is not its value
	case address > 0:
		if u, err := url.Parse(word); err == nil {
			return URLSecrets(u)
		}
	case HoldsSecret(name) && !isOrdinary(name, word):
		return []string{word}
	}
	words := nameWords(name)
	if LooksSecret(word) && (len(words) == 0 || !slices.Contains(namedKinds, words[len(words)-1])) {
		return []string{word}
	}
	return nil
}

// isOrdinary reports whether the value of what may hold a secret is none: a path, or a word where
// the name is one of many things ("--key name", "--sort-key created-at").
func isOrdinary(name, value string) bool {
	if strings.ContainsAny(value[:1], "/.~") {
		return true
	}
	words := nameWords(name)
	if last := words[len(words)-1]; last != "key" && last != "auth" && last != "sig" {
		return false
	}
	kinds := []string{"api", "access", "secret", "private", "auth", "license", "service", "account", "subscription", "encryption", "signing", "master"}
	if len(words) > 1 && slices.Contains(kinds, words[len(words)-2]) {
		return false
	}
	return !strings.ContainsAny(value, "0123456789")
}
