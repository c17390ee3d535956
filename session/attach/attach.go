// Package attach turns things that a user hands over (a file, the clipboard, a
// path dragged into the terminal, an @mention) into parts of a prompt that
// every provider accepts.
//
//	File, Bytes ──► sniff ─┬► text: UTF-8 between tags that name the file
//	                       ├► image: a PNG or JPEG, upright, small, without metadata
//	                       ├► PDF, sound, film: as it is
//	                       └► anything else: an error that names it, with advice
//	Paths, Mentions ──► which files a text speaks of
//
// The bytes of a file decide its type, not its name. Files are hostile: pipes and
// devices are not opened, sizes are known before memory is taken, and an image
// is measured before it is decoded.
package attach

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"parley/providers/llm"
)

// Limits bounds the size of an attachment. Zero fields have their values in
// DefaultLimits.
type Limits struct {
	Bytes      int64 // of an image file
	Text       int64 // bytes of a text file
	Media      int64 // bytes of a PDF, sound or film, which are sent unchanged
	Pixels     int   // of an image that is decoded
	Edge       int   // longest side in pixels of a sent image
	ImageBytes int   // bytes of a sent image, before base64
}

// DefaultLimits returns limits that every provider accepts, because a conversation may continue with any of them.
//
// Anthropic refuses images of more than 5 MB in base64, and of more than 2000
// pixels a side as soon as a request holds more than twenty; others scale down
// to about 2048 themselves. Gemini takes requests of up to 20 MB. A megabyte of
// text is a quarter of a million tokens.
func DefaultLimits() Limits {
	return Limits{
		Bytes: 64 << 20, Text: 1 << 20, Media: 14 << 20,
		Pixels: 100_000_000, Edge: 2000, ImageBytes: 5 << 20 / 4 * 3,
	}
}

func (l Limits) withDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Bytes: cmp.Or(l.Bytes, d.Bytes), Text: cmp.Or(l.Text, d.Text), Media: cmp.Or(l.Media, d.Media),
		Pixels: cmp.Or(l.Pixels, d.Pixels), Edge: cmp.Or(l.Edge, d.Edge), ImageBytes: cmp.Or(l.ImageBytes, d.ImageBytes),
	}
}

// An Attachment is one attachment.
type Attachment struct {
	Part  llm.Part
	Note  string // changes, on one line for the user; "" if there are none
	Label string // "photo.png, 1568x1176, 412 KB"
}

// closeOutput ends a command's output. Later text in the same part is not output.
const closeOutput = "</output>"

// Output returns the output of a command of the user's as an attachment; notes say how it ended, "" for
// nothing.
func Output(name, command, output, notes string) llm.Part {
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	text := fmt.Sprintf("<output command=%q>\n%s", command, output) + closeOutput
	if notes != "" {
		text += "\n" + notes
	}
	return llm.Part{Kind: llm.Text, Name: name, Text: text}
}

// PartLabel returns the label of a stored attachment, like Attachment.Label for a new one. An attached text
// has a name; typed text has none. For the output of a command, only the command's own output is counted.
func PartLabel(p llm.Part) string {
	name, size, what := cmp.Or(p.Name, p.MIME, p.URL), len(p.Data), ""
	switch {
	case p.Kind == llm.Text:
		_, body, _ := strings.Cut(p.Text, "\n")
		if i := strings.LastIndex(body, closeOutput); i >= 0 && i+len(closeOutput) < len(body) && strings.HasPrefix(p.Text, "<output ") {
			body = body[:i]
			if size, what = len(body), "empty"; body != "" {
				what = lineCount(strings.TrimSuffix(body, "\n"))
			}
			break
		}
		for _, tag := range []string{"file", "context", "output"} {
			body = strings.TrimSuffix(body, "\n</"+tag+">")
		}
		size, what = len(body), lineCount(body)
	case strings.HasPrefix(p.MIME, "image/"):
		if w, h := Dimensions(p.Data); w > 0 {
			what = fmt.Sprintf("%dx%d", w, h)
		}
	}
	return label(name, what, size)
}

// label returns a name, a kind and a size in bytes, leaving out unknown ones.
func label(name, what string, size int) string {
	text := printable(name)
	if what != "" {
		text += ", " + what
	}
	if size > 0 {
		text += ", " + bytesText(int64(size))
	}
	return text
}

// ErrNotRegular matches errors about directories, pipes and devices.
var ErrNotRegular = errors.New("not a regular file")

// FromFile attaches a file. It follows symbolic links; their target must be a
// regular file.
func FromFile(path string, l Limits) (Attachment, error) {
	l = l.withDefaults()
	f, size, err := open(path)
	if err != nil {
		return Attachment{}, err
	}
	defer f.Close()
	return fromOpened(f, path, size, l)
}

// maxWait bounds the reading of a file with a size of zero: some files of /proc and /sys,
// such as /proc/kmsg, claim to be regular and block until there is data.
const maxWait = time.Second

func fromOpened(f *os.File, path string, size int64, l Limits) (Attachment, error) {
	if size == 0 {
		_ = f.SetReadDeadline(time.Now().Add(maxWait)) // fails for a file on disk, whose reads never block
	}
	head := make([]byte, headSize)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return Attachment{}, readError(path, err)
	}
	head = head[:n]
	kind := sniff(head)
	limit := l.limitFor(kind)
	if size > limit {
		return Attachment{}, tooLarge(path, kind, size, limit)
	}
	// Files of /proc and files being written may be larger than their size.
	data, err := io.ReadAll(io.LimitReader(io.MultiReader(bytes.NewReader(head), f), limit+1))
	if err != nil {
		return Attachment{}, readError(path, err)
	}
	return item(path, data, l)
}

func readError(path string, err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("%s has no end and is %w: write what it holds to a file and attach that", printable(path), ErrNotRegular)
	}
	return fmt.Errorf("reading %s: %w", printable(path), err)
}

// FromBytes attaches data, such as the clipboard's or standard input's. Name is
// shown to the model and the user.
func FromBytes(name string, data []byte, l Limits) (Attachment, error) {
	return item(cmp.Or(name, "pasted"), data, l.withDefaults())
}

// PrepareMedia makes an image or a file that a tool returned acceptable for every provider, like a
// user's attachment. Changed describes the changes; "" if there are none.
func PrepareMedia(p llm.Part) (out llm.Part, changed string, err error) {
	it, err := FromBytes(p.Name, p.Data, DefaultLimits())
	if err != nil {
		return llm.Part{}, "", err
	}
	return it.Part, it.Note, nil
}

// open opens a regular file and returns its size. It checks the path before,
// because opening a device may have effects, and after, because the path may
// have changed. It never waits for the other end of a pipe.
func open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, 0, err
	}
	if err := regular(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // does not wait for the other end of a pipe
	if err != nil {
		return nil, 0, err
	}
	info, err = f.Stat()
	if err == nil {
		err = regular(path, info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func regular(path string, info os.FileInfo) error {
	switch {
	case info.IsDir():
		return fmt.Errorf("%s is a folder, %w: attach the files in it, or ask the model to list it with its tools", printable(path), ErrNotRegular)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %w: write what it holds to a file and attach that", printable(path), ErrNotRegular)
	}
	return nil
}

func item(path string, data []byte, l Limits) (Attachment, error) {
	if len(data) == 0 {
		return Attachment{}, fmt.Errorf("%s is empty: there is nothing to attach", printable(path))
	}
	kind := sniff(data)
	if limit := l.limitFor(kind); int64(len(data)) > limit {
		return Attachment{}, tooLarge(path, kind, int64(len(data)), limit)
	}
	switch {
	case kind == nil:
		return textItem(path, data)
	case kind.image:
		return imageItem(path, kind, data, l)
	case kind.mime != "":
		it := Attachment{
			Part:  llm.Part{Kind: llm.Media, Name: filepath.Base(path), MIME: kind.mime, Data: data},
			Label: label(filepath.Base(path), kind.name, len(data)),
		}
		if kind.mime != "application/pdf" {
			it.Note = "sent as it is: few models take " + kind.name
		}
		return it, nil
	}
	return Attachment{}, refusal(path, kind, data)
}

// limitFor returns the size limit in bytes for a format.
func (l Limits) limitFor(kind *format) int64 {
	switch {
	case kind == nil:
		return l.Text
	case kind.image:
		return l.Bytes
	case kind.mime != "":
		return l.Media
	}
	return headSize // refused at any size
}

func tooLarge(path string, kind *format, size, limit int64) error {
	name, advice := "text", "ask the model to read it with its tools"
	switch {
	case kind == nil:
	case kind.mime == "":
		return refusal(path, kind, nil)
	case kind.image:
		name, advice = kind.name+" image", "scale it down first"
	default:
		name, advice = kind.name, "attach a part of it"
	}
	has, most := bytesText(size), bytesText(limit)
	if has == most {
		has, most = fmt.Sprintf("%d bytes", size), fmt.Sprintf("%d", limit)
	}
	return fmt.Errorf("%s (%s) has %s, and at most %s can be attached: %s", printable(path), name, has, most, advice)
}

// refusal returns the error about a format that no model accepts. Data may be incomplete.
func refusal(path string, kind *format, data []byte) error {
	size := ""
	if len(data) > 0 {
		size = " of " + bytesText(int64(len(data)))
	}
	return fmt.Errorf("%s is %s%s, which models cannot read: %s", printable(path), kind.name, size, kind.instead)
}

// printable returns a path or name on one printable line.
func printable(path string) string {
	if strings.ContainsFunc(path, func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsPrint(r) }) {
		return strconv.Quote(path)
	}
	return path
}

// bytesText formats a size for display: "412 KB", "1.4 MB".
func bytesText(n int64) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%d KB", (n+1<<9)>>10)
	case n < 10<<20 && n%(1<<20) != 0:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n < 1<<30:
		return fmt.Sprintf("%d MB", (n+1<<19)>>20)
	}
	return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
}
