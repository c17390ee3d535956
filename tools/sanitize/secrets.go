package sanitize

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"parley/tools/lazy"
)

// KeyShapes is what keys and tokens of well-known services look like, for
// regexp and for sed -E.
const KeyShapes = keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}|([Bb]earer|[Bb]asic) +[A-Za-z0-9_.+=~-]{8,}`

const keyPrefixes = `(sk-|sk_|pk-|rk_|xai-|gsk_|hf_|r8_|nvapi-|tvly-|gh[oprsu]_|github_pat_|glpat-|AIza|AKIA|ya29[.]|xox[a-z]-|dop_v1_|shpat_|pypi-AgEI|eyJ)`

var keyShape = lazy.NewRegexp(`^` + keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}$`)

var uuidShape = lazy.NewRegexp(`(?i)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// secretNames are the last words of the names of what holds a secret.
var secretNames = []string{
	"token", "secret", "password", "passwd", "passphrase", "passcode", "pwd", "pass", "key", "apikey", "credential", "credentials",
	"bearer", "auth", "authorization", "cookie", "pat", "signature", "sig",
}

// HoldsSecret reports whether an option, a variable, a header or a parameter of a URL is called
// as what holds a secret: "--api-key", "GITHUB_TOKEN", "Authorization", but not "--token-limit".
func HoldsSecret(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(secretNames, last) ||
		slices.ContainsFunc(secretEndings, func(ending string) bool { return strings.HasSuffix(last, ending) })
}

// secretEndings are endings of what is no ordinary word, as "key" is one of "monkey": "openaitoken".
var secretEndings = []string{"apikey", "token", "secret", "password", "passwd"}

// secretParts are in the words of names of variables that hold keys and passwords: "NPM_AUTHTOKEN".
var secretParts = []string{"key", "token", "secret", "pass", "credential", "auth"}

// secretVariableWords are such words that only count whole: "MYSQL_PWD", "SENTRY_DSN".
var secretVariableWords = []string{"pwd", "pat", "dsn", "jwt", "creds", "bearer", "cookie", "cookies", "webhook"}

// ordinaryWords have one of secretParts in them, and are no secrets.
var ordinaryWords = []string{
	"keyboard", "keymap", "keymaps", "keycode", "keycodes", "keypad", "keyword", "keywords", "keyframe", "keytimeout",
	"keycloak", "lesskey", "portkey", "monkey", "donkey", "turkey", "hockey", "jockey", "whiskey",
	"tokenizer", "tokenizers", "tokenize", "author", "authors", "authority", "xauthority",
	"askpass", "bypass", "compass", "passenger", "passive", "passthrough", "passage", "secretary",
}

// publicVariables are called as secrets are, and hold where something is, or how much: to mask that
// would spoil what is said of it.
var publicVariables = []string{"SSH_AUTH_SOCK", "PASSWORD_STORE_DIR", "PWD", "GNOME_KEYRING_CONTROL", "GNOME_KEYRING_PID", "PIP_KEYRING_PROVIDER",
	"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_THINKING_TOKENS"}

// serverURL matches variables that hold the address of a server, with a password often.
var serverURL = lazy.NewRegexp(`(?i)(database|db|postgres(ql)?|pg|mysql|mariadb|mongo(db)?|redis|amqp|rabbitmq|broker)_?(ur[li]|dsn)$|connection_?string`)

// IsSecretVariable reports whether a variable of the environment may hold a secret by the words of its
// name, whose case does not count: unlike HoldsSecret, it prefers one too many. It is false for "".
func IsSecretVariable(name string) bool {
	if slices.Contains(publicVariables, strings.ToUpper(name)) {
		return false
	}
	return serverURL.MatchString(name) || slices.ContainsFunc(slices.Concat(nameWords(name), nameWords(strings.ToLower(name))), func(word string) bool {
		return slices.Contains(secretVariableWords, word) || !slices.Contains(ordinaryWords, word) &&
			slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(word, part) })
	})
}

// nameWords returns the words of a name in small letters: "apiKey", "APIKey" and "--api-key" are api and key.
func nameWords(name string) []string {
	name = wordBorder.ReplaceAllString(name, "$1$3 $2$4")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// wordBorder finds where a word begins within letters: a capital after a small letter, or the last
// capital of several before at least two small letters ("APIToken", but not "IDs").
var wordBorder = lazy.NewRegexp(`(\p{Ll})(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})`)

// minRandom is how many letters and digits in a row there are at least in what is taken for random.
const minRandom = 16

// LooksSecret reports whether a word is a key by its looks: it begins as those of well-known
// services do, or has a run of at least 16 letters and digits which change between capitals,
// small letters and digits as random ones do. Paths, words and version numbers are none.
func LooksSecret(word string) bool {
	if keyShape.MatchString(word) {
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
		if plain, err := url.PathUnescape(part); err == nil && isSecretPart(before, part) {
			secrets = append(secrets, plain, part)
		}
		before = part
	}
	if LooksSecret(u.Fragment) {
		secrets = append(secrets, u.Fragment)
	}
	return secrets
}

// isSecretPart reports whether a part of a path, as it is escaped, must not be shown.
func isSecretPart(before, part string) bool {
	plain, err := url.PathUnescape(part)
	if err != nil {
		plain = part
	}
	named := (before == "s" || HoldsSecret(before)) && strings.ContainsAny(part, "0123456789")
	return named || LooksSecret(plain) || uuidShape.MatchString(plain)
}
