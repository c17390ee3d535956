package app

import (
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session"
)

// DraftKey returns the store key for the draft of the open conversation. Before its first message, that is the key of
// the directory.
func (a *App) DraftKey() string { return draftKey(a.Options, a.Session) }

func draftKey(o Options, s *session.Session) string {
	if s.Head() > 0 {
		return "session:" + s.ID()
	}
	return "folder:" + o.Directory
}

// SharesDraft reports whether s has the same draft as the open conversation: both are the same, or both are empty.
func SharesDraft(a *App, s *session.Session) bool { return draftKey(a.Options, s) == a.DraftKey() }

// AttachToStored adds the output of a user's shell command to the stored draft of s, which was closed while the command
// ran, and then calls end to remove the record of the command. It waits for the disk and may run on any goroutine.
func AttachToStored(o Options, s *session.Session, part llm.Part, end func()) Effect {
	key := draftKey(o, s)
	d, _, err := o.Library.Drafts().Take(key)
	if err == nil {
		d.Parts, d.At = append(d.Parts, part), o.Now()
		err = o.Library.Drafts().Save(key, d)
	}
	if err != nil {
		return Refuse("the %s is not attached: %w", part.Name, err)
	}
	end()
	return Toast("The " + part.Name + " is attached to the conversation in which it ran")
}

// NewDraft returns a draft of text and attachments, with the cursor at the end.
func (o *Options) NewDraft(text string, attached []llm.Part) session.Draft {
	return session.Draft{Text: text, Cursor: len(text), Parts: attached, At: o.Now()}
}

// RestoreModel switches to the model that was chosen for a stored draft, unless a flag names one; "" for none.
func RestoreModel(a *App, name string) {
	a.Models.Chosen = ""
	if sources := a.ConfigFile.Sources; name != "" && sources != nil {
		if flags, _ := sources(); flags["model"] != "" {
			return
		}
	}
	if name == "" || name == a.Session.Model().Name {
		a.Models.Chosen = name
		return
	}
	if model, err := a.Models.Open(name); err == nil {
		a.Session.SetModel(model)
		a.Models.Chosen = name
	}
}

// EstimatePrompt estimates the tokens of a prompt with attachments. It may be called on any goroutine.
func (o *Options) EstimatePrompt(text string, attached []llm.Part) int {
	return o.Estimate(text) + session.EstimateParts(attached, o.Estimate)
}

// RememberPrompt adds text to the stored prompt history without waiting for the disk, and then deletes the drafts under
// keys. It ignores errors: the conversation has the prompt as well, and reports a full disk.
func (o *Options) RememberPrompt(text string, drafts ...string) {
	o.Library.AddPromptAsync(session.SentPrompt{Text: text, Dir: o.Directory, At: o.Now()}, drafts...)
	if strings.HasPrefix(text, "!") || strings.HasPrefix(text, "/") { // no prompt follows that would store it
		go func() { _ = o.Library.Flush() }()
	}
}

// Draft returns the draft stored under key. It returns false if there is none, or only drafts of other running
// processes. The output of user's shell commands that were running when parley ended is attached to it.
func (o *Options) Draft(key string) (d session.Draft, ok bool) {
	d, ok, err := o.Library.Drafts().Take(key) // ok with an error means that only attachments are damaged
	if err != nil && !ok {
		return session.Draft{}, false
	}
	for _, at := range slices.Compact([]string{key, "folder:" + o.Directory}) {
		if parts, left := o.Machine.interrupted(o.Shells(at)); len(parts) > 0 {
			d.Parts, ok = append(d.Parts, parts...), true
			if o.Library.Drafts().Save(key, d) == nil {
				_ = o.SetShells(at, left)
			}
		}
	}
	return d, ok
}

// FirstLine returns the first line of s, with an ellipsis if more lines follow.
func FirstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// QueueOrSteer queues a message while a turn runs. It is sent after the answer if later is set, otherwise with the next
// tool results. If edited, the message came from the queue and returns to its place there, unless later is set. It
// returns a text that says when the message is sent.
func QueueOrSteer(a *App, later, edited bool, parts []llm.Part) string {
	steers, queued := false, false
	if edited && !later {
		steers, queued = a.Session.Queue.Requeue(parts...)
		later = queued && !steers
	}
	switch {
	case queued:
	case later:
		a.Session.Queue.Add(parts...)
	default:
		a.Session.Queue.Steer(parts...)
	}
	if later {
		return "Queued – sent when the answer is done"
	}
	return "Queued – sent with the next tool results, or after the answer"
}
