package print

import (
	"strings"

	"parley/providers/llm"
	"parley/ui/app"
	"parley/ui/cli/cmdutil"
	"parley/ui/cli/exit"
	"parley/ui/format"
)

// savedMedia is an image or a file of an answer, after the attempt to save it. It is not saved
// if it has only an address.
type savedMedia struct {
	part llm.Part
	path string // "" if it was not saved
	err  error
}

// saveMedia saves the images and files of an answer. It returns false if one could not be saved.
func saveMedia(o cmdutil.PrintOptions, m llm.Message, p printer) (ok bool) {
	ok = true
	for _, part := range m.Parts {
		if part.Kind != llm.Media || o.Save == nil {
			continue
		}
		s := savedMedia{part: part}
		if len(part.Data) > 0 {
			s.path, s.err = o.Save(part)
		}
		ok = ok && s.err == nil
		_ = p.event(s, exit.OK) // Close returns the error
	}
	return ok
}

// String returns s as a line of text.
func (s savedMedia) String() string {
	kind := "File"
	if strings.HasPrefix(s.part.MIME, "image/") {
		kind = "Image"
	}
	switch label := app.Labels([]llm.Part{s.part})[0]; {
	case s.err != nil:
		return kind + " not saved: " + format.ErrorText(s.err) + " (" + label + ")"
	case s.path != "":
		return kind + " saved: " + s.path
	default:
		return kind + " at " + s.part.URL
	}
}

// mediaObject returns the fields of s.
func mediaObject(s savedMedia) cmdutil.Object {
	o := cmdutil.Object{"mime", s.part.MIME}
	switch {
	case s.err != nil:
		return append(o, "error", format.ErrorText(s.err))
	case s.path != "":
		return append(o, "path", s.path)
	}
	return append(o, "url", s.part.URL)
}
