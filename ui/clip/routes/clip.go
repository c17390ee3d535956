// Package routes copies text to the clipboard, and reports which routes the text
// took and which of them were verified.
//
//	board := &routes.Board{Getenv: os.Getenv, Terminal: write, Directory: state}
//	fmt.Println(board.Copy(text)(ctx)) // on a goroutine: it runs commands
//
//	the terminal (OSC 52): plainly, through tmux, through screen
//	  ──► tmux's own buffer ──► the system's clipboard ──► a private file
//
// Routes are rows of tables. They are tried in order until one that reaches the
// user's clipboard was read back and contains the text. A terminal does not
// confirm that it accepted a sequence, so the next route is tried as well. The
// clipboard of a remote machine is useless to the user, so it is not used over
// ssh. Commands in the workspace or in a relative directory of PATH are not run,
// and no command gets API keys of the environment.
package routes

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
	"parley/ui/clip"
	"parley/ui/format"
)

// Maximum time for a command to accept text or return it, and for a terminal to answer.
const (
	putTimeout = 2 * time.Second
	getTimeout = time.Second
	askTimeout = 500 * time.Millisecond
)

// A Board copies text to the clipboard. Its methods may be called from several
// goroutines. Getenv is required. Without a Terminal no sequence is sent, and
// without a Directory no file is written.
type Board struct {
	Getenv    func(string) string
	System    string           // as runtime.GOOS; "" means runtime.GOOS
	Terminal  func(seq string) // writes to the terminal, between frames
	Directory string           // for text that no route accepts; created if missing
	Workspace string           // commands in it are not run; absolute, or "" for none

	last    atomic.Int64 // number of copies requested
	busy    sync.Mutex   // one copy at a time
	once    sync.Once
	answers chan string
	timeout timeout // nil for context.WithTimeout; set by tests
}

// Register makes package clip use these routes.
func Register() {
	clip.New = func(getenv func(string) string, directory, workspace string, terminal func(seq string)) clip.Board {
		return &Board{Getenv: getenv, Directory: directory, Workspace: workspace, Terminal: terminal}
	}
}

type timeout func(context.Context, time.Duration) (context.Context, context.CancelFunc)

// within limits the time for a command or the terminal.
func (b *Board) within(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	if b.timeout != nil {
		return b.timeout(ctx, limit)
	}
	return context.WithTimeout(ctx, limit)
}

// Copy returns a function that copies the visible text: invisible characters, which could hide text or end a
// paste, are removed. The function runs commands and waits for each a few seconds at most. Of several
// copies, the last requested one wins.
func (b *Board) Copy(text string) func(context.Context) clip.Result {
	turn := b.last.Add(1)
	text, hidden := sanitize.Source(text)
	return func(ctx context.Context) clip.Result {
		b.busy.Lock()
		defer b.busy.Unlock()
		if turn != b.last.Load() {
			return clip.Result{Superseded: true}
		}
		result := b.copy(ctx, text)
		result.Hidden = hidden
		return result
	}
}

func (b *Board) copy(ctx context.Context, text string) clip.Result {
	c := &copying{Board: b, place: b.environment(ctx), text: text, Result: clip.Result{Bytes: len(text)}}
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

// Copying is a running copy.
type copying struct {
	*Board
	place environment
	text  string
	done  bool // the text is known to be on the user's clipboard
	clip.Result
}

// addLoss records that a route failed.
func (c *copying) addLoss(route string, err error) {
	c.Failures = append(c.Failures, fmt.Errorf("%s: %w", route, err))
}

// toTerminal sends the text by all routes that may reach the terminal. It asks
// the terminal for its clipboard if that does not disturb the user.
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
		step := clip.Step{Route: w.name}
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
	case <-answers: // answer to an abandoned question
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

// Answered handles the terminal's answer: the text on its clipboard.
func (b *Board) Answered(text string) {
	select {
	case b.onAnswer() <- text:
	default: // no question is open
	}
}

// toCommand passes the text to a command and reads it back.
func (c *copying) toCommand(ctx context.Context, row *command) {
	// The plain sequence may have put the text into tmux's buffer. Another copy
	// would annoy users who page through the buffers.
	if row.buffer && len(c.Delivered) > 0 && c.place.tmux.accepts() && c.holds(ctx, row, askTimeout) {
		c.Delivered = append(c.Delivered, clip.Step{Route: row.name, Checked: true})
		return
	}
	outer := row.buffer && len(c.Delivered) == 0 && c.place.supportsOSC52() && len(osc52(c.text)) <= c.place.limit()
	if err := c.run(ctx, putTimeout, row.put(outer), row.bytes(c.text), nil); err != nil {
		if !errors.Is(err, errMissing) {
			c.addLoss(row.name, err)
		}
		return
	}
	step := clip.Step{Route: row.name}
	if row.get != nil {
		if !c.holds(ctx, row, getTimeout) {
			c.addLoss(row.name, errNotThere)
			return
		}
		step.Checked = true
	}
	c.Delivered = append(c.Delivered, step)
	if outer && c.place.tmux.knows {
		c.Delivered = append(c.Delivered, clip.Step{Route: escapeRoutes[0].name})
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

// same reports whether texts are equal, ignoring Windows line ends.
func same(got, want string) bool {
	return got == want || strings.ReplaceAll(got, "\r\n", "\n") == strings.ReplaceAll(want, "\r\n", "\n")
}

// keep writes text to a file that only its owner can read. Like a clipboard,
// the file holds the last copy.
func (b *Board) keep(text string) (path string, err error) {
	if b.Directory == "" {
		return "", errors.New("no clipboard available")
	}
	path = filepath.Join(b.Directory, "copied.txt")
	return path, atomicfile.ReplaceUnsynced(path, []byte(text))
}
