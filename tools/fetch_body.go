package tools

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// The bounds of a body.
const (
	maxWire        = 5 << 20  // bytes on the wire
	maxBody        = 10 << 20 // bytes after decompression
	maxRatio       = 100      // decompressed to compressed size, for bodies beyond ratioThreshold
	ratioThreshold = 1 << 20  // bytes; smaller bodies may compress better than maxRatio
	sniffLen       = 512      // bytes used to detect the type of a body
)

// A fetchedBody is the part of a response body that was read.
type fetchedBody struct {
	data        []byte
	mediaType   string // such as "text/html"
	contentType string // the whole Content-Type; "" if the server gave none
	size        int64  // bytes announced by the server; -1 if unknown
	truncated   bool   // data is only the beginning of the body
	media       bool   // an image or a PDF, which models can view
	notes       []string
}

// renderedBody is a body rendered as text.
type renderedBody struct {
	text, title, what string // what describes it, such as "text/html, 12 KB"
	notes             []string
}

// readBody reads the body up to the limits. Of binary content it reads only
// enough to detect the type, unless whole is set.
func readBody(res *http.Response, whole bool) (fetchedBody, error) {
	b := fetchedBody{contentType: res.Header.Get("Content-Type"), size: res.ContentLength}
	b.mediaType, _, _ = mime.ParseMediaType(b.contentType)
	wire := &io.LimitedReader{R: res.Body, N: maxWire}
	var in io.Reader = wire
	switch encoding := strings.ToLower(strings.TrimSpace(res.Header.Get("Content-Encoding"))); encoding {
	case "", "identity":
	case "gzip", "x-gzip":
		b.size = -1
		zip, err := gzip.NewReader(wire)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return b, fmt.Errorf("its compression is broken: %w", err)
		}
		in = zip
	default:
		return b, fmt.Errorf("it is compressed with %s, which was not asked for", quoteName(encoding))
	}
	bounded := &inflatedReader{in: in, wire: wire}
	var err error
	b.data, err = io.ReadAll(io.LimitReader(bounded, sniffLen))
	if b.mediaType == "" {
		b.mediaType, _, _ = mime.ParseMediaType(http.DetectContentType(b.data))
	}
	b.media = slices.Contains(mediaTypes, http.DetectContentType(b.data))
	if b.media {
		b.mediaType = http.DetectContentType(b.data)
	}
	if err == nil && len(b.data) == sniffLen && (whole || b.media || isText(b.mediaType, b.data)) {
		var rest []byte
		rest, err = io.ReadAll(bounded)
		b.data = append(b.data, rest...)
	}
	return b, b.handleReadError(err, wire)
}

// handleReadError handles the end of reading. A body that is too large or incomplete is
// shown in part.
func (b *fetchedBody) handleReadError(err error, wire *io.LimitedReader) error {
	b.truncated = true
	switch {
	case errors.Is(err, errLarge):
		b.notes = append(b.notes, note("only the first %d MiB were read", maxBody>>20))
	case wire.N <= 0 && (err == nil || errors.Is(err, io.ErrUnexpectedEOF)):
		b.notes = append(b.notes, note("only the first %d MiB were read", maxWire>>20))
	case errors.Is(err, io.ErrUnexpectedEOF) && len(b.data) > 0:
		b.notes = append(b.notes, note("the connection was lost: this is only a part"))
	default:
		b.truncated = false
		return err
	}
	return nil
}

var (
	errLarge = errors.New("it is too large")
	errBomb  = fmt.Errorf("it grows to more than %d times its size when decompressed", maxRatio)
)

// inflatedReader reads a decompressed body up to its size limits.
type inflatedReader struct {
	in   io.Reader
	wire *io.LimitedReader
	n    int64
}

func (b *inflatedReader) Read(p []byte) (int, error) {
	if b.n >= maxBody {
		return 0, errLarge
	}
	n, err := b.in.Read(p[:min(int64(len(p)), maxBody-b.n)])
	b.n += int64(n)
	if b.n > ratioThreshold && b.n/maxRatio > maxWire-b.wire.N {
		return n, errBomb
	}
	return n, err
}

// textTypes are media types of text that do not begin with "text/".
var textTypes = map[string]bool{
	"application/json": true, "application/ld+json": true, "application/x-ndjson": true, "application/xml": true,
	"application/xhtml+xml": true, "application/javascript": true, "application/ecmascript": true,
	"application/x-javascript": true, "application/yaml": true, "application/x-yaml": true, "application/toml": true,
	"application/sql": true, "application/x-sh": true, "application/graphql": true, "application/x-www-form-urlencoded": true,
}

// isText reports whether a body can be shown as text. If the media type does
// not say, its first bytes decide.
func isText(kind string, start []byte) bool {
	switch {
	case strings.HasPrefix(kind, "text/"), textTypes[kind], strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml":
		return true
	case kind == "application/octet-stream" || kind == "binary/octet-stream":
		return strings.HasPrefix(http.DetectContentType(start), "text/")
	}
	return false
}

// render renders the body of the page at an address in a format.
func (b fetchedBody) render(at *url.URL, format string) (renderedBody, error) {
	size := "of unknown size"
	switch {
	case len(b.data) == 0:
		return renderedBody{what: "and nothing in it"}, nil
	case isText(b.mediaType, b.data):
		size = formatBytes(int64(len(b.data)))
	case b.size >= 0:
		size = formatBytes(b.size)
	}
	c := renderedBody{what: truncate(b.mediaType, 100) + ", " + size, notes: b.notes}
	if !isText(b.mediaType, b.data) {
		c.notes = []string{note("this is no text and is not shown")}
		return c, nil
	}
	text, named := b.decodeText()
	if !named {
		c.notes = append(c.notes, note("it does not say how its characters are encoded"))
	}
	if RenderHTML == nil || format == "raw" || b.mediaType != "text/html" && b.mediaType != "application/xhtml+xml" {
		c.text = text
		return c, nil
	}
	if len(text) > maxHTML {
		text = text[:maxHTML]
		c.notes = append(c.notes, note("only the first %d MiB of its HTML are shown", maxHTML>>20))
	}
	title, text, hidden, err := RenderHTML(text, at, format != "text")
	if err != nil {
		return renderedBody{}, err
	}
	if hidden > 0 {
		c.notes = append(c.notes, note("%s removed, invisible to readers", pluralize(hidden, "element")))
	}
	c.title, _ = SanitizeAndTruncate(title, 300)
	c.text = text
	return c, nil
}

// RenderHTML returns the title and the text of a web page as Markdown or plain text, and the number of
// elements left out because they are not visible. Nil: pages are shown unrendered.
var RenderHTML func(text string, at *url.URL, markdown bool) (title, body string, hidden int, err error)

// maxHTML is how much of a page is rendered, in bytes; this takes about a
// second.
const maxHTML = 2 << 20

// decodeText returns the text in UTF-8. Valid UTF-8 is accepted regardless of the
// headers; otherwise the Content-Type decides, then the page's own declaration. It
// reports false if the encoding is a guess.
func (b fetchedBody) decodeText() (string, bool) {
	data := b.data
	if b.truncated {
		data = trimPartialRune(data)
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return strings.TrimPrefix(string(data), "\uFEFF"), true
	}
	encoding, name, certain := charset.DetermineEncoding(data, b.contentType)
	plain, err := encoding.NewDecoder().Bytes(data)
	if err != nil {
		return string(data), false
	}
	return string(plain), certain || name != "windows-1252" // windows-1252 is the fallback
}

// trimPartialRune removes an incomplete character from the end of data.
func trimPartialRune(data []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(data); i++ {
		if utf8.RuneStart(data[len(data)-i]) {
			if !utf8.FullRune(data[len(data)-i:]) {
				return data[:len(data)-i]
			}
			break
		}
	}
	return data
}

// formatBytes formats a size for display.
func formatBytes(n int64) string {
	switch {
	case n < 1<<10:
		return pluralize(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
