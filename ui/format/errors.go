package format

import (
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
)

// ErrorText returns what an error says, in the words of the system instead of those of Go: without
// the names of calls ("open x: no such file or directory", `Get "https://h": dial tcp: lookup h`),
// and a path once where it is said twice. It is not sanitized.
func ErrorText(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	replaceWords(err, func(said, path, plain string) {
		if path != "" {
			text = strings.ReplaceAll(text, path+": "+said, path+": "+plain)
			plain = path + ": " + plain
		}
		text = strings.ReplaceAll(text, said, plain)
	})
	text = jsonWords().ReplaceAllString(text, "unexpected character ${1}")
	return eof().ReplaceAllString(text, "${1}unexpected end of the file")
}

// jsonWords finds what encoding/json says of a character, with what its decoder was about
// (scanner.go).
var jsonWords = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`invalid character ('(?:[^']|\\')+') (?:looking for beginning of (?:value|object key string)|` +
		`after (?:object key(?::value pair)?|array element|top-level value|decimal point in numeric literal)|` +
		`in (?:string literal|string escape code|\\u hexadecimal character escape|numeric literal|exponent of numeric literal|literal \w+ \(expecting '.'\)))`)
})

// eof finds the words for an end that came too early, alone or behind what it is the end of.
var eof = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(^|[:;] )(?:unexpected )?EOF\b`) })

// replaceWords calls replace for each error within err whose words are Go's, the innermost last:
// with its words, the path or address it is about ("" for none, or where plain has it), and what it
// says without the name of its call.
func replaceWords(err error, replace func(said, about, plain string)) {
	var (
		file    *fs.PathError
		two     *os.LinkError
		call    *os.SyscallError
		program *exec.Error
		lookup  *net.DNSError
		dial    *net.OpError
		request *url.Error
	)
	switch e := err.(type) {
	case *fs.PathError:
		file = e
	case *os.LinkError:
		two = e
	case *os.SyscallError:
		call = e
	case *exec.Error:
		program = e
	case *net.DNSError:
		lookup = e
	case *net.OpError:
		dial = e
	case *url.Error:
		request = e
	}
	switch {
	case file != nil:
		replace(file.Error(), file.Path, file.Err.Error())
	case two != nil:
		replace(two.Error(), two.New, two.Err.Error())
	case call != nil:
		replace(call.Error(), "", call.Err.Error())
	case program != nil && errors.Is(program.Err, exec.ErrNotFound):
		replace(program.Error(), "", program.Name+" is not on PATH")
	case program != nil:
		replace(program.Error(), program.Name, program.Err.Error())
	case lookup != nil && lookup.IsNotFound:
		replace(lookup.Error(), "", "host "+lookup.Name+" not found")
	case lookup != nil:
		replace(lookup.Error(), "", "host "+lookup.Name+" could not be looked up: "+lookup.Err)
	case dial != nil && dial.Addr != nil && !errors.As(dial.Err, &lookup):
		replace(dial.Error(), dial.Addr.String(), dial.Err.Error())
	case dial != nil:
		replace(dial.Error(), "", dial.Err.Error())
	case request != nil:
		replace(request.Error(), request.URL, request.Err.Error())
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
