package chat

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	tea "charm.land/bubbletea/v2"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/format"
)

// A TickMsg updates elapsed times, once a second while a turn runs.
type TickMsg struct{ Of *Turn }

// SendPrompt starts a turn with parts as its prompt. Without parts it retries.
func (c *Chat) SendPrompt(parts ...llm.Part) tea.Cmd {
	s := c.App.Session
	return c.Play(func(ctx context.Context) iter.Seq[session.Event] { return s.Turn(ctx, parts...) })
}

// Play runs a turn and shows its events as they arrive. No other turn may be running.
func (c *Chat) Play(events func(context.Context) iter.Seq[session.Event]) tea.Cmd {
	if c.Turn != nil {
		return c.ShowToast("Stop the running turn first")
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	ctx, pulse := llm.WithPulse(ctx, 0)
	c.Turn = &Turn{Turn: blocks.NewTurn(c.Transcript.Blocks.NewID), cancel: cancel, Pulse: pulse}
	c.Turn.Begin(c.Now(), c.App.Session)
	pump := newPump(c.Send, frameTime(os.Getenv))
	c.pump = pump
	ctx = llm.WithReadDelay(ctx, pump.readDelay)
	c.Go(func() {
		defer cancel(nil)
		for e := range events(ctx) {
			pump.put(e)
		}
	})
	return c.tick()
}

func (c *Chat) tick() tea.Cmd { return c.Tick(time.Second, TickMsg{c.Turn}) }

func (c *Chat) ticked(msg TickMsg) tea.Cmd {
	if c.Turn == nil || msg.Of != c.Turn {
		return nil
	}
	c.Transcript.Tick(c.Now())
	c.drawAll(c.Turn.Tick(c.Now()))
	return c.tick()
}

// handleEvents shows the events since the last frame.
func (c *Chat) handleEvents(msg eventsMsg) tea.Cmd {
	if msg.from != c.pump {
		return nil // from an earlier turn
	}
	began := time.Now()
	var cmds []tea.Cmd
	for _, e := range msg.from.take() {
		if c.Turn != nil {
			cmds = append(cmds, c.OnEvent(e))
		}
	}
	msg.from.took(time.Since(began), frameTime(os.Getenv))
	return tea.Batch(cmds...)
}

// Next starts a turn with the first queued message; nil if none is queued.
func (c *Chat) Next() tea.Cmd {
	next, _ := c.App.Session.Queue.Take()
	return c.SendPrompt(next.Parts...)
}

// escWithin is the maximum time between two presses of esc that count as a double press.
const escWithin = 600 * time.Millisecond

// StopCallOrTurn stops the last running tool call, or the turn if there is none. If called again shortly after the
// last one, it always stops the turn, because another call may have begun.
func (c *Chat) StopCallOrTurn() tea.Cmd {
	if c.Now().Sub(c.Turn.callStoppedAt) < escWithin {
		return c.Stop()
	}
	if cmd, stopped := c.stopCall(""); stopped {
		return cmd
	}
	return c.Stop()
}

// stopCall stops the running call id, or the last one if id is "", and reports whether there was one.
func (c *Chat) stopCall(id string) (cmd tea.Cmd, stopped bool) {
	t := c.Turn
	stopped, others := c.App.Session.Calls.Stop(id)
	if !stopped {
		return nil, false
	}
	said := "Tool stopped; the model continues · " + c.KeyOf("stop") + " again stops it"
	if others == 0 {
		t.callStoppedAt = c.Now()
	} else {
		said = fmt.Sprintf("Tool stopped, %d still running · %s stops the next, ctrl+c all", others, c.KeyOf("stop"))
	}
	return c.ShowToastWhile(said, func() bool { return c.Turn == t }), true
}

// Stop ends the running turn, if any.
func (c *Chat) Stop() tea.Cmd {
	if c.Turn != nil {
		c.Turn.Stopped = true
		c.Turn.cancel(context.Canceled)
	}
	return nil
}

// Cancel ends the turn and the user's shell commands, before the screen closes.
func (c *Chat) Cancel() {
	if c.StopShells(); c.Turn != nil {
		c.Turn.cancel(session.ErrProgramEnded)
	}
}

// Close unblocks goroutines that wait for the screen, after it has closed.
func (c *Chat) Close() {
	if c.pump != nil {
		c.pump.close()
	}
}

// RetryNow immediately sends a request that is waiting for a retry. A turn must be running.
func (c *Chat) RetryNow() tea.Cmd {
	c.Turn.Pulse.RetryNow()
	c.drawAll(c.Turn.RetryNow(c.Now()))
	return nil
}

// ExtendSilence gives a silent model the same time again. A turn must be running.
func (c *Chat) ExtendSilence() tea.Cmd {
	if rest := c.Turn.RetryIn(c.Now()); rest > 0 {
		return c.ShowToast("Waiting, " + format.Seconds(rest) + " left")
	}
	c.Turn.Pulse.Beat()
	c.drawAll(c.Turn.ExtendSilence(c.Now()))
	return c.ShowToast("Waiting")
}

// GenerateTitle asks the configured title model for a title, on another goroutine; see
// WriteTitle of session.Session.Beside.
func (c *Chat) GenerateTitle() tea.Cmd {
	s := c.App.Session
	return func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.Beside.WriteTitle(ctx); err != nil {
			return app.Failure{Err: err}
		}
		return nil
	}
}

// Note shows a notice and stores it with the conversation.
func (c *Chat) Note(text string) {
	e := llm.Notice{Text: text}
	c.App.Session.Annotate(0, e)
	c.Show(e)
}

// SavedMsg reports that messages of a session cannot be stored. A nil Err reports that all are
// stored again.
type SavedMsg struct {
	Of  *session.Session
	Err error
}

// saved shows that the conversation cannot be stored, until it can be.
func (c *Chat) saved(err error) tea.Cmd {
	text, lasting := wording.Saving(c.SaveErr, err)
	c.SaveErr = lasting
	switch text {
	case "":
	case wording.SavedAgain:
		return c.ShowToast(text)
	default:
		c.Show(llm.Notice{Text: text})
	}
	return nil
}
