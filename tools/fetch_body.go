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
	maxWire        = 5 << 20  // bytes that come over the wire
	maxBody        = 10 << 20 // bytes after decompression
	maxRatio       = 100      // of the two, once a body is larger than unrated
	ratioThreshold = 1 << 20  // bytes; smaller bodies may compress better than maxRatio
	sniffLen       = 512      // bytes that decide what a body is
)

// A fetchedBody is what a server sent, as far as it was read.
type fetchedBody struct {
	data        []byte
	mediaType   string // media type, such as "text/html"
	contentType string // the whole Content-Type; "" if the server gave none
	size        int64  // bytes that the server announces; -1 if it does not
	truncated   bool   // data is only the beginning
	media       bool   // it is an image or a PDF, which models look at
	notes       []string
}

// renderedBody is a body as it is shown.
type renderedBody struct {
	text, title, what string // what is "text/html, 12 KB"
	notes             []string
}

// readBody reads as much of the body as is allowed, or, of what is no text,
// enough to tell what it is; whole reads that as well.
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

// handleReadError deals with how reading ended. What is too large, or broke off, is shown in
// part.
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

// inflatedReader reads a body up to the limits of its size.
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

// isText reports whether a body can be shown as text. Of what has no telling
// type its beginning decides.
func isText(kind string, start []byte) bool {
	switch {
	case strings.HasPrefix(kind, "text/"), textTypes[kind], strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml") && kind != "image/svg+xml":
		return true
	case kind == "application/octet-stream" || kind == "binary/octet-stream":
		return strings.HasPrefix(http.DetectContentType(start), "text/")
	}
	return false
}

// render shows the body, of the page at an address, in a format.
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

// RenderHTML returns the title and the text of a web page from an address, as Markdown or plain text, and how
// many elements are left out because no reader sees them; nil: pages are shown as they are.
var RenderHTML func(text string, at *url.URL, markdown bool) (title, body string, hidden int, err error)

// maxHTML is how much of a page is rendered, in bytes: what takes a second.
const maxHTML = 2 << 20

// decodeText returns the text in UTF-8. What is UTF-8 already is taken for it, whatever
// a server says; otherwise the header decides, then what an HTML page says of
// itself. False if neither says it and it had to be guessed.
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
	return string(plain), certain || name != "windows-1252" // which is the guess
}

// trimPartialRune returns data without a character that its end cut in two.
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

// formatBytes returns a size for people.
func formatBytes(n int64) string {
	switch {
	case n < 1<<10:
		return pluralize(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
}
