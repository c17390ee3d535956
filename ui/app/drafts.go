package app

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
)

// DraftKey returns the store key of the open conversation's draft. Before the first message it
// is that of the directory.
func (a *App) DraftKey() string { return draftKey(a.Options, a.Session) }

func draftKey(o Options, s *session.Session) string {
	if s.Head() > 0 {
		return "session:" + s.ID()
	}
	return "folder:" + o.Directory
}

// SharesDraft reports whether s has the same draft as the open conversation: it is that, or both are empty.
func SharesDraft(a *App, s *session.Session) bool { return draftKey(a.Options, s) == a.DraftKey() }

// AttachToStored adds what a shell command of the user's wrote to the stored draft of s, which was
// left while the command ran, and then takes back the record of the command. It waits for the disk,
// on any goroutine.
func AttachToStored(o Options, s *session.Session, part llm.Part, end func()) Effect {
	key := draftKey(o, s)
	d, _, err := o.Library.TakeDraft(key)
	if err == nil {
		d.Parts, d.At = append(d.Parts, part), o.Now()
		err = o.Library.SaveDraft(key, d)
	}
	if err != nil {
		return Effect{Err: fmt.Errorf("the %s is not attached: %w", part.Name, err)}
	}
	end()
	return ShowToast("The " + part.Name + " is attached to the conversation in which it ran")
}

// NewDraft returns a draft of text with what is attached, the cursor at its end.
func (o Options) NewDraft(text string, attached []llm.Part) session.Draft {
	return session.Draft{Text: text, Cursor: len(text), Parts: attached, At: o.Now()}
}

// EstimatePrompt returns about how many tokens a prompt takes with what is attached. It may be called on any
// goroutine.
func (o Options) EstimatePrompt(text string, attached []llm.Part) int {
	return o.Estimate(text) + session.EstimateParts(attached, o.Estimate)
}

// RememberPrompt adds text to the stored prompt history without waiting for the disk. The
// function it returns waits, and returns the error.
func (o Options) RememberPrompt(text string) (stored func() error) {
	return o.Library.AddPromptAsync(session.SentPrompt{Text: text, Dir: o.Directory, At: o.Now()})
}

// Draft returns the draft that is stored under key; false if there is none but those of other running
// processes. Shell commands of the user's that were running when parley ended are
// attached to it.
func (o Options) Draft(key string) (d session.Draft, ok bool) {
	d, ok, err := o.Library.TakeDraft(key) // ok with an error: attachments are damaged, and the text is not
	if err != nil && !ok {
		return session.Draft{}, false
	}
	for _, at := range slices.Compact([]string{key, "folder:" + o.Directory}) {
		if parts, left := o.interruptedShells(at); len(parts) > 0 {
			d.Parts, ok = append(d.Parts, parts...), true
			if o.Library.SaveDraft(key, d) == nil {
				_ = o.SetShells(at, left)
			}
		}
	}
	return d, ok
}

// DeleteDraft deletes the draft that is stored under key.
func (o Options) DeleteDraft(key string) { _ = o.Library.SaveDraft(key, session.Draft{}) }

// Editor returns a command that runs $VISUAL or $EDITOR on a temporary file with text. Written
// has to be called with the error of the command: it returns the edited text, without trailing
// newlines, and removes the file.
func Editor(getenv func(string) string, text string) (cmd *exec.Cmd, written func(error) (string, error), err error) {
	name := cmp.Or(getenv("VISUAL"), getenv("EDITOR"))
	if name == "" {
		return nil, nil, errors.New("set $VISUAL or $EDITOR to use an editor")
	}
	f, err := os.CreateTemp("", "parley-*.md") // mode 0600
	if err != nil {
		return nil, nil, err
	}
	path := f.Name()
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, errors.Join(err, os.Remove(path))
	}
	// The variable may hold arguments, as in "code --wait".
	cmd = exec.Command("sh", "-c", name+` "$1"`, "sh", path)
	return cmd, func(err error) (string, error) {
		defer os.Remove(path)
		if err != nil {
			return "", fmt.Errorf("%s: %w", name, err)
		}
		b, err := os.ReadFile(path)
		return strings.TrimRight(string(b), "\n"), err
	}, nil
}

// FirstLine returns the first line of s, with an ellipsis where more follows.
func FirstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// A ShellRecord is a command that the user typed, from before it starts until
// its output is attached. One whose process is gone was interrupted.
type ShellRecord struct {
	PID     int    `json:"pid"`
	N       int    `json:"n"` // counts the commands of the process
	Command string `json:"command"`
}

// shellRecords guards the records of this process against itself.
var shellRecords struct {
	sync.Mutex
	n int
}

// recordKey returns where the records of the commands stand that were typed while the
// draft had this key.
func recordKey(draftKey string) string { return "commands of " + draftKey }

// RecordShell stores a record of a shell command that is about to run, and returns once that is
// on disk or cannot be. End removes the record.
func (o Options) RecordShell(draftKey, command string) (end func()) {
	shellRecords.Lock()
	defer shellRecords.Unlock()
	shellRecords.n++
	r := ShellRecord{os.Getpid(), shellRecords.n, command}
	_ = o.SetShells(draftKey, append(o.Shells(draftKey), r)) // it runs without a disk as well
	return func() {
		shellRecords.Lock()
		defer shellRecords.Unlock()
		_ = o.SetShells(draftKey, slices.DeleteFunc(o.Shells(draftKey), func(x ShellRecord) bool { return x == r }))
	}
}

// Shells returns the records of commands typed while the draft had this key.
func (o Options) Shells(draftKey string) (records []ShellRecord) {
	text, err := o.Library.Get(recordKey(draftKey))
	if err == nil && text != "" {
		_ = json.Unmarshal([]byte(text), &records) // what cannot be read names no command
	}
	return records
}

// SetShells replaces the records that Shells returns.
func (o Options) SetShells(draftKey string, records []ShellRecord) error {
	text := ""
	if len(records) > 0 {
		b, err := json.Marshal(records)
		if err != nil {
			return err
		}
		text = string(b)
	}
	return o.Library.Set(recordKey(draftKey), text)
}

// interruptedShells returns an attachment for each command that ran when its
// process ended, and the records that are left.
func (o Options) interruptedShells(draftKey string) (parts []llm.Part, left []ShellRecord) {
	for _, r := range o.Shells(draftKey) {
		if r.PID == os.Getpid() || tools.ProcessAlive(r.PID) {
			left = append(left, r)
			continue
		}
		parts = append(parts, llm.Part{
			Kind: llm.Text, Name: "interrupted: " + FirstLine(r.Command),
			Text: fmt.Sprintf("<output command=%q>\nInterrupted: the program ended while this ran. What it did until then is not known.\n</output>", r.Command),
		})
	}
	return parts, left
}

// QueueOrSteer queues a message while a turn runs: for after the answer if later is set, else to
// be sent along with the next tool results. It returns a text that says when it is sent.
func QueueOrSteer(a *App, later bool, parts []llm.Part) string {
	if later {
		a.Session.Queue(parts...)
		return "Queued – sent when the answer is done"
	}
	a.Session.Steer(parts...)
	return "Queued – sent with the next tool results, or after the answer"
}

// ImageModels lists and opens models that make images.
type ImageModels struct {
	List func() []Item                                                // image models, those that can be asked first; Value is "provider/model"
	Open func(ctx context.Context, name string) (llm.Endpoint, error) // opens one, which saves what it draws; "" is the first that can be asked; nil: no images here
}

// imageCommand begins a prompt for an image.
const imageCommand = "/image "

// newImage, behind it, says that no image is changed.
const newImage = "--new"

// imageModelKey is where the image model is stored that was chosen last.
const imageModelKey = "image_model"

func noImages(a *App) string {
	if a.Images.Open == nil {
		return "Images cannot be drawn here"
	}
	return ""
}

// drawImage draws what arg describes, with the files it mentions, changes the image that the
// conversation stands at, or, if arg is only the name of a file, attaches it. Without arg the
// image model is chosen.
func drawImage(a *App, arg string) Effect {
	if file := strings.TrimPrefix(arg, "@"); isFile(file) || file == arg && exists(file) {
		return a.attach(file)
	}
	why := busy(a)
	text, anew := strings.CutPrefix(arg+" ", newImage+" ")
	text = strings.TrimSpace(text)
	addresses, without := a.Addresses(text)
	switch {
	case arg == "":
		return chooseImageModel(a)
	case text == "":
		return ShowToast("Say what to draw: " + imageCommand + newImage + " PROMPT")
	case why != "":
		return Effect{Err: errors.New(why), Text: imageCommand + arg}
	case len(addresses) > 0: // a front end does not say which were pasted
		return Effect{Confirm: &Confirm{Text: "Fetch " + strings.Join(addresses, ", ") + "?", Yes: "Fetch", No: "Use as text", Answer: func(yes bool) Effect {
			if yes {
				without = text
			}
			return drawPrompt(a, arg, anew, text, without)
		}}}
	}
	return drawPrompt(a, arg, anew, text, text)
}

// drawPrompt draws text, which stands in the argument arg, with the files that mentions names.
// The line can be recalled; it is the draft again if it does not run.
func drawPrompt(a *App, arg string, anew bool, text, mentions string) Effect {
	o, attached, line := a.Options, slices.Clone(a.Attached), imageCommand+arg
	e := draw(a, "", anew, func(ctx context.Context) (parts []llm.Part, notes []string, err error) {
		mentioned, notes, err := o.Expand(ctx, mentions)
		return append(append(Unmentioned(attached, mentioned), mentioned...), llm.Part{Kind: llm.Text, Text: text}), notes, err
	})
	prepare := e.Prepare
	e.Prepare = func(ctx context.Context) func() Effect {
		shown := prepare(ctx)
		return func() Effect {
			e := shown()
			if e.Turn == nil {
				e.Text = line
			} else {
				a.RememberPrompt(line)
			}
			return e
		}
	}
	return e
}

// chooseImageModel lists the models that draw.
func chooseImageModel(a *App) Effect {
	items := a.Images.List()
	if len(items) == 0 {
		return ShowToast("No provider with image models is known")
	}
	used, _ := a.Library.Get(imageModelKey)
	if used != "" && !slices.ContainsFunc(items, func(i Item) bool { return i.Value == used }) {
		items = slices.Insert(items, 0, Item{Title: used, Value: used}) // of a server that tells of none
	}
	for i, item := range items {
		items[i].Current = item.Value == used
	}
	return Effect{List: &List{Title: "Image model · /image PROMPT draws with it", Noun: "model", Items: items, Choose: func(i Item, _ string) Effect {
		if provider, _, _ := strings.Cut(i.Value, "/"); i.Disabled && cannotConnect(a) == "" {
			return connect(a, provider)
		}
		e := a.SaveState(imageModelKey, i.Value)
		e.Toast = "Images: " + i.Value + " · /image PROMPT draws"
		return e
	}}}
}

// draw asks an image model, the one in use for the empty name, with what prompt returns beside.
// Without prompt, it is asked again.
func draw(a *App, name string, anew bool, prompt func(context.Context) (parts []llm.Part, notes []string, err error)) Effect {
	used, _ := a.Library.Get(imageModelKey)
	open, s := a.Images.Open, a.Session
	return Effect{Prepare: func(ctx context.Context) func() Effect {
		var parts []llm.Part
		var notes []string
		var unread error
		if prompt != nil {
			if parts, notes, unread = prompt(ctx); unread != nil {
				return func() Effect { return Effect{Err: unread} }
			}
		}
		model, err := open(ctx, cmp.Or(name, used))
		return func() Effect {
			switch why := busy(a); {
			case err != nil:
				return Effect{Failed: err}
			case a.Session != s:
				return Effect{Err: errors.New("another conversation was opened: not drawn")}
			case why != "":
				return Effect{Err: errors.New(why)}
			}
			a.Attached = slices.DeleteFunc(a.Attached, func(p llm.Part) bool {
				return slices.ContainsFunc(parts, func(q llm.Part) bool { return p.Kind == q.Kind && p.Name == q.Name && bytes.Equal(p.Data, q.Data) })
			})
			if len(a.Attached) == 0 {
				a.Attached = nil
			}
			return Effect{Notes: notes, Turn: func(ctx context.Context) iter.Seq[session.Event] { return s.GenerateImage(ctx, model, anew, parts...) }}
		}
	}}
}

// IsImagePrompt reports whether msg, which must be no summary, is a prompt for an image model.
func IsImagePrompt(msg llm.Message) bool { return msg.Role == llm.RoleUser && msg.Model != "" }

// IsImageEdit reports whether text, with which a user replaces an earlier message, is an /image
// command.
func IsImageEdit(text string) bool { return strings.HasPrefix(text, imageCommand) }
