package session

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"parley/providers/llm"
	"parley/session/store"
)

//go:embed compact.md
var compactPrompt string

// Bounds for one summary request.
const (
	defaultChunkTokens = 24 << 10 // tokens, if the model's window is unknown
	minChunkTokens     = 1 << 10  // tokens, even for a smaller window
	maxQuoted          = 4 << 10  // bytes of a call's arguments, and of its result
)

// summaryPreface precedes a summary in later requests.
const summaryPreface = "The conversation up to here was summarized to save room. This is the summary; go on from it.\n\n"

// Compact summarizes the conversation: in requests the summary replaces the
// earlier messages, which stay in the conversation. It emits the events of a
// turn: Step, the model's events without text, Compacted, Done.
func (s *Session) Compact(ctx context.Context) iter.Seq[Event] {
	return s.loop(ctx, func(t *turn) error {
		t.models.choose() // the current model
		return t.compaction.summarize()
	})
}

// A compaction summarizes a conversation that has grown too long in the middle of a turn.
type compaction struct {
	turn       *turn
	overflowed bool // the conversation was summarized since the last prompt because a request did not fit
	failedAt   int  // tokens of the conversation when summarizing failed; 0: it has not failed
}

// automatic summarizes the conversation once it fills the share Config.CompactAt of the
// model's window. After a failure it waits until the conversation is a tenth longer.
func (c *compaction) automatic() error {
	t := c.turn
	s := t.session
	t.mu.Lock()
	full := s.compactAt > 0 && s.Next.answering().Context > 0 && s.Next.mode == HistoryFull &&
		float64(s.Next.contextTokens()) > max(s.compactAt*float64(s.Next.answering().Context), 1.1*float64(c.failedAt)) && t.tree.messagesSinceSummary() > 2
	t.mu.Unlock()
	if !full {
		return nil
	}
	return c.summarizeOrTell()
}

// summarizeOrTell summarizes the conversation, or emits a notice why it could not. It returns an
// error only if that ends the turn: a cancellation or a spending limit.
func (c *compaction) summarizeOrTell() error {
	t := c.turn
	err := c.summarize()
	switch {
	case err == nil:
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	case errors.Is(err, ErrBudget):
		return err
	default:
		c.noticeFailure(err)
	}
	return nil
}

// messagesSinceSummary returns how many messages follow the last summary.
func (t *tree) messagesSinceSummary() (count int) {
	for n := range t.back(t.head) {
		if n.Summary {
			break
		}
		count++
	}
	return count
}

// onOverflow summarizes the conversation, if automatic summaries are on, after
// a model reported that it does not fit. It reports whether to try again.
func (c *compaction) onOverflow(err error) bool {
	t := c.turn
	if llm.FaultOf(err) != llm.ContextOverflow || t.session.compactAt <= 0 || c.overflowed || t.ctx.Err() != nil {
		return false
	}
	c.overflowed = true
	t.abandonInterrupted()
	if err := c.summarize(); err != nil {
		c.noticeFailure(err)
		return false
	}
	return true
}

// noticeFailure tells why the conversation could not be summarized.
func (c *compaction) noticeFailure(err error) {
	t := c.turn
	c.failedAt = t.session.Next.ContextTokens()
	t.notice("could not summarize the conversation: %v", err)
}

// summarize asks the model for a summary, in as many requests as its window
// needs, and makes it the end of the current branch. Prompts waiting for their
// response are not summarized: they follow the summary again.
func (c *compaction) summarize() error {
	t := c.turn
	s := t.session
	path, waiting := t.summarizable()
	if err := noticeUnread(t); err != nil {
		return err
	}
	if len(path) < 2 {
		return errors.New("nothing to summarize yet")
	}
	before, began := 0, t.now()
	t.mu.Lock()
	for _, n := range path {
		before += s.Next.tokens.message(n)
	}
	t.mu.Unlock()
	paths := pathsOfCalls(t.Path())
	model, summary, usage, err := c.write(path, paths)
	if err != nil {
		return err
	}
	summary = appendPaths(summary, paths)
	skills := skillsOf(path)
	after := s.Next.tokens.estimate(summaryPreface+summary) + messageOverhead
	for _, p := range skills {
		after += s.Next.tokens.estimate(p.Text)
	}
	if after >= before {
		return fmt.Errorf("not summarized: the summary would have about %d tokens, the conversation has %d", after, before)
	}
	message := llm.Message{Role: llm.RoleUser, Model: model.Name, Parts: append([]llm.Part{{Kind: llm.Text, Text: summaryPreface + summary}}, skills...)}
	n := t.appendAt(message, func(n *store.Node) {
		n.Parent = path[len(path)-1].Seq
		n.Duration, n.Summary, n.Usage = n.At.Sub(began), true, &usage
	})
	for i, w := range waiting {
		p := t.appendAt(w.Message, func(n *store.Node) { n.Steers = i > 0 }) // the tool results that the first prompt accompanied are summarized
		if i == 0 {
			t.given.moved(w.Seq, p.Seq)
		}
	}
	t.emit(Compacted{Seq: n.Seq, Text: summary, Messages: len(path), Before: before, After: after})
	return nil
}

// summarizable returns the messages from the last summary on, which replaces the
// messages before it, and the prompts at the end that wait for their response.
func (c *conversation) summarizable() (path, waiting []store.Node) {
	path = c.Path()
	i := firstWaiting(path)
	return sinceSummary(path[:i]), path[i:]
}

// firstWaiting returns the index of the trailing prompt in path, or of the first of several that
// accompanied tool results; len(path) if no prompt waits.
func firstWaiting(path []store.Node) int {
	i := len(path)
	for i > 0 && isPrompt(path[i-1]) {
		if i--; !path[i].Steers {
			break
		}
	}
	return i
}

// write writes a summary with Config.SummaryModel, or with the current model if none
// is set or that one fails.
func (c *compaction) write(path []store.Node, paths []string) (model llm.Endpoint, summary string, usage llm.Usage, err error) {
	t := c.turn
	s := t.session
	model = s.Next.current()
	if name := s.Beside.summary; name != "" && s.Beside.open != nil {
		other, err := s.Beside.open(name)
		if err == nil {
			if summary, usage, err = c.summarizePath(other, path, paths); err == nil || t.ctx.Err() != nil || s.attended && errors.Is(err, ErrBudget) {
				return other, summary, usage, err
			}
		}
		t.notice("%s did not write the summary, %s does: %v", name, model.Name, err)
	}
	summary, again, err := c.summarizePath(model, path, paths)
	return model, summary, usage.Add(again), err
}

// summarizePath summarizes path chunk by chunk; each request has one chunk and the
// summary so far.
func (c *compaction) summarizePath(model llm.Endpoint, path []store.Node, paths []string) (summary string, usage llm.Usage, err error) {
	t := c.turn
	room := defaultChunkTokens
	if model.Context > 0 {
		room = max(model.Context/2, minChunkTokens)
	}
	for i, chunk := range t.session.Next.tokens.chunks(path, room) {
		if err := t.budget.check(model); err != nil {
			return "", usage, err
		}
		t.done.Steps++
		t.emit(Step{Model: model.Name, N: i + 1})
		text := "<conversation>\n" + chunk + "\n</conversation>\n\nSummarize this conversation."
		if len(paths) > 0 {
			text = "<paths>\n" + strings.Join(paths, "\n") + "\n</paths>\n\n" + text
		}
		if summary != "" {
			text = "<summary>\n" + summary + "\n</summary>\n\n" + text + " It goes on from the summary: make one summary of both."
		}
		req := llm.Request{System: compactPrompt, Messages: []llm.Message{llm.UserText(text)}, Session: t.id}
		answer, used, err := t.session.Beside.complete(t.ctx, model, req, func(e llm.Event, err error) bool {
			switch e.(type) {
			case llm.Delta, llm.Finish, llm.Usage, nil:
			default:
				t.emit(e)
			}
			return true
		})
		t.budget.addSideRequest(store.PurposeSummary, model.Name, used, err)
		usage = usage.Add(used)
		if summary = strings.TrimSpace(answer.Text()); err == nil && summary == "" || errors.Is(err, errRefused) {
			err = errors.New("the model returned no summary")
		}
		if err != nil {
			return "", usage, err
		}
	}
	return summary, usage, nil
}

// chunks renders path as text in pieces of at most room tokens. A single
// message longer than that is truncated.
func (c *tokenCounter) chunks(path []store.Node, room int) []string {
	var out []string
	var piece strings.Builder
	size := 0
	for _, n := range path {
		text := transcriptOf(n)
		tokens := c.estimate(text)
		if tokens > room {
			text = elideMiddle(text, len(text)*room/tokens)
			tokens = room
		}
		if size > 0 && size+tokens > room {
			out = append(out, piece.String())
			piece.Reset()
			size = 0
		}
		piece.WriteString(text)
		size += tokens
	}
	return append(out, piece.String())
}

// transcriptOf returns a message as text for the summarizing model. Thinking is left out.
func transcriptOf(n store.Node) string {
	var b strings.Builder
	who := map[llm.Role]string{llm.RoleUser: "Person", llm.RoleAssistant: "Assistant", llm.RoleTool: "Tools"}[n.Role]
	if n.Summary {
		who = "Summary of earlier messages"
	}
	fmt.Fprintf(&b, "%s:\n", who)
	for _, p := range n.JoinedParts() {
		switch p.Kind {
		case llm.Text:
			b.WriteString(strings.TrimPrefix(p.Text, summaryPreface))
		case llm.Call:
			fmt.Fprintf(&b, "[calls %s %s]", p.Name, elideMiddle(p.Input, maxQuoted))
		case llm.Result:
			fmt.Fprintf(&b, "[%s returned: %s]", p.Name, elideMiddle(p.Text, maxQuoted))
		case llm.Media:
			fmt.Fprintf(&b, "[file %s, %s]", p.Name, p.MIME)
		default:
			continue
		}
		b.WriteString("\n")
	}
	if n.Interrupted {
		b.WriteString("[interrupted here]\n")
	}
	b.WriteString("\n")
	return b.String()
}

// elideMiddle removes the middle of text that is longer than n bytes.
func elideMiddle(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := text[:n*2/3], text[len(text)-n/3:]
	return strings.ToValidUTF8(head, "") + fmt.Sprintf(" […%d bytes left out…] ", len(text)-n) + strings.ToValidUTF8(tail, "")
}

// Bounds for the paths that a summarizer gets.
const (
	maxPaths    = 200
	maxPathSize = 400 // bytes of one
)

// pathFields are arguments that usually contain paths, in tools of parley and of MCP servers.
var pathFields = []string{"path", "file", "file_path", "filename", "paths", "files", "from", "to", "source", "destination", "notebook_path"}

// pathsOfCalls returns the files used in tool calls on a path, without duplicates,
// newest last.
func pathsOfCalls(path []store.Node) (paths []string) {
	for _, n := range path {
		for _, p := range n.Parts {
			if p.Kind != llm.Call {
				continue
			}
			var input map[string]json.RawMessage
			if json.Unmarshal([]byte(p.Input), &input) != nil {
				continue
			}
			for _, field := range pathFields {
				for _, file := range filesIn(input[field]) {
					paths = append(slices.DeleteFunc(paths, func(known string) bool { return known == file }), file)
				}
			}
		}
	}
	return paths[max(0, len(paths)-maxPaths):]
}

// filesIn returns the paths in an argument, a string or a list of strings. It ignores
// texts of several lines and URLs.
func filesIn(argument json.RawMessage) (files []string) {
	var one string
	var list []string
	if json.Unmarshal(argument, &one) == nil {
		list = []string{one}
	} else if json.Unmarshal(argument, &list) != nil {
		return nil
	}
	for _, file := range list {
		if file != "" && file != "." && len(file) <= maxPathSize && !strings.ContainsAny(file, "\n\r<>") && !strings.Contains(file, "://") {
			files = append(files, file)
		}
	}
	return files
}

// appendPaths appends the paths that a summary does not mention.
func appendPaths(summary string, paths []string) string {
	var missing []string
	for _, path := range paths {
		if !strings.Contains(summary, path) {
			missing = append(missing, path)
		}
	}
	if len(missing) == 0 {
		return summary
	}
	return fmt.Sprintf("%s\n\n## Also touched\n%s", summary, strings.Join(missing, "\n"))
}
