package app

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app/mention"
)

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

// Mentions returns a finder of what prompts mention.
func (o *Options) Mentions() mention.Finder {
	find := mention.Finder{Fetch: o.Machine.FetchFile}
	if servers := o.MCP.Servers(); servers != nil {
		find.Servers = servers
	}
	return find
}

// Attach attaches the files named by arg: shell-quoted paths, a single file name as it is, or a web address; without
// arg, the image on the clipboard.
func (a *App) Attach(arg string) Effect {
	find, image := a.Mentions(), a.FrontEnd.ClipboardImage
	return a.attachAll(func(ctx context.Context) ([]attach.Attachment, error) {
		if arg == "" {
			data, err := image(ctx)
			if err != nil {
				return nil, err
			}
			return list(attach.FromBytes("pasted.png", data, attach.DefaultLimits()))
		}
		if mention.IsAddress(arg) {
			return list(find.Fetched(ctx, arg))
		}
		if paths := attach.DroppedPaths(arg); paths != nil {
			return attachFiles(paths)
		}
		return attachFiles([]string{mention.ExpandHome(arg)})
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
	return []string{model.Name + " does not support images: the image is not sent · " + a.FrontEnd.KeyOf("model") + " choose a model with vision"}
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
