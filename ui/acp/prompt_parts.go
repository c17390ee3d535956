package acp

import (
	"encoding/base64"
	"net/url"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session/attach"
)

// promptParts converts a prompt to parts of a message. Links to files are shown relative to
// dir. shown returns the text of a file in the client, "" if there is none.
func promptParts(blocks []sdk.ContentBlock, dir string, shown func(file string) string) (parts []llm.Part, err error) {
	var text promptText
	attached := func(a attach.Attachment, err error) error {
		if err != nil {
			return invalid("%v", err)
		}
		parts = append(parts, a.Part)
		return nil
	}
	for _, b := range blocks {
		switch {
		case b.Text != nil:
			text.add(b.Text.Text)
		case b.ResourceLink != nil:
			words, file := reference(b.ResourceLink.Uri, b.ResourceLink.Name, dir)
			text.refer(words)
			if file == "" {
				continue
			}
			if a, err := linkedFile(file, shown); err == nil { // otherwise the model gets its path
				parts = append(parts, a.Part)
			}
		case b.Image != nil:
			if uri := b.Image.Uri; uri != nil && filePath(*uri) != "" {
				text.mention(reference(*uri, "", dir))
			}
			err = attached(decoded(uriName(b.Image.Uri, "image"), b.Image.Data))
		case b.Resource != nil && b.Resource.Resource.TextResourceContents != nil:
			r := b.Resource.Resource.TextResourceContents
			name := uriName(&r.Uri, "resource")
			text.mention(reference(r.Uri, name, dir))
			if strings.TrimSpace(r.Text) != "" {
				err = attached(attach.FromBytes(name+lines(r.Uri), []byte(r.Text), attach.Limits{}))
			}
		case b.Resource != nil && b.Resource.Resource.BlobResourceContents != nil:
			r := b.Resource.Resource.BlobResourceContents
			name := uriName(&r.Uri, "resource")
			text.mention(reference(r.Uri, name, dir))
			err = attached(decoded(name, r.Blob))
		default:
			err = invalid("this kind of content is not taken: use text, images or resources")
		}
		if err != nil {
			return nil, err
		}
	}
	if whole := text.whole(); strings.TrimSpace(whole) != "" {
		parts = append(parts, llm.Part{Kind: llm.Text, Text: whole})
	}
	if len(parts) == 0 {
		return nil, invalid("the prompt is empty")
	}
	return parts, nil
}

// linkedFile attaches a file, with the text that the client shows for it, if any.
func linkedFile(file string, shown func(file string) string) (attach.Attachment, error) {
	a, err := attach.FromFile(file, attach.Limits{})
	if err != nil || a.Part.Kind != llm.Text {
		return a, err
	}
	if text := shown(file); text != "" {
		return attach.FromBytes(file, []byte(text), attach.Limits{})
	}
	return a, nil
}

// decoded attaches base64 data.
func decoded(name, data string) (attach.Attachment, error) {
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return attach.Attachment{}, err
	}
	return attach.FromBytes(name, raw, attach.Limits{})
}

// filePath returns the path of a file: address, or "" for other addresses.
func filePath(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" {
		return ""
	}
	file := u.Path
	if drive := strings.TrimPrefix(file, "/"); filepath.VolumeName(drive) != "" {
		file = drive // on Windows
	}
	if !filepath.IsAbs(file) {
		return ""
	}
	return filepath.Clean(file)
}

// reference returns the text for an address in a prompt, and the file that the address
// names, or "" for none. A file in dir is named as in tool calls.
func reference(uri, name, dir string) (words, file string) {
	file = filePath(uri)
	if file == "" {
		return "[" + name + "](" + uri + ")", ""
	}
	if short, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(short) {
		return "@" + filepath.ToSlash(short) + lines(uri), file
	}
	return "@" + file + lines(uri), file
}

// lines returns the line range in an address, such as #L5:10; "" for a whole file.
func lines(uri string) string {
	_, part, _ := strings.Cut(uri, "#")
	if rest, ok := strings.CutPrefix(part, "L"); !ok || rest == "" || strings.Trim(rest, "0123456789:-L") != "" {
		return ""
	}
	return "#" + part
}

// A promptText is the text of a prompt, with references where the user named files.
type promptText struct {
	text    string
	leading string // references before any typed text
	named   bool   // text ends in a reference
}

// add adds typed text.
func (t *promptText) add(typed string) {
	if typed == "" {
		return
	}
	if t.text == "" && !strings.HasPrefix(strings.TrimSpace(typed), "/") { // a command must begin its line
		t.text = t.leading
	}
	t.leading = ""
	if first, _ := utf8.DecodeRuneInString(typed); t.named && (unicode.IsLetter(first) || unicode.IsDigit(first)) {
		typed = " " + typed
	}
	t.text, t.named = t.text+typed, false
}

// refer adds a reference.
func (t *promptText) refer(words string) {
	t.text, t.leading, t.named = spaced(t.leading+t.text, words), "", true
}

// mention adds a reference to an attached file.
func (t *promptText) mention(words, _ string) {
	if t.text != "" {
		t.refer(words)
		return
	}
	t.leading, t.named = spaced(t.leading, words), true
}

// spaced returns text followed by words, separated by a space if needed.
func spaced(text, words string) string {
	last, _ := utf8.DecodeLastRuneInString(text)
	if text == "" || unicode.IsSpace(last) || strings.ContainsRune("([{<\"'`", last) {
		return text + words
	}
	return text + " " + words
}

func (t *promptText) whole() string { return t.leading + t.text }

// uriName returns the name of an attachment.
func uriName(uri *string, otherwise string) string {
	if uri == nil || *uri == "" {
		return otherwise
	}
	if file := filePath(*uri); file != "" {
		return file
	}
	if u, err := url.Parse(*uri); err == nil && path.Base(u.Path) != "." && path.Base(u.Path) != "/" {
		return path.Base(u.Path)
	}
	return *uri
}
