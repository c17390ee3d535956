package format

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"

	"parley/tools/lazy"
)

// ErrorText returns the text of an error in the words of the system instead of Go's: without the
// names of calls ("open x: no such file or directory", `Get "https://h": dial tcp: lookup h`), and
// with a repeated path only once. It is not sanitized.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	text := strings.TrimSuffix(err.Error(), ": "+context.Canceled.Error())
	if text == context.Canceled.Error() {
		text = "stopped"
	}
	replaceWords(err, func(said, path, plain string) {
		if path != "" {
			text = strings.ReplaceAll(text, path+": "+said, path+": "+plain)
			plain = path + ": " + plain
		}
		text = strings.ReplaceAll(text, said, plain)
	})
	text = jsonWords.ReplaceAllString(text, "unexpected character ${1}")
	return eof.ReplaceAllString(text, "${1}unexpected end of the file")
}

// jsonWords matches encoding/json's message about a character, with the state of its
// decoder (scanner.go).
var jsonWords = lazy.NewRegexp(`invalid character ('(?:[^']|\\')+') (?:looking for beginning of (?:value|object key string)|` +
	`after (?:object key(?::value pair)?|array element|top-level value|decimal point in numeric literal)|` +
	`in (?:string literal|string escape code|\\u hexadecimal character escape|numeric literal|exponent of numeric literal|literal \w+ \(expecting '.'\)))`)

// eof matches the words for an unexpected end, alone or after the name of the thing that ended.
var eof = lazy.NewRegexp(`(^|[:;] )(?:unexpected )?EOF\b`)

// replaceWords calls replace for each error within err that has Go's words, the innermost last.
// said is its text. about is the path or address that it concerns, "" for none or if plain contains
// it. plain is its text without the name of the call.
func replaceWords(err error, replace func(said, about, plain string)) {
	switch e := err.(type) {
	case *fs.PathError:
		replace(e.Error(), e.Path, e.Err.Error())
	case *os.LinkError:
		replace(e.Error(), e.New, e.Err.Error())
	case *os.SyscallError:
		replace(e.Error(), "", e.Err.Error())
	case *exec.Error:
		if errors.Is(e.Err, exec.ErrNotFound) {
			replace(e.Error(), "", e.Name+" is not on PATH")
		} else {
			replace(e.Error(), e.Name, e.Err.Error())
		}
	case *net.DNSError:
		if e.IsNotFound {
			replace(e.Error(), "", "host "+e.Name+" not found")
		} else {
			replace(e.Error(), "", "host "+e.Name+" could not be looked up: "+e.Err)
		}
	case *net.OpError:
		about, lookup := "", new(net.DNSError)
		if e.Addr != nil && !errors.As(e.Err, &lookup) {
			about = e.Addr.String()
		}
		replace(e.Error(), about, e.Err.Error())
	case *url.Error:
		replace(e.Error(), e.URL, e.Err.Error())
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			replaceWords(inner, replace)
		}
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			replaceWords(inner, replace)
		}
	}
}
