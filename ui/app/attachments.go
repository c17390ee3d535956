package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/tools/act"
)

// ExpandHome replaces a leading ~ in path. Relative paths stay as they are, so that the model knows the file by the
// same name.
func ExpandHome(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

// isAddress reports whether text is a web address, without punctuation at its end.
func isAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && !strings.ContainsAny(text[len(text)-1:], ".,;:!?)]}>\"'")
}

// fetched downloads a file from the web.
func (o *Options) fetched(ctx context.Context, address string) (attach.Attachment, error) {
	if o.Machine.FetchFile == nil {
		return attach.Attachment{}, fs.ErrNotExist
	}
	name, data, err := o.Machine.FetchFile(ctx, address)
	if err != nil {
		return attach.Attachment{}, err
	}
	return attach.FromBytes(name, data, attach.DefaultLimits())
}

// Addresses returns the addresses that Expand would fetch for text, in order, and text with the @ before each removed,
// which fetches nothing.
func (o *Options) Addresses(text string) (addresses []string, without string) {
	at := 0
	var b strings.Builder
	for _, m := range attach.Mentions(text, o.isMention) {
		if isAddress(m.Path) {
			addresses = append(addresses, m.Path)
			b.WriteString(text[at:m.Start] + " ")
			at = m.Start + len("@")
		}
	}
	return addresses, b.String() + text[at:]
}

// isMention reports whether the text after an @ names a file, a resource or an address to attach.
func (o *Options) isMention(text string) bool {
	_, resource := o.resource(text)
	return resource || IsFile(text) || o.Machine.FetchFile != nil && isAddress(text)
}

// attachFiles reads files by their paths. It returns the readable ones even with an error.
func attachFiles(paths []string) (items []attach.Attachment, err error) {
	for _, p := range paths {
		item, failed := attach.FromFile(p, attach.DefaultLimits())
		if failed != nil {
			err = errors.Join(err, failed)
			continue
		}
		items = append(items, item)
	}
	return items, err
}

// LacksVision reports whether p is an image that model is known not to accept.
func LacksVision(model llm.Endpoint, p llm.Part) bool {
	return strings.HasPrefix(p.MIME, "image/") && !model.Accepts(p.MIME)
}

// IsFile reports whether path names a file that a mention may attach. Hidden files outside the workspace, such as keys,
// must be attached by name, even if a link leads to them.
func IsFile(path string) bool {
	path = ExpandHome(path)
	if outside := filepath.IsAbs(path) || !filepath.IsLocal(path); outside && strings.Contains(filepath.ToSlash(path), "/.") || linksToHidden(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// linksToHidden reports whether path is, or passes through, a link to a hidden file outside the workspace. Such a link
// may have come with the directory.
func linksToHidden(path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil || real == filepath.Clean(path) {
		return false
	}
	workspace, err := os.Getwd()
	if err == nil {
		workspace, err = filepath.EvalSymlinks(workspace)
	}
	if err != nil {
		return false
	}
	if !filepath.IsAbs(real) {
		real = filepath.Join(workspace, real)
	}
	inside, err := filepath.Rel(workspace, real)
	return (err != nil || !filepath.IsLocal(inside)) && strings.Contains(filepath.ToSlash(real), "/.")
}

// Exists reports whether path exists, even if it cannot be attached.
func Exists(path string) bool {
	_, err := os.Stat(ExpandHome(path))
	return err == nil
}

// Mentions reports whether text mentions anything that Expand would attach.
func (o *Options) Mentions(text string) bool {
	return len(attach.Mentions(text, o.isMention)) > 0
}

// WithoutMentions returns text with all mentions turned into plain text, and the names they had.
func (o *Options) WithoutMentions(text string) (plain string, names []string) {
	for {
		found := attach.Mentions(text, o.isMention)
		if len(found) == 0 {
			return text, names
		}
		for _, m := range slices.Backward(found) {
			text, names = text[:m.Start]+text[m.Start+1:], append(names, m.Path)
		}
	}
}

// MissingMention returns the first apparent mention in text that names no file; "" if there is none.
func (o *Options) MissingMention(text string) string {
	found := map[int]bool{}
	for _, is := range attach.Mentions(text, o.isMention) {
		found[is.Start] = true
	}
	for _, may := range attach.Mentions(text, func(string) bool { return true }) {
		name := strings.TrimRightFunc(may.Path, unicode.IsPunct)
		if !found[may.Start] && strings.ContainsFunc(name, unicode.IsLetter) && !Exists(name) {
			return name
		}
	}
	return ""
}

// Expand reads the files and server resources mentioned in text. Notes describe changes made to them.
func (o *Options) Expand(ctx context.Context, text string) (parts []llm.Part, notes []string, err error) {
	return attach.ExpandMentions(text, func(path string) (found []llm.Part, note string, err error) {
		if r, ok := o.resource(path); ok {
			if found, err = o.MCP.Servers().ReadResource(ctx, r.Server, r.URI); err != nil {
				err = fmt.Errorf("@%s: %w", path, err)
			}
			return found, "", err
		}
		file, err := attach.Attachment{}, fs.ErrNotExist
		if isAddress(path) {
			file, err = o.fetched(ctx, path)
		} else if IsFile(path) {
			file, err = attach.FromFile(ExpandHome(path), attach.DefaultLimits())
		}
		return []llm.Part{file.Part}, file.Note, err
	})
}

// ResourcesNamed returns the server resources whose name contains word.
func (o *Options) ResourcesNamed(word string) []act.Resource {
	servers := o.MCP.Servers()
	if servers == nil {
		return nil
	}
	var out []act.Resource
	for _, r := range servers.Resources() {
		if strings.Contains(strings.ToLower(r.Server+":"+r.URI+" "+r.Name), strings.ToLower(word)) {
			out = append(out, r)
		}
	}
	return out
}

// resource returns the resource that a prompt mentions as @server:uri.
func (o *Options) resource(name string) (r act.Resource, ok bool) {
	for _, r := range o.ResourcesNamed(name) {
		if r.Server+":"+r.URI == name {
			return r, true
		}
	}
	return r, false
}

// Attach attaches the files named by arg: shell-quoted paths, a single file name as it is, or a web address; without
// arg, the image on the clipboard.
func (a *App) Attach(arg string) Effect {
	o, image := a.Options, a.ClipboardImage
	return a.attachAll(func(ctx context.Context) ([]attach.Attachment, error) {
		if arg == "" {
			data, err := image(ctx)
			if err != nil {
				return nil, err
			}
			return list(attach.FromBytes("pasted.png", data, attach.DefaultLimits()))
		}
		if isAddress(arg) {
			return list(o.fetched(ctx, arg))
		}
		if paths := attach.DroppedPaths(arg); paths != nil {
			return attachFiles(paths)
		}
		return attachFiles([]string{ExpandHome(arg)})
	})
}

// list returns a slice of one attachment, or an empty one with an error.
func list(a attach.Attachment, err error) ([]attach.Attachment, error) {
	if err != nil {
		return nil, err
	}
	return []attach.Attachment{a}, nil
}

// attachAll attaches the files that read returns.
func (a *App) attachAll(read func(context.Context) ([]attach.Attachment, error)) Effect {
	return Prepare(func(ctx context.Context) func() Effect {
		items, err := read(ctx)
		return func() Effect { return a.attached(items, err) }
	})
}

// attached adds attachments to the next prompt and reports them and err.
func (a *App) attached(items []attach.Attachment, err error) Effect {
	var parts []llm.Part
	var notes Notes
	for _, item := range items {
		parts = append(parts, item.Part)
		if item.Note != "" {
			notes = append(notes, item.Part.Name+": "+item.Note)
		}
	}
	return Then{notes, a.AttachParts(parts), Fail(err)}
}

// AttachDropped attaches files that were dragged into the terminal. It returns false if pasted is not a list of their
// paths.
func AttachDropped(a *App, pasted string) (Effect, bool) {
	if attach.DroppedPaths(pasted) == nil {
		return nil, false
	}
	return a.Attach(pasted), true
}

// AttachParts adds parts to the next prompt.
func (a *App) AttachParts(parts []llm.Part) Effect {
	a.Attached = append(a.Attached, parts...)
	return Then{Notes(a.VisionNotes(parts)), Attached(parts)}
}

// VisionNotes warns, before anything is sent, if the model accepts no images.
func (a *App) VisionNotes(parts []llm.Part) []string {
	model := a.Session.Model()
	if !slices.ContainsFunc(parts, func(p llm.Part) bool { return LacksVision(model, p) }) {
		return nil
	}
	return []string{model.Name + " does not support images: the image is not sent · " + a.KeyOf("model") + " choose a model with vision"}
}

// Unmentioned returns attached without the parts that mentioned contains too: an edited message has both the file and
// the mention of it.
func Unmentioned(attached, mentioned []llm.Part) (kept []llm.Part) {
	for _, a := range attached {
		if !slices.ContainsFunc(mentioned, func(p llm.Part) bool {
			if a.Kind != p.Kind || a.Name != p.Name || a.MIME != p.MIME {
				return false
			}
			was, _, _ := strings.Cut(a.Text, "\n") // the first line names the path; the rest may have changed
			is, _, _ := strings.Cut(p.Text, "\n")
			return was == is && bytes.Equal(a.Data, p.Data)
		}) {
			kept = append(kept, a)
		}
	}
	return kept
}

// SplitPrompt returns the text of a user message as typed, and its attachments.
func SplitPrompt(msg llm.Message) (text string, attached []llm.Part) {
	text, attached = attach.SplitMessage(msg)
	if IsImagePrompt(msg) {
		text = ImageCommand + text
	}
	return text, attached
}

// DraftFrom returns the text and the attachments of a user message for editing. Parts added by hooks are left out: they
// are added again on sending.
func DraftFrom(msg llm.Message) (text string, attached []llm.Part) {
	text, attached = SplitPrompt(msg)
	return text, slices.DeleteFunc(attached, func(p llm.Part) bool { return p.Name == session.HookPartName })
}

// Labels returns the display names of attachments.
func Labels(parts []llm.Part) []string {
	var labels []string
	for _, p := range parts {
		labels = append(labels, attach.PartLabel(p))
	}
	return labels
}
