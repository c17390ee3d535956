package tools

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"parley/providers/llm"
	"parley/tools/act"
	"parley/tools/act/mediagate"
	"parley/tools/sanitize"
)

// Limits of one read. A full page says how to read on.
const (
	maxLines = 2000
	maxPage  = 256 << 10 // bytes
	maxLine  = 2000      // characters
	maxScan  = 64 << 20  // bytes scanned
)

type readArgs struct {
	Path   string `json:"path" jsonschema:"the file, relative to the workspace; or what a shell result calls its whole output"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to show, counted from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines to show; 2000 unless given"`
}

func init() {
	register("read", planRead, argumentLimit{"offset", 1, 0}, argumentLimit{"limit", 1, maxLines})
}

func planRead(_ context.Context, w *workspace, args readArgs) (*act.Action, error) {
	output, err := findOutput(w, args.Path)
	if err != nil {
		return nil, err
	}
	file := args.Path
	if output == nil {
		page := readResult{first: max(args.Offset, 1), limit: maxLines}
		if args.Limit > 0 {
			page.limit = args.Limit
		}
		if a, err := w.planReadable(args.Path, page); a != nil || err != nil {
			return a, err
		}
		if file, err = w.locate(args.Path); err != nil {
			return nil, err
		}
	}
	p := readResult{file: file, first: max(args.Offset, 1), limit: maxLines}
	if args.Limit > 0 {
		p.limit = args.Limit
	}
	a := &act.Action{
		Access: act.AccessRead,
		Title:  "read " + quotePath(file),
		Path:   file,
		Do: func(ctx context.Context, _ func(string)) act.Outcome {
			p := p
			if err := w.readFile(ctx, &p); err != nil {
				return failedOutcome("%v", err)
			}
			return p.outcome()
		},
	}
	if output != nil {
		a.Path = ""
		a.Do = func(ctx context.Context, _ func(string)) act.Outcome {
			p := p
			if err := p.readText(ctx, bufio.NewReaderSize(output.reader(), 64<<10)); err != nil {
				return failedOutcome("%v", err)
			}
			return p.outcome()
		}
	}
	return a, nil
}

// A readResult is the part of a file that one read shows.
type readResult struct {
	file         string
	first, limit int // lines
	size         int64
	media        *llm.Part // the file as an image or PDF, if the model accepts it

	text      strings.Builder
	shown     int // lines in text
	total     int // lines in the file, or up to the end of the scan
	next      int // line to continue with; 0 if the page includes the rest
	partial   bool
	bom       bool
	crlf      bool
	invalid   bool
	unsaved   bool // the text is from an editor and not saved
	invisible int
}

// readFile fills p, and records the whole content as known to the model.
func (w *workspace) readFile(ctx context.Context, p *readResult) error {
	f, info, err := w.openFile(p.file)
	if err != nil {
		return err
	}
	defer f.Close()
	p.size = info.Size()
	sum := sha256.New()
	shown, unsaved, err := w.buffers.reader(ctx, absolutePath(w.dir, p.file), f)
	if err != nil {
		return explainError(p.file, err)
	}
	p.unsaved = unsaved
	in := bufio.NewReaderSize(io.TeeReader(io.LimitReader(shown, maxScan), sum), 64<<10)
	if kind := peekMedia(in); kind != "" {
		err = p.readMedia(ctx, in, kind)
	} else {
		err = p.readText(ctx, in)
	}
	if err != nil {
		return err
	}
	var past [1]byte
	if n, _ := f.Read(past[:]); n > 0 {
		p.partial = true
		return nil
	}
	w.known.set(p.file, hash(sum.Sum(nil)))
	return nil
}

// readMedia reads a file that is sent to the model unchanged.
func (p *readResult) readMedia(ctx context.Context, in io.Reader, kind string) error {
	most := int64(maxScan)
	if kind == "application/pdf" {
		most = maxPDF
	}
	if p.size > most {
		return refuse("%s is %s of %s, and at most %d MiB can be shown", quotePath(p.file), kind, formatBytes(p.size), most>>20)
	}
	if err := mediagate.Await(ctx); err != nil {
		return err
	}
	var data bytes.Buffer
	data.Grow(int(min(p.size, most)) + bytes.MinRead) // growing in steps would take several times the memory
	if _, err := data.ReadFrom(in); err != nil {
		return explainError(p.file, err)
	}
	p.media = &llm.Part{Kind: llm.Media, Name: path.Base(p.file), MIME: kind, Data: data.Bytes()}
	return nil
}

// maxPDF bounds a PDF in bytes. A PDF is sent unchanged, and session/attach
// rejects larger ones; images are scaled down instead.
const maxPDF = 14 << 20

// mediaTypes are the types of files that models can view; the content determines the type.
var mediaTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"}

// peekMedia returns the media type of in's first bytes if models can view it; else "".
func peekMedia(in *bufio.Reader) string {
	head, _ := in.Peek(512) // the next read reports the error again
	if kind := http.DetectContentType(head); slices.Contains(mediaTypes, kind) {
		return kind
	}
	return ""
}

// mediaOutcome returns the outcome for a file that is sent to the model
// unchanged.
func mediaOutcome(p llm.Part, from string) act.Outcome {
	what := "image"
	if p.MIME == "application/pdf" {
		what = "file"
	}
	return act.Outcome{Text: note("%s: %s, %s, %s", quotePath(from), what, p.MIME, formatBytes(int64(len(p.Data)))), Media: []llm.Part{p}}
}

// readText reads text up to its end.
func (p *readResult) readText(ctx context.Context, in *bufio.Reader) error {
	head, err := in.Peek(8 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return explainError(p.file, err)
	}
	if kind := binaryKind(head); kind != "" {
		return refuse("%s is not text: %s, %d bytes", quotePath(p.file), kind, p.size)
	}
	if bytes.HasPrefix(head, bom) {
		p.bom = true
		in.Discard(len(bom)) // cannot fail: the bytes were peeked
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		more, err := p.readLine(in)
		if err != nil {
			return explainError(p.file, err)
		}
		if !more {
			return nil
		}
	}
}

// readLine reads one line from in. It returns false at the end.
func (p *readResult) readLine(in *bufio.Reader) (bool, error) {
	var text []byte
	length := 0
	wanted := p.total+1 >= p.first && p.shown < p.limit && p.next == 0
	for {
		piece, err := in.ReadSlice('\n')
		length += len(piece)
		if room := (maxLine+2)*utf8.UTFMax - len(text); wanted && room > 0 {
			text = append(text, piece[:min(room, len(piece))]...)
		}
		if err == nil {
			break
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if !errors.Is(err, io.EOF) {
			return false, err
		}
		if length == 0 {
			return false, nil
		}
		break
	}
	p.total++
	if !wanted {
		if p.total >= p.first && p.next == 0 {
			p.next = p.total
		}
		return true, nil
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return false, errors.New("it is not text: there are NUL bytes in it")
	}
	p.addLine(text, length, len(text) < length)
	return true, nil
}

// addLine adds a line to the page if it fits. Cut reports that line is only the
// beginning of a line of length bytes.
func (p *readResult) addLine(line []byte, length int, cut bool) {
	if text, ok := bytes.CutSuffix(line, []byte("\n")); ok {
		line = text
		if text, ok := bytes.CutSuffix(line, []byte("\r")); ok {
			line, p.crlf = text, true
		}
	}
	whole := line
	if cut {
		whole = line[:len(line)-utf8.UTFMax] // without a rune that may be incomplete
	}
	for len(whole) < len(line) && !utf8.RuneStart(line[len(whole)]) {
		whole = line[:len(whole)+1]
	}
	if !utf8.Valid(whole) {
		p.invalid = true
	}
	text, dropped := sanitize.RemoveHidden(strings.ToValidUTF8(string(line), "\uFFFD"))
	if utf8.RuneCountInString(text) > maxLine {
		text, cut = string([]rune(text)[:maxLine]), true
	}
	if cut {
		text += " " + note("cut: the line has %d bytes", length)
	}
	if p.text.Len()+len(text) > maxPage && p.shown > 0 {
		p.next = p.total
		return
	}
	p.invisible += dropped
	p.shown++
	fmt.Fprintf(&p.text, "%6d\t%s\n", p.total, text)
}

func (p *readResult) outcome() act.Outcome {
	if p.media != nil {
		return mediaOutcome(*p.media, p.file)
	}
	if p.total == 0 && !p.partial {
		return act.Outcome{Text: note("%s is empty", quotePath(p.file))}
	}
	if p.shown == 0 {
		return failedOutcome("%s has only %s", quotePath(p.file), pluralize(p.total, "line"))
	}
	var notes []string
	last := p.first + p.shown - 1
	switch {
	case p.next > 0 && p.partial:
		notes = append(notes, note("lines %d to %d; read on with offset %d", p.first, last, p.next))
	case p.next > 0:
		notes = append(notes, note("lines %d to %d of %d; read on with offset %d", p.first, last, p.total, p.next))
	case p.first > 1:
		notes = append(notes, note("lines %d to %d, the last", p.first, last))
	}
	if p.partial {
		notes = append(notes, note("the file is larger than the %d MiB this tool looks at; see the rest with a shell command", maxScan>>20))
	}
	if p.crlf {
		notes = append(notes, note("lines end with CRLF; edit and write keep that"))
	}
	if p.unsaved {
		notes = append(notes, note("with changes that are not saved in the editor yet: grep and commands do not see them"))
	}
	if p.bom {
		notes = append(notes, note("the file begins with a byte order mark; edit and write keep it"))
	}
	if p.invalid {
		notes = append(notes, note("invalid UTF-8 is shown as \uFFFD"))
	}
	if p.invisible > 0 {
		notes = append(notes, note("%s removed", pluralize(p.invisible, "invisible character")))
	}
	return act.Outcome{Text: p.text.String() + strings.Join(notes, "\n")}
}

var bom = []byte("\xEF\xBB\xBF")

// binaryKind describes the kind of content that head begins, or returns "" for
// UTF-8 or similar text.
func binaryKind(head []byte) string {
	switch {
	case bytes.HasPrefix(head, []byte{0xFF, 0xFE}), bytes.HasPrefix(head, []byte{0xFE, 0xFF}):
		return "UTF-16"
	case bytes.IndexByte(head, 0) < 0:
		return ""
	}
	return http.DetectContentType(head[:min(512, len(head))])
}
