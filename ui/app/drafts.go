package app

import (
	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/ui/app/drafts"
	"parley/ui/format"
)

// Drafts returns the stored drafts.
func (o *Options) Drafts() drafts.Drafts {
	return drafts.Drafts{Store: o.Library, Directory: o.Directory, Now: o.Now, Alive: o.Machine.Alive}
}

// DraftKey returns the store key for the draft of the open conversation.
func (a *App) DraftKey() string { return a.Drafts().Key(a.Session) }

// AttachToStored adds the output of a user's shell command to the stored draft of s, which was closed while the command
// ran, and then calls end to remove the record of the command. It waits for the disk and may run on any goroutine.
func AttachToStored(o Options, s *session.Session, part llm.Part, end func()) Effect {
	if err := o.Drafts().Attach(s, part); err != nil {
		return Refuse("the %s is not attached: %w", part.Name, err)
	}
	end()
	return Toast("The " + part.Name + " is attached to the conversation in which it ran")
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

// ShellOutput returns the output of a finished command as an attachment.
func ShellOutput(e session.ShellCommand) llm.Part {
	return attach.Output("output of "+format.FirstLine(e.Command), e.Command, e.Output, e.Notes)
}
