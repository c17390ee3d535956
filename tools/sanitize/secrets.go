package sanitize

import (
	"net/url"
	"slices"
	"strings"
	"unicode"

	"parley/tools/lazy"
)

// KeyShapes matches keys and tokens of well-known services, in the syntax of
// regexp and sed -E.
const KeyShapes = keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}|([Bb]earer|[Bb]asic) +[A-Za-z0-9_.+=~-]{8,}`

const keyPrefixes = `(sk-|sk_|pk-|rk_|xai-|gsk_|hf_|r8_|nvapi-|tvly-|gh[oprsu]_|github_pat_|glpat-|AIza|AKIA|ya29[.]|xox[a-z]-|dop_v1_|shpat_|pypi-AgEI|eyJ)`

var keyShape = lazy.NewRegexp(`^` + keyPrefixes + `[A-Za-z0-9_.+=~-]{8,}$`)

var uuidShape = lazy.NewRegexp(`(?i)^[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}$`)

// secretNames are last words of names that hold a secret.
var secretNames = []string{
	"token", "secret", "password", "passwd", "passphrase", "passcode", "pwd", "pass", "key", "apikey", "credential", "credentials",
	"bearer", "auth", "authorization", "cookie", "pat", "signature", "sig",
}

// HoldsSecret reports whether the name of an option, variable, header or URL parameter suggests
// a secret: "--api-key", "GITHUB_TOKEN", "Authorization", but not "--token-limit".
func HoldsSecret(name string) bool {
	words := nameWords(name)
	if len(words) == 0 {
		return false
	}
	last := words[len(words)-1]
	return slices.Contains(secretNames, last) ||
		slices.ContainsFunc(secretEndings, func(ending string) bool { return strings.HasSuffix(last, ending) })
}

// secretEndings are endings of compound words that suggest a secret, such as "openaitoken"; "key" is not one because of
// "monkey".
var secretEndings = []string{"apikey", "token", "secret", "password", "passwd"}

// secretParts occur in words of variable names for keys and passwords: "NPM_AUTHTOKEN".
var secretParts = []string{"key", "token", "secret", "pass", "credential", "auth"}

// secretVariableWords suggest a secret only as whole words: "MYSQL_PWD", "SENTRY_DSN".
var secretVariableWords = []string{"pwd", "pat", "dsn", "jwt", "creds", "bearer", "cookie", "cookies", "webhook"}

// ordinaryWords contain one of secretParts but do not suggest a secret.
var ordinaryWords = []string{
	"keyboard", "keymap", "keymaps", "keycode", "keycodes", "keypad", "keyword", "keywords", "keyframe", "keytimeout",
	"keycloak", "lesskey", "portkey", "monkey", "donkey", "turkey", "hockey", "jockey", "whiskey",
	"tokenizer", "tokenizers", "tokenize", "author", "authors", "authority", "xauthority",
	"askpass", "bypass", "compass", "passenger", "passive", "passthrough", "passage", "secretary",
}

// publicVariables have names that suggest secrets, but hold places or amounts, which should not be
// masked.
var publicVariables = []string{"SSH_AUTH_SOCK", "PASSWORD_STORE_DIR", "PWD", "GNOME_KEYRING_CONTROL", "GNOME_KEYRING_PID", "PIP_KEYRING_PROVIDER",
	"CLAUDE_CODE_MAX_OUTPUT_TOKENS", "MAX_THINKING_TOKENS"}

// serverURL matches variables for the address of a server, which often includes a password.
var serverURL = lazy.NewRegexp(`(?i)(database|db|postgres(ql)?|pg|mysql|mariadb|mongo(db)?|redis|amqp|rabbitmq|broker)_?(ur[li]|dsn)$|connection_?string`)

// IsSecretVariable reports whether the name of an environment variable, ignoring case, suggests a
// secret. Unlike HoldsSecret, it errs on the side of true. It is false for "".
func IsSecretVariable(name string) bool {
	if slices.Contains(publicVariables, strings.ToUpper(name)) {
		return false
	}
	return serverURL.MatchString(name) || slices.ContainsFunc(slices.Concat(nameWords(name), nameWords(strings.ToLower(name))), func(word string) bool {
		return slices.Contains(secretVariableWords, word) || !slices.Contains(ordinaryWords, word) &&
			slices.ContainsFunc(secretParts, func(part string) bool { return strings.Contains(word, part) })
	})
}

// nameWords returns the words of a name in lower case: "apiKey", "APIKey" and "--api-key" are api and key.
func nameWords(name string) []string {
	name = wordBorder.ReplaceAllString(name, "$1$3 $2$4")
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// wordBorder matches the beginning of a word within letters: a capital after a small letter, or
// the last of several capitals before at least two small letters ("APIToken", but not "IDs").
var wordBorder = lazy.NewRegexp(`(\p{Ll})(\p{Lu})|(\p{Lu})(\p{Lu}\p{Ll}\p{Ll})`)

// minRandom is the shortest run of letters and digits that can count as random.
const minRandom = 16

// LooksSecret reports whether a word looks like a key: it begins like those of well-known
// services, or has a run of at least 16 letters and digits that alternate between capitals,
// small letters and digits like random ones. Paths, words and version numbers do not.
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

// alnumClass distinguishes small letters, capitals and digits; 0 is anything
// else.
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

// URLSecrets returns the secrets in an address: its password, or its user if there is none;
// parameters whose name suggests a secret or whose value looks like one; and path elements that look
// like one, are a UUID, or follow one whose name suggests a secret ("/token/…", "/s/…").
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

// isSecretPart reports whether an escaped path element must be masked.
func isSecretPart(before, part string) bool {
	plain, err := url.PathUnescape(part)
	if err != nil {
		plain = part
	}
	named := (before == "s" || HoldsSecret(before)) && strings.ContainsAny(part, "0123456789")
	return named || LooksSecret(plain) || uuidShape.MatchString(plain)
}
