package wire

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// Curl returns a shell command that sends the request again, with variables such as $OPENAI_API_KEY
// in place of keys. It returns "" if the body was not kept completely.
func (e Exchange) Curl() string {
	if e.Request.Omitted > 0 {
		return ""
	}
	if e.Method == Run {
		words := []string{shellQuote(e.URL)}
		for _, arg := range e.Args {
			words = append(words, shellQuote(arg))
		}
		return "printf '%s' " + shellQuote(e.Request.Body) + " | " + strings.Join(words, " ") + "\n"
	}
	var b strings.Builder
	b.WriteString("curl " + shellQuote(e.URL))
	if e.Method != "GET" && e.Method != "POST" {
		b.WriteString(" -X " + shellQuote(e.Method))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Request.Header)) {
		if slices.Contains(curlHeaders, name) || strings.HasPrefix(name, "X-Stainless-") {
			continue
		}
		for _, value := range e.Request.Header[name] {
			b.WriteString(" \\\n  -H " + shellQuoteHeader(name, value, e.variable(name)))
		}
	}
	if e.Request.Body != "" || e.Method == "POST" {
		b.WriteString(" \\\n  --data-raw " + shellQuote(e.Request.Body))
	}
	return b.String() + "\n"
}

// curlHeaders lists the headers that curl sets itself.
var curlHeaders = []string{"Content-Length", "Accept-Encoding", "User-Agent", "Host", "Connection"}

var validVariable = lazy.NewRegexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable returns the shell variable for the secret in a header: the variable that held the key,
// or a similar name.
func (e Exchange) variable(header string) string {
	if !slices.Contains([]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}, header) {
		return variableName(header)
	}
	if validVariable.MatchString(e.Key) {
		return e.Key
	}
	return variableName(cmp.Or(e.Provider, "provider") + "_API_KEY")
}

// variableName converts s to a variable name.
func variableName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		}
		return '_'
	}, s)
}

// shellQuote quotes s as one word for the shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shellQuoteHeader quotes a header as one word for the shell, with the variable in place of the
// masked text.
func shellQuoteHeader(name, value, variable string) string {
	if !strings.Contains(value, redacted) {
		return shellQuote(name + ": " + value)
	}
	pieces := strings.Split(name+": "+value, redacted)
	for i, p := range pieces {
		pieces[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(p)
	}
	return `"` + strings.Join(pieces, "$"+variable) + `"`
}
