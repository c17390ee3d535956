package wire

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"parley/tools/lazy"
)

// Curl returns a command for a shell that sends the request again. Keys are variables
// in it, such as $OPENAI_API_KEY. It is "" where the body was not kept whole.
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

// curlHeaders lists the headers that curl sends itself.
var curlHeaders = []string{"Content-Length", "Accept-Encoding", "User-Agent", "Host", "Connection"}

var validVariable = lazy.NewRegexp(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variable returns what a shell calls the secret in a header: by the variable that
// held the key, or by a name like it.
func (e Exchange) variable(header string) string {
	if !slices.Contains([]string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Api-Key"}, header) {
		return variableName(header)
	}
	if validVariable.MatchString(e.Key) {
		return e.Key
	}
	return variableName(cmp.Or(e.Provider, "provider") + "_API_KEY")
}

// variableName returns s as the name of a variable.
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

// shellQuote returns s as one word of a shell.
func shellQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// shellQuoteHeader returns a header as one word of a shell, with the variable in the place
// of what was masked.
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
