// Package consult has another model give its opinion on the conversation: the user asks with /ask, and the model, if
// /consult or the configuration names one, with the tool consult.
package consult

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/session/store"
	"parley/tools"
	"parley/tools/act"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/format"
)

// Bounds of a question, in bytes, and of an answer, in characters.
const (
	maxQuestion = 16 << 10
	maxAnswer   = 30_000
)

const (
	schema          = `{"type":"object","properties":{"question":{"type":"string"}},"required":["question"]}`
	defaultQuestion = "What do you think of the last answer? Say what is wrong, and what is missing."
	off             = "off"
)

// Register adds the flow to a.
func Register(a *app.App) {
	f := &flow{app: a, config: cmp.Or(a.Models.Consult, new(session.Consult)), asks: a.Session != nil}
	a.Commands = append(a.Commands,
		app.Command{Name: "ask", Group: app.ModelsGroup, Arg: "MODEL QUESTION", Help: "Ask another model about this conversation", Unavailable: f.cannotAsk, MultilineArg: "*", Editors: true, Run: f.ask},
		app.Command{Name: "consult", Group: app.ModelsGroup, Arg: "MODEL", Help: "Let the model ask another one for a second opinion; off ends it", Unavailable: f.noTools, Args: f.items, Editors: true, Run: f.choose},
	)
	_ = f.offer() // its name is valid
}

// A flow asks other models.
type flow struct {
	app     *app.App
	config  *session.Consult
	offered bool // the tool is in the set
	asks    bool // there is a front end that can ask the user

	mu    sync.Mutex
	asked count
}

// A count is how often the model of a conversation asked while it answered a prompt.
type count struct {
	conversation string
	prompt, n    int
}

// cannotAsk returns why nothing can be asked now; "" if it can.
func (f *flow) cannotAsk() string { return cmp.Or(f.app.BusyText(), f.app.EmptyText()) }

// ask asks a model a question.
func (f *flow) ask(arg string) app.Effect {
	name, question := strings.TrimSpace(arg), defaultQuestion
	if i := strings.IndexAny(name, " \n"); i > 0 {
		name, question = name[:i], strings.TrimSpace(name[i:])
	}
	if name == "" {
		return app.PickModel{Title: "Ask which model?", Chosen: func(name string) app.Effect { return app.DraftCommand("/ask " + name + " ") }}
	}
	model, err := f.app.Models.Open(name)
	switch {
	case err != nil:
		return app.Fail(err)
	case len(question) > maxQuestion:
		return app.Refuse("the question has %d KB: shorten it to %d", len(question)>>10, maxQuestion>>10)
	}
	about, confirm := f.app.Session.Beside.NeedsConfirmation(model)
	if !confirm {
		return f.play(model, question)
	}
	return &app.Confirm{
		Text: format.Capital(about.String()) + ". Ask it?", Yes: "Ask", No: "Cancel",
		Accept: func() app.Effect { return f.play(model, question) },
	}
}

// play asks model, and shows its answer as that of a call. The conversation keeps it for the next prompt.
func (f *flow) play(model llm.Endpoint, question string) app.Effect {
	s, now := f.app.Session, f.app.Now
	return app.Play(func(ctx context.Context) iter.Seq[session.Event] {
		return func(yield func(session.Event) bool) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			left := false
			show := func(e session.Event) {
				if left = left || !yield(e); left {
					cancel() // nobody sees the rest
				}
			}
			const id = blocks.OpinionCall
			show(session.Call{Part: llm.Part{Kind: llm.Call, ID: id, Name: id, Input: blocks.OpinionInput(question)}})
			began := now()
			o := session.Opinion{Model: model.Name, Question: question, By: format.ModelID(model.Name), Failed: true, Stopped: true}
			o.Answer = noAnswer(model, session.ErrProgramEnded)
			n := s.Annotate(0, o) // kept if parley ends before the answer
			saved, whole := time.Time{}, o
			whole.Answer += "\n\n"
			out := ask(ctx, s, model, question, func(text string) {
				if whole.Answer += text; now().Sub(saved) >= time.Second {
					saved = now()
					s.Annotate(n, whole)
				}
				show(session.Progress{ID: id, Text: text})
			})
			o.Answer, o.By, o.Failed, o.Stopped, o.Duration = out.Text, out.By, out.Failed, out.Failed && ctx.Err() != nil, now().Sub(began)
			s.Annotate(n, o)
			show(o)
			show(session.Done{Err: context.Cause(ctx), AnswerComplete: true})
		}
	})
}

// noAnswer returns that model did not answer, and why.
func noAnswer(model llm.Endpoint, err error) string {
	return model.Name + " did not answer: " + format.ErrorText(err)
}

// ask asks model about the conversation of s, and passes on the text of the answer.
func ask(ctx context.Context, s *session.Session, model llm.Endpoint, question string, progress func(string)) (out act.Outcome) {
	var used llm.Usage
	text := map[string]bool{} // blocks of text
	changes := s.ChangesFor(model)
	answer, err := s.Beside.Ask(ctx, session.Aside{
		Model: model, Purpose: store.PurposeConsult,
		Messages: []llm.Message{llm.UserText("You are asked for a second opinion on this conversation, in which you take no part. Answer this question only, and call no tools:\n\n" + question)},
		Show: func(e llm.Event) {
			switch e := e.(type) {
			case llm.Usage:
				used = used.Add(e)
			case llm.Delta:
				if e.Kind != "" {
					text[e.Block] = e.Kind == llm.Text
				}
				if text[e.Block] && e.Text != "" {
					progress(e.Text)
				}
			}
		},
	})
	out.By = strings.TrimSuffix(format.ModelID(model.Name)+" · "+format.Cost(used.Cost, used.Priced), " · ")
	plain, notes := tools.SanitizeAndTruncate(strings.TrimSpace(answer.Text()), maxAnswer)
	if err == nil && plain == "" {
		err = errors.New("the answer is empty")
	}
	if err != nil {
		out.Failed = true
		plain = strings.TrimSpace(noAnswer(model, cmp.Or(context.Cause(ctx), err)) + "\n\n" + plain)
	}
	for _, c := range changes {
		notes = append(notes, fmt.Sprintf("[%s: %s]", model.Name, c))
	}
	out.Text = strings.Join(append([]string{plain}, notes...), "\n")
	return out
}

// items lists the argument that ends second opinions.
func (f *flow) items() []app.Item {
	if f.config.Model == "" {
		return nil
	}
	return []app.Item{{Title: off, Detail: "The model may ask " + f.config.Model + " now", Value: off}}
}

func (f *flow) noTools() string {
	if f.app.Machine.ToolSet == nil || f.app.Machine.ToolSet(act.ConsultTool) == nil {
		return "Tools are off: --tools"
	}
	return ""
}

// choose sets the model that the answering one may ask.
func (f *flow) choose(name string) app.Effect {
	switch name = strings.TrimSpace(name); name {
	case "":
		return app.PickModel{Title: "Second opinions from which model?", Chosen: f.choose}
	case off:
		f.config.Model = ""
	default:
		model, err := f.app.Models.Open(name)
		if err != nil {
			return app.Fail(err)
		}
		f.config.Model = model.Name
	}
	if err := f.offer(); err != nil {
		return app.Fail(err)
	}
	switch f.config.Model {
	case "":
		return app.Toast("Second opinions off")
	case f.app.Session.Model().Name:
		return app.Toast("Second opinions from " + f.config.Model + " · once another model answers")
	}
	return app.Toast("Second opinions from " + f.config.Model + " · from your next message on")
}

// offer offers the model the tool if there is a model to ask.
func (f *flow) offer() error {
	if f.noTools() != "" || f.config.Model == "" && !f.offered {
		return nil
	}
	set, ok := f.app.Machine.ToolSet(act.ConsultTool).(*tools.Set)
	if !ok {
		return nil
	}
	var offered []tools.External
	if f.offered = f.config.Model != ""; f.offered {
		offered = append(offered, f.tool(f.config.Model))
	}
	return set.ReplaceExternal(act.ConsultTool, offered)
}

// tool returns the tool that asks the model name.
func (f *flow) tool(name string) tools.External {
	most := f.config.Most() // a turn that runs reads no config
	return tools.External{
		Name: act.ConsultTool, NotFor: name, Schema: json.RawMessage(schema),
		Description: fmt.Sprintf("Asks another model, %s, for a second opinion. It sees this conversation and your question, and calls no tools. Use it when you are stuck, or before a decision that is hard to undo, at most %d times in a turn.", name, most),
		Plan: func(ctx context.Context, input json.RawMessage) (*act.Action, error) {
			var args struct{ Question string }
			if err := json.Unmarshal(input, &args); err != nil {
				return nil, err
			}
			s := session.Of(ctx)
			switch question := strings.TrimSpace(args.Question); {
			case s == nil:
				return nil, session.ErrNoModels
			case question == "":
				return nil, errors.New("the question is empty")
			case len(question) > maxQuestion:
				return nil, fmt.Errorf("the question has %d KB: shorten it to %d", len(question)>>10, maxQuestion>>10)
			}
			if err := f.counted(s, name, most, 0); err != nil {
				return nil, err
			}
			model, err := s.Beside.OpenModel(name)
			if err != nil {
				return nil, err
			}
			a := &act.Action{Access: act.AccessRead, Ordered: true, Title: "consult " + name, Do: func(ctx context.Context, progress func(string)) act.Outcome {
				if err := f.counted(s, name, most, 1); err != nil {
					return act.Outcome{Text: err.Error(), Failed: true}
				}
				return ask(ctx, s, model, args.Question, progress)
			}}
			if about, confirm := s.Beside.NeedsConfirmation(model); confirm && !f.asks {
				return nil, fmt.Errorf("%v, and no user is here to confirm it: decide yourself", about)
			} else if confirm {
				a.AskEachTime, a.Question, a.Caution = true, "Ask "+name+" for a second opinion?", about.String()
			}
			return a, nil
		},
	}
}

// counted counts n more questions to the model name, and returns an error if it asked most times in the turn.
func (f *flow) counted(s *session.Session, name string, most, n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := (count{conversation: s.ID(), prompt: s.PromptSeq()}); f.asked.conversation != now.conversation || f.asked.prompt != now.prompt {
		f.asked = now
	}
	if f.asked.n >= most {
		return fmt.Errorf("%s was asked %s in this turn already: decide yourself", name, format.Plural(f.asked.n, "time"))
	}
	f.asked.n += n
	return nil
}
