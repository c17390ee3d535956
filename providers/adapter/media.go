package adapter

import (
	"cmp"
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
