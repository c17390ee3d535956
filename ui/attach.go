package ui

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session/attach"
	"parley/ui/composer"
)

// What became of something that was to be attached.
type (
	attachedMsg struct {
		items []attach.Item
		err   error
	}
	expandedMsg struct { // a prompt with the files it mentions
		text  string
		parts []llm.Part
		notes []string
		err   error
	}
)

// attach reads the files that arg names, or the picture on the clipboard.
func (m *Model) attach(arg string) tea.Cmd {
	if arg == "" {
		return m.attachClipboard("")
	}
	return func() tea.Msg {
		items, err := Attach(arg)
		return attachedMsg{items, err}
	}
}

// file is where a file lies that a person calls path. Relative ones stay as they
// are: the model is to know the file by the same name.
func file(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func (m *Model) attachFiles(paths []string) tea.Cmd {
	return func() tea.Msg {
		items, err := attachAll(paths)
		return attachedMsg{items, err}
	}
}

// Attach reads the files that arg names: paths as a shell takes them, or the name
// of one file as it is. With an error come those that could be read.
func Attach(arg string) ([]attach.Item, error) {
	if paths := attach.Paths(arg); paths != nil {
		return attachAll(paths)
	}
	return attachAll([]string{file(arg)})
}

func attachAll(paths []string) (items []attach.Item, err error) {
	for _, p := range paths {
		item, failed := attach.File(p, attach.Default())
		if failed != nil {
			err = errors.Join(err, plainError(failed))
			continue
		}
		items = append(items, item)
	}
	return items, err
}

// plainError says what the system said without the name of its call.
func plainError(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("%s: %w", p.Path, p.Err)
	}
	return err
}

// attachClipboard takes the picture on the clipboard.
func (m *Model) attachClipboard(string) tea.Cmd {
	board := m.clip
	return func() tea.Msg {
		data, err := board.Picture(context.Background())
		if err != nil {
			return attachedMsg{err: err}
		}
		item, err := attach.Bytes("pasted.png", data, attach.Default())
		if err != nil {
			return attachedMsg{err: err}
		}
		return attachedMsg{items: []attach.Item{item}}
	}
}

// took adds attachments to the prompt that is being written.
func (m *Model) took(msg attachedMsg) tea.Cmd {
	for _, item := range msg.items {
		m.attached = append(m.attached, item.Part)
		if item.Note != "" {
			m.note(item.Part.Name + ": " + item.Note)
		}
	}
	if len(msg.items) > 0 {
		m.blindTo(msg.items[0].Part)
	}
	m.layout()
	cmd := m.written()
	if msg.err != nil {
		return tea.Batch(cmd, m.say(msg.err.Error()))
	}
	return cmd
}

// Blind reports whether model is known not to see the picture that p is.
func Blind(model llm.Endpoint, p llm.Part) bool {
	return model.Known && !model.Vision && strings.HasPrefix(p.MIME, "image/")
}

// blindTo tells, before anything is sent, that the model takes no pictures.
func (m *Model) blindTo(p llm.Part) {
	if model := m.session.Model(); Blind(model, p) {
		m.note(model.Name + " takes no images: it will only be told that there was one. " + m.keyOf("model") + " picks a model with vision")
	}
}

// detach takes the last attachment off, with backspace on an empty line.
func (m *Model) detach(string) tea.Cmd {
	last := m.attached[len(m.attached)-1]
	m.attached = m.attached[:len(m.attached)-1]
	m.layout()
	return tea.Batch(m.written(), m.say("took off "+attach.Label(last)))
}

// isFile reports whether path names a file that a prompt may bring along by
// mentioning it. Hidden ones outside the workspace, where keys lie, have to be
// attached by name.
func isFile(path string) bool {
	path = file(path)
	if outside := filepath.IsAbs(path) || !filepath.IsLocal(path); outside && strings.Contains(filepath.ToSlash(path), "/.") {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// expand reads the files that a prompt mentions.
func (m *Model) expand(typed composer.SubmitMsg) tea.Cmd {
	o := m.o
	return func() tea.Msg {
		msg := expandedMsg{text: typed.Text}
		msg.parts, msg.notes, msg.err = o.Expand(context.Background(), typed.Typed)
		return msg
	}
}

// Mentions reports whether Expand would find something in text.
func (o Options) Mentions(text string) bool {
	return len(attach.Mentions(text, isFile)) > 0 || len(o.mentioned(text)) > 0
}

// unfound is the first thing that text seems to mention and that is no file; ""
// if there is none.
func (o Options) unfound(text string) string {
	for _, r := range o.mentioned(text) {
		text = strings.ReplaceAll(text, "@"+r.Server+":"+r.URI, "")
	}
	found := map[int]bool{}
	for _, is := range attach.Mentions(text, isFile) {
		found[is.Start] = true
	}
	for _, may := range attach.Mentions(text, func(string) bool { return true }) {
		name := strings.TrimRightFunc(may.Path, unicode.IsPunct)
		if !found[may.Start] && strings.ContainsFunc(name, unicode.IsLetter) && !exists(name) {
			return name
		}
	}
	return ""
}

// exists reports whether there is something at path, though it may be no file that
// can be brought along.
func exists(path string) bool {
	_, err := os.Stat(file(path))
	return err == nil
}

// Expand reads the files and the resources of servers that text mentions, and
// says what was changed of them. The text itself is not among the parts.
func (o Options) Expand(ctx context.Context, text string) (parts []llm.Part, notes []string, err error) {
	resources, servers := o.mentioned(text), o.Servers()
	for _, r := range resources { // no file is meant by it
		text = strings.ReplaceAll(text, "@"+r.Server+":"+r.URI, "")
	}
	parts, notes, err = attach.Expand(text, func(path string) (attach.Item, error) {
		if !isFile(path) {
			return attach.Item{}, fs.ErrNotExist
		}
		return attach.File(file(path), attach.Default())
	})
	if err != nil {
		return nil, nil, plainError(err)
	}
	if n := len(parts) - 1; n >= 0 && parts[n].Kind == llm.Text && parts[n].Name == "" {
		parts = parts[:n] // the text itself
	}
	var fetched []llm.Part
	for _, r := range resources {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		found, err := servers.ReadResource(ctx, r.Server, r.URI)
		cancel()
		if err != nil {
			return nil, nil, fmt.Errorf("@%s:%s: %w", r.Server, r.URI, err)
		}
		for _, p := range found {
			if p.Name == "" {
				p.Name = r.URI
			}
			fetched = append(fetched, p)
		}
	}
	return append(fetched, parts...), notes, nil
}

// expanded sends a prompt with the files it mentions.
func (m *Model) expanded(msg expandedMsg) tea.Cmd {
	if msg.err != nil {
		m.draft(msg.text)
		return m.say(msg.err.Error())
	}
	for _, n := range msg.notes {
		m.note(n)
	}
	if len(msg.parts) > 0 {
		m.blindTo(msg.parts[0])
	}
	return m.dispatch(msg.text, msg.parts)
}

// labels names attachments.
func labels(parts []llm.Part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, attach.Label(p))
	}
	return out
}
