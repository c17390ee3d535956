// Package clip puts text on the clipboard, and says by which routes it went and
// which of them were seen to arrive.
//
//	board := &clip.Board{Getenv: os.Getenv, Terminal: write, Directory: state}
//	fmt.Println(board.Copy(text)(ctx)) // on a goroutine: it runs commands
//
//	the terminal (OSC 52): plainly, through tmux, through screen
//	  ──► tmux's own buffer ──► the system's clipboard ──► a private file
//
// Routes are rows of tables, taken in their order until one that ends on the
// user's clipboard was read back and holds the text. A terminal does not say
// whether it took what it was sent, so that the next one is tried as
// well. The clipboard of a machine that is used over ssh is nobody's. No command
// is run that lies in the workspace or in a relative directory of PATH, and none
// sees a key of the environment.
package clip

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"parley/tools/atomicfile"
	"parley/tools/sanitize"
	"parley/ui/format"
)

// How long a command may take to accept text or to give it back, and a terminal
// to take it or to answer.
const (
	putTimeout = 2 * time.Second
	getTimeout = time.Second
	askTimeout = 500 * time.Millisecond
)

// A Board is where text is copied to. Its methods may be called from several
// goroutines. Getenv is needed; without a Terminal nothing is sent there, without
// a Directory nothing is put into a file.
type Board struct {
	Getenv    func(string) string
	System    string           // as in runtime.GOOS, which "" means
	Terminal  func(seq string) // writes to the terminal, between frames
	Directory string           // for text that no route takes; made if it is not there
	Workspace string           // from which no command is run; absolute, or "" for none

	last    atomic.Int64 // copies asked for
	busy    sync.Mutex   // one copy at a time
	once    sync.Once
	answers chan string
	timeout timeout // nil for context.WithTimeout; tests decide themselves when time is up
}

// New returns a board. Directory may be "", and terminal nil.
func New(getenv func(string) string, directory, workspace string, terminal func(seq string)) *Board {
	return &Board{Getenv: getenv, Directory: directory, Workspace: workspace, Terminal: terminal}
}

type timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)

// within limits the time of a command or the terminal.
func (b *Board) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if b.timeout != nil {
		return b.timeout(ctx, limit)
	}
	return context.WithTimeout(ctx, limit)
}

// A Result is the result of a copy.
type Result struct {
	Bytes      int
	Hidden     int     // invisible characters, which are not copied
	Delivered  []Step  // the routes it went
	Failures   []error // why others did not take it
	File       string  // where it is instead; "" unless it went nowhere
	Err        error   // it is nowhere
	Superseded bool    // there was a later copy, which is to win
}

// A Step is a route that was taken.
type Step struct {
	Route   string // "terminal (OSC 52)", "tmux buffer", "wl-copy"
	Checked bool   // it was read back
}

func (r Result) String() string { return r.Message("") }

// Message returns the result in a few words; "" if a later copy passed this one. What
// names the text, such as "answer"; "" leaves it at the size.
func (r Result) Message(what string) string {
	said := r.route(what)
	switch {
	case r.Superseded, r.Err != nil, r.Hidden == 0:
		return said
	case r.Hidden == 1:
		return said + "; 1 hidden character removed"
	}
	return fmt.Sprintf("%s; %d hidden characters removed", said, r.Hidden)
}

// route returns which way the text went.
func (r Result) route(what string) string {
	text, size := format.Size(r.Bytes), ""
	if what != "" {
		text, size = what, " ("+text+")"
	}
	var checked, sent []string
	for _, s := range r.Delivered {
		if s.Checked {
			checked = append(checked, s.Route)
			continue
		}
		sent = append(sent, s.Route)
	}
	why := ""
	if len(r.Failures) > 0 {
		why = "; " + r.Failures[len(r.Failures)-1].Error()
	}
	switch {
	case r.Superseded:
		return ""
	case r.Err != nil:
		return "Could not copy: " + r.Err.Error() + why
	case r.File != "":
		return "Could not copy " + text + size + "; saved to " + r.File + why
	case len(checked) == 0:
		return "Copied " + text + " via " + strings.Join(sent, " and ") + size + ", not confirmed" + why
	case len(sent) == 0:
		return "Copied " + text + " to " + strings.Join(checked, " and ") + size
	}
	return "Copied " + text + " to " + strings.Join(checked, " and ") + size + "; also via " + strings.Join(sent, " and ")
}

// Copy returns a function that copies text as it was to be seen: who pastes it elsewhere pastes nothing that
// was hidden in it, and ends no paste. It runs commands and waits for them, at most a
// few seconds each. Of several copies the one that was asked for last wins.
func (b *Board) Copy(text string) func(context.Context) Result {
	turn := b.last.Add(1)
	text, hidden := sanitize.Source(text)
	return func(ctx context.Context) Result {
		b.busy.Lock()
		defer b.busy.Unlock()
		if turn != b.last.Load() {
			return Result{Superseded: true}
		}
		result := b.copy(ctx, text)
		result.Hidden = hidden
		return result
	}
}

func (b *Board) copy(ctx context.Context, text string) Result {
	c := &copying{Board: b, place: b.environment(ctx), text: text, Result: Result{Bytes: len(text)}}
	c.toTerminal(ctx)
	for i := range commands {
		if row := &commands[i]; !c.done && row.here(&c.place) {
			c.toCommand(ctx, row)
		}
	}
	if len(c.Delivered) == 0 {
		c.File, c.Err = b.keep(text)
	}
	return c.Result
}

// Copying is one copy on its way.
type copying struct {
	*Board
	place environment
	text  string
	done  bool // it is known to be on the user's clipboard
	Result
}

// addLoss notes that a route did not take the text.
func (c *copying) addLoss(route string, err error) {
	c.Failures = append(c.Failures, fmt.Errorf("%s: %w", route, err))
}

// toTerminal sends the text by the ways through which the terminal may be
// reached, and asks it whether it took the text if that disturbs nobody.
func (c *copying) toTerminal(ctx context.Context) {
	if c.Terminal == nil || !c.place.supportsOSC52() {
		return
	}
	for _, w := range escapeRoutes {
		if !w.here(&c.place) {
			continue
		}
		seq := osc52(c.text)
		if most := c.place.limit(); len(seq) > most {
			c.Failures = append(c.Failures, fmt.Errorf("too long for the terminal, which may drop more than %s", format.Size(most*3/4)))
			return
		}
		c.Terminal(w.wrap(c.place.trait().before) + w.wrap(seq))
		step := Step{Route: w.name}
		if c.place.answers() {
			got, ok := c.ask(ctx, w.wrap(question))
			step.Checked = ok && got == c.text
			c.done = c.done || step.Checked
		}
		c.Delivered = append(c.Delivered, step)
	}
}

// ask asks the terminal for the text on its clipboard.
func (c *copying) ask(ctx context.Context, seq string) (text string, ok bool) {
	answers := c.onAnswer()
	select {
	case <-answers: // of a question that was given up
	default:
	}
	ctx, cancel := c.within(ctx, askTimeout)
	defer cancel()
	c.Terminal(seq)
	select {
	case text = <-answers:
		return text, true
	case <-ctx.Done():
	}
	return "", false
}

func (b *Board) onAnswer() chan string {
	b.once.Do(func() { b.answers = make(chan string, 1) })
	return b.answers
}

// Answered takes the terminal's answer: the text on its clipboard.
func (b *Board) Answered(text string) {
	select {
	case b.onAnswer() <- text:
	default: // nobody asked
	}
}

// toCommand hands the text to a command, and reads it back.
func (c *copying) toCommand(ctx context.Context, row *command) {
	// The plain sequence may be in tmux's buffer by now: twice would be once
	// too often for those who page through the buffers.
	if row.buffer && len(c.Delivered) > 0 && c.place.tmux.accepts() && c.holds(ctx, row, askTimeout) {
		c.Delivered = append(c.Delivered, Step{row.name, true})
		return
	}
	outer := row.buffer && len(c.Delivered) == 0 && c.place.supportsOSC52() && len(osc52(c.text)) <= c.place.limit()
	if err := c.run(ctx, putTimeout, row.put(outer), row.bytes(c.text), nil); err != nil {
		if !errors.Is(err, errMissing) {
			c.addLoss(row.name, err)
		}
		return
	}
	step := Step{Route: row.name}
	if row.get != nil {
		if !c.holds(ctx, row, getTimeout) {
			c.addLoss(row.name, errNotThere)
			return
		}
		step.Checked = true
	}
	c.Delivered = append(c.Delivered, step)
	if outer && c.place.tmux.knows {
		c.Delivered = append(c.Delivered, Step{Route: escapeRoutes[0].name})
	}
	c.done = !row.buffer && step.Checked
}

// holds reports whether a command returns the text within limit.
func (c *copying) holds(ctx context.Context, row *command, limit time.Duration) bool {
	ctx, cancel := c.within(ctx, limit)
	defer cancel()
	for {
		got := &capped{most: 2*len(c.text) + 1024}
		if err := c.run(ctx, limit, row.get, nil, got); err == nil && same(string(got.text), c.text) {
			return true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(25 * time.Millisecond):
		}
	}
}

// same compares texts, also if one has the line ends of Windows.
func same(got, want string) bool {
	return got == want || strings.ReplaceAll(got, "\r\n", "\n") == strings.ReplaceAll(want, "\r\n", "\n")
}

// keep writes text where only its owner can read it. Like a clipboard, the file
// holds what was copied last.
func (b *Board) keep(text string) (path string, err error) {
	if b.Directory == "" {
		return "", errors.New("no clipboard available")
	}
	path = filepath.Join(b.Directory, "copied.txt")
	return path, atomicfile.ReplaceUnsynced(path, []byte(text))
}
