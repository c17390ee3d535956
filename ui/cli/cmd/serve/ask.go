package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/attach"
	"parley/session/settings"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/cli/cmdutil"
	"parley/ui/client"
	"parley/ui/format"
)

// readingTools are the tools of asked models, if they may read a folder.
const readingTools = "read,list,glob,grep"

// An answer is what parley -p -o json prints.
type answer struct {
	Session    string          `json:"session"`
	Model      string          `json:"model"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	Usage      *struct {
		Input  int     `json:"input_tokens"`
		Output int     `json:"output_tokens"`
		Cost   float64 `json:"cost_usd"`
	} `json:"usage"`
	Notices []struct {
		Text string `json:"text"`
	} `json:"notices"` // such as that another model answered, or that the answer is incomplete
	Error *struct {
		Message string `json:"message"`
		Hint    string `json:"hint"`
	} `json:"error"`
	Finish string `json:"finish_reason"` // "" for an error of all models
}

func (c *call) ask(args arguments) (r result, err error) {
	all, notice, err := c.answers(args, cmp.Or(args.Model, c.server.model))
	if err != nil {
		return r, err
	}
	one := all[0]
	text := one.Text
	if one.Structured != nil {
		text = string(one.Structured)
	}
	r = result{Content: texts(text, one.remarks(), joined(one.about(), one.Model, notice)), IsError: one.Error != nil}
	if strings.HasPrefix(text, "{") && one.Structured != nil { // the protocol has objects only
		r.Structured = one.Structured
	}
	return r, nil
}

func (c *call) compare(args arguments) (r result, err error) {
	const most = 4
	if n := len(args.Models); n > most { // also of one model
		return r, fmt.Errorf("%d answers are too many to compare: ask for at most %d", n, most)
	}
	if err := session.CheckCompared(args.Models); err != nil {
		return r, err
	}
	all, notice, err := c.answers(args, args.Models...)
	if err != nil {
		return r, err
	}
	var parts []string
	r.IsError = true // unless one has answered
	for _, one := range all {
		switch {
		case one.Finish != "":
			parts = append(parts, "## "+joined(one.Model, one.about())+"\n\n"+strings.TrimSpace(one.Text+"\n\n"+one.remarks()))
			r.IsError = r.IsError && one.Error != nil
		case one.Error != nil:
			parts = append(parts, one.remarks())
		}
	}
	r.Content = texts(append(parts, notice)...)
	return r, nil
}

// joined joins facts on one line; "" is none.
func joined(facts ...string) string {
	return format.Join(" · ", facts...)
}

// remarks returns the notices about the answer, and why there is none.
func (a *answer) remarks() string {
	var lines []string
	for _, n := range a.Notices {
		lines = append(lines, n.Text)
	}
	if a.Error != nil {
		lines = append(lines, a.Error.Message, a.Error.Hint)
	}
	return sanitize.Text(strings.TrimSpace(strings.Join(lines, "\n")))
}

// about names the conversation, and what the answer cost.
func (a *answer) about() string {
	var facts []string
	if a.Session != "" {
		facts = append(facts, "session "+a.Session)
	}
	if a.Usage != nil {
		facts = append(facts, format.Tokens(a.Usage.Input+a.Usage.Output)+" tokens")
		if a.Usage.Cost > 0 {
			facts = append(facts, settings.Dollars(a.Usage.Cost))
		}
	}
	return joined(facts...)
}

// answers asks models in a new conversation, several at once, and returns their answers.
func (c *call) answers(args arguments, models ...string) (all []*answer, notice string, err error) {
	if strings.TrimSpace(args.Prompt) == "" {
		return nil, "", errors.New("prompt is empty")
	}
	if string(args.Schema) == "null" {
		args.Schema = nil
	}
	reads := "none"
	if c.server.folder != "" {
		reads = readingTools
	}
	opened, compared, err := c.server.Open(c.ctx, c.server.dir, reads, args.Schema, models...)
	if err != nil {
		return nil, "", err
	}
	s := opened.App.Session
	defer c.close(opened)
	s.Policy().SetMode(act.ModeReadOnly)
	parts, err := c.attached(opened, args.Files)
	if err != nil {
		return nil, "", err
	}
	parts = append(parts, llm.Part{Kind: llm.Text, Text: args.Prompt})
	if err := c.server.budget.begin(c.ctx, s); err != nil {
		return nil, "", err
	}
	defer c.server.budget.end(s)
	turn := s.Turn(c.ctx, parts...)
	var out bytes.Buffer
	o := cmdutil.PrintOptions{Format: "json", Quiet: true, Out: &out, Err: io.Discard, Audience: llm.ForTool(c.tool.argument), Schema: args.Schema != nil}
	if len(models) > 1 {
		o.Compared, turn = models, s.Compare(c.ctx, compared, nil, parts...)
	}
	c.server.Print(s, c.watched(turn), c.cancel, o)
	if len(models) < 2 {
		all = []*answer{{}}
		err = json.Unmarshal(out.Bytes(), all[0])
	} else {
		err = json.Unmarshal(out.Bytes(), &all)
	}
	switch {
	case c.ctx.Err() != nil:
		return nil, "", context.Cause(c.ctx)
	case err != nil || len(all) == 0:
		return nil, "", errors.New("the models gave no answer")
	case c.server.ephemeral:
		for _, one := range all {
			one.Session = ""
		}
	}
	return all, sanitize.Line(opened.Notice), nil
}

// close ends a conversation, and removes it if nothing is to be stored.
func (c *call) close(opened *client.Opened) {
	id, empty := opened.App.Session.ID(), opened.App.Session.Empty()
	opened.Close()
	if c.server.ephemeral && !empty {
		if err := opened.App.Library.Remove(id); err != nil {
			c.server.Note("could not remove the conversation " + id + ": " + format.ErrorText(err))
		}
	}
}

// attached returns files of the folder as parts of a prompt, if rules let the model read them.
func (c *call) attached(opened *client.Opened, files []string) (parts []llm.Part, err error) {
	const most = 32
	switch {
	case len(files) > 0 && c.server.folder == "":
		return nil, errors.New("files cannot be read: start parley mcp serve with --folder, or put their text into the prompt")
	case len(files) > most:
		return nil, fmt.Errorf("%d files are too many: attach up to %d", len(files), most)
	}
	for _, name := range files {
		action, err := opened.Tools.Plan(c.ctx, "read", fmt.Sprintf(`{"path":%s}`, encode(name)))
		if err != nil {
			return nil, err
		}
		if action.Path == "" || opened.App.Session.Policy().Decide(action) != act.Allow {
			return nil, fmt.Errorf("%s is not allowed to be read", sanitize.Line(name))
		}
		f, err := openFile(opened.Tools.Root(), action.Path)
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(io.LimitReader(f, maxMessage+1))
		f.Close()
		if err == nil && len(data) > maxMessage {
			err = fmt.Errorf("%s has more than %d MB", sanitize.Line(name), maxMessage>>20)
		}
		if err != nil {
			return nil, err
		}
		a, err := attach.FromBytes(action.Path, data, attach.Limits{})
		if err != nil {
			return nil, err
		}
		parts = append(parts, a.Part)
	}
	return parts, nil
}

// beat is how often a silent model is reported: many clients end a call after a silent minute.
const beat = 20 * time.Second

// watched reports the progress of a turn, and has its cost count for the budget of the others.
func (c *call) watched(turn iter.Seq[session.Event]) iter.Seq[session.Event] {
	return func(yield func(session.Event) bool) {
		var silent sync.WaitGroup
		ended := make(chan struct{})
		defer silent.Wait()
		defer close(ended)
		silent.Go(func() {
			for {
				select {
				case <-time.After(beat):
					c.tell(true, "still answering")
				case <-ended:
					return
				}
			}
		})
		received := 0
		for e := range turn {
			of := e
			if one, ok := e.(session.CandidateEvent); ok {
				of = one.Event
			}
			switch of := of.(type) {
			case session.Step:
				c.tell(true, of.Model+" is answering")
			case llm.Delta:
				received += len(of.Text)
				c.tell(false, format.Size(received)+" received")
			case session.Call:
				c.tell(true, "calls "+of.Part.Name)
			case session.Response:
				c.server.budget.mu.Lock()
				c.server.budget.share()
				c.server.budget.mu.Unlock()
			}
			if !yield(e) {
				return
			}
		}
	}
}

// A budget limits the cost of all calls together. Each conversation has what the others leave as its limit, which is
// checked before each request. A call waits for others as long as it could exceed the budget with them, by what the
// dearest call has cost so far.
type budget struct {
	most float64 // US dollars; 0 is no limit

	mu      sync.Mutex
	spent   float64                            // by calls that have ended
	dearest float64                            // cost of one of them
	known   bool                               // one has ended
	running map[*session.Session]session.Limit // with their configured limits
	ended   chan struct{}                      // closed when a call ends; nil before the first one
}

// begin counts the cost of s, perhaps after others have ended. It returns an error if nothing is left.
func (b *budget) begin(ctx context.Context, s *session.Session) error {
	if b.most == 0 {
		return nil
	}
	own := session.Limit{Period: settings.PerSession}
	for _, l := range s.Spending.Limits() {
		if l.Same(own) {
			own = l
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended == nil {
		b.running, b.ended = map[*session.Session]session.Limit{}, make(chan struct{})
	}
	for len(b.running) > 0 && (!b.known || b.left(b.dearest) < b.dearest) {
		ended := b.ended
		b.mu.Unlock()
		select {
		case <-ended:
		case <-ctx.Done():
		}
		b.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if b.left(0) <= 0 {
		return fmt.Errorf("the budget of %s is spent: the user can start parley mcp serve with a higher --max-cost", settings.Dollars(b.most))
	}
	b.running[s] = own
	b.share()
	return nil
}

// left returns what calls have not used, if each that runs costs least or more.
func (b *budget) left(least float64) float64 {
	left := b.most - b.spent
	for s := range b.running {
		left -= max(cost(s), least)
	}
	return left
}

// share gives each conversation what the others leave. The caller holds mu.
func (b *budget) share() {
	for s, l := range b.running {
		if rest := max(b.left(0)+cost(s), 1e-9); l.Cost == 0 || rest < l.Cost { // 0 would be no limit
			l.Cost = rest
		}
		s.Spending.SetLimit(l)
	}
}

// end counts s among the ended ones.
func (b *budget) end(s *session.Session) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, running := b.running[s]; !running {
		return
	}
	delete(b.running, s)
	b.spent, b.dearest, b.known = b.spent+cost(s), max(b.dearest, cost(s)), true
	close(b.ended)
	b.ended = make(chan struct{})
}

// cost returns what a conversation has cost so far.
func cost(s *session.Session) float64 {
	total, _ := s.Spending.Usage()
	return total.Cost
}
