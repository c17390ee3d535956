package adapter

import (
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

// IsText reports whether a file of the type kind can be read as text.
func IsText(kind string, data []byte) bool {
	return strings.HasPrefix(kind, "text/") || utf8.Valid(data) && strings.IndexByte(string(data), 0) < 0
}

// FileText returns a file of text as a part of the prompt.
func FileText(p llm.Part) string {
	return fmt.Sprintf("<file name=%q>\n%s\n</file>", FileName(p), p.Data)
}

// DescribeFile returns a file of the type kind in words, for the user to see which one is
// not sent; see LeftOut.
func DescribeFile(p llm.Part, kind string) string {
	if len(p.Data) == 0 && p.URL != "" {
		return fmt.Sprintf("%s by its address (%s)", FileName(p), kind)
	}
	return fmt.Sprintf("%s (%s, %d bytes)", FileName(p), kind, len(p.Data))
}

// OmittedFile returns what stands for a file of the type kind that cannot be sent.
func OmittedFile(p llm.Part, kind string) string {
	return fmt.Sprintf("[file left out: %s, %s, %d bytes]", FileName(p), kind, len(p.Data))
}

// FromBase64 decodes base64 of either alphabet, with or without padding and line breaks.
func FromBase64(text string) ([]byte, error) {
	text = strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(text)
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
}

// UnreadableFile returns what tells the user of a file of an answer that could not be decoded.
func UnreadableFile(kind string) string {
	return "the model sent a file that cannot be read (" + cmp.Or(kind, "of no type") + "); left out"
}
