package adapter

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"fmt"
	"mime"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
)

// MIMEType returns the type of a file without its parameters, in lower case.
func MIMEType(p llm.Part) string {
	kind, _, err := mime.ParseMediaType(p.MIME)
	if err != nil {
		return strings.ToLower(p.MIME)
	}
	return kind
}

// FileName returns the name of a file; "file" if it has none.
func FileName(p llm.Part) string { return cmp.Or(p.Name, "file") }

// FileText returns the text in a prompt for a file of type kind that is not sent as a file: its
// content, or a note that it is left out. In that case it adds the file to omitted for the user;
// see LeftOut.
func FileText(p llm.Part, kind string, omitted *[]string) string {
	name, size := FileName(p), len(p.Data)
	if size > 0 && (strings.HasPrefix(kind, "text/") || utf8.Valid(p.Data) && bytes.IndexByte(p.Data, 0) < 0) {
		return fmt.Sprintf("<file name=%q>\n%s\n</file>", name, p.Data)
	}
	told := fmt.Sprintf("%s (%s, %d bytes)", name, kind, size)
	if size == 0 && p.URL != "" {
		told = fmt.Sprintf("%s by its address (%s)", name, kind)
	}
	*omitted = append(*omitted, told)
	return fmt.Sprintf("[file left out: %s, %s, %d bytes]", name, kind, size)
}

// FromBase64 decodes base64 of either alphabet, with or without padding and line breaks.
func FromBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// UnreadableFile returns the notice about a file in an answer that could not be decoded.
func UnreadableFile(kind string) string {
	return "the model sent a file that cannot be read (" + cmp.Or(kind, "of no type") + "); left out"
}
