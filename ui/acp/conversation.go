package acp

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"parley/providers/llm"
	"parley/session"
	"parley/tools"
	"parley/tools/act"
	"parley/tools/sanitize"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/app/wording"
	"parley/ui/client"
	"parley/ui/format"
)

// A conversation is a conversation that the client has open.
type conversation struct {
	*agent
	id     sdk.SessionId
	opened *client.Opened
	editor *tools.Editor // files open in the client; nil if it does not provide them

	prompting sync.Mutex // held while a prompt is answered
	closed    bool       // guarded by prompting
	notice    string     // notice to send; guarded by prompting
	appMu     sync.Mutex // guards app and questions
	app       *app.App
	questions int // asked by the model so far

	mode atomic.Pointer[act.Mode] // mode last sent to the client

	cancelMu sync.Mutex
	cancels  map[*context.CancelFunc]bool // of prompts being answered or waiting
	view     *view                        // state of the client; guarded by prompting
}

// NewSession begins a conversation.
func (a *agent) NewSession(ctx context.Context, p sdk.NewSessionRequest) (r sdk.NewSessionResponse, err error) {
	err = a.enter(ctx, client.Request{Dir: p.Cwd, Servers: servers(p.McpServers)}, func(c *conversation) {
		r = sdk.NewSessionResponse{SessionId: c.id, Modes: c.modes(), ConfigOptions: c.options()}
	})
	return r, err
}

// LoadSession continues a conversation, and sends its history to the client.
func (a *agent) LoadSession(ctx context.Context, p sdk.LoadSessionRequest) (r sdk.LoadSessionResponse, err error) {
	if p.SessionId == "" {
		return r, invalid("sessionId is empty")
	}
	err = a.enter(ctx, client.Request{Dir: p.Cwd, ID: string(p.SessionId), Servers: servers(p.McpServers)}, func(c *conversation) {
		r = sdk.LoadSessionResponse{Modes: c.modes(), ConfigOptions: c.options()}
		c.replay()
	})
	return r, err
}

// ResumeSession continues a conversation whose history the client has.
func (a *agent) ResumeSession(ctx context.Context, p sdk.ResumeSessionRequest) (r sdk.ResumeSessionResponse, err error) {
	if p.SessionId == "" {
		return r, invalid("sessionId is empty")
	}
	err = a.enter(ctx, client.Request{Dir: p.Cwd, ID: string(p.SessionId), Servers: servers(p.McpServers)}, func(c *conversation) {
		r = sdk.ResumeSessionResponse{Modes: c.modes(), ConfigOptions: c.options()}
	})
	return r, err
}

// enter opens a conversation, calls then, which sets the response, and sends the commands to the client.
func (a *agent) enter(ctx context.Context, r client.Request, then func(*conversation)) error {
	done, ok := a.begin()
	if !ok {
		return failed(errGone)
	}
	defer done()
	if !filepath.IsAbs(r.Dir) {
		return invalid("cwd %q is no absolute path", r.Dir)
	}
	a.leave(sdk.SessionId(r.ID)) // an open session cannot be opened again
	opened, err := a.Open(ctx, r)
	if err != nil {
		return failed(err)
	}
	c := &conversation{
		agent: a, opened: opened, id: sdk.SessionId(opened.App.Session.ID()), app: app.New(opened.App), notice: opened.Notice,
		cancels: map[*context.CancelFunc]bool{},
	}
	c.app.FrontEnd.AskUser = func(next func() app.Effect) { c.work.Go(func() { c.askUser(next) }) }
	c.view = newView(opened.App.Directory, c.update)
	if c.editor = a.editor(c.id); opened.Tools != nil {
		opened.Tools.SetEditor(c.editor)
	}
	opened.Tools.Jobs().OnNews(func(tools.Job) { c.reportSandbox() })
	c.tellMode()
	c.prompting.Lock()
	defer c.prompting.Unlock()
	a.mu.Lock()
	a.open[c.id] = c
	a.mu.Unlock()
	then(c)
	c.work.Go(c.tellCommands) // after the response, which contains the session ID
	return nil
}

// reportSandbox reports changes of a job that the sandbox undid, unless a running turn does.
func (c *conversation) reportSandbox() {
	c.prompting.Lock()
	defer c.prompting.Unlock()
	e, ok := c.app.Session.TakeSandbox()
	if c.closed || !ok {
		return
	}
	c.app.Session.Annotate(0, e)
	c.view.event(blocks.Change{Event: e})
}

// leave ends a conversation if it is open.
func (a *agent) leave(id sdk.SessionId) {
	a.mu.Lock()
	c := a.open[id]
	delete(a.open, id)
	a.mu.Unlock()
	if c == nil {
		return
	}
	c.cancel()
	c.prompting.Lock() // wait until its turn has ended
	defer c.prompting.Unlock()
	c.closed = true
	c.opened.Close()
}

// CloseSession ends a conversation and its running turn.
func (a *agent) CloseSession(_ context.Context, p sdk.CloseSessionRequest) (sdk.CloseSessionResponse, error) {
	done, ok := a.begin()
	if !ok {
		return sdk.CloseSessionResponse{}, failed(errGone)
	}
	defer done()
	if _, err := a.find(p.SessionId); err != nil {
		return sdk.CloseSessionResponse{}, err
	}
	a.leave(p.SessionId)
	return sdk.CloseSessionResponse{}, nil
}

// page is the maximum number of conversations that ListSessions returns at once.
const page = 50

// ListSessions lists conversations, latest first. A cursor is the number of conversations
// already listed.
func (a *agent) ListSessions(_ context.Context, p sdk.ListSessionsRequest) (r sdk.ListSessionsResponse, err error) {
	dir, from := "", 0
	if p.Cwd != nil {
		dir = filepath.Clean(*p.Cwd)
	}
	if p.Cursor != nil {
		if from, err = strconv.Atoi(*p.Cursor); err != nil || from < 0 {
			return r, invalid("cursor %q was not given by session/list", *p.Cursor)
		}
	}
	list, err := a.List(dir)
	if err != nil {
		return r, failed(err)
	}
	list = slices.DeleteFunc(list, func(s session.Info) bool { return !filepath.IsAbs(s.Dir) || dir != "" && s.Dir != dir })
	r.Sessions = []sdk.SessionInfo{}
	from = min(from, len(list))
	for _, s := range list[from:min(from+page, len(list))] {
		r.Sessions = append(r.Sessions, sdk.SessionInfo{
			SessionId: sdk.SessionId(s.ID), Cwd: s.Dir, Title: sdk.Ptr(sanitize.Line(wording.ListTitle(s))), UpdatedAt: sdk.Ptr(s.Updated.UTC().Format(time.RFC3339)),
		})
	}
	if from+page < len(list) {
		r.NextCursor = sdk.Ptr(strconv.Itoa(from + page))
	}
	return r, nil
}

// update sends an update to the client. It ignores errors, because a closed connection ends
// everything anyway.
func (c *conversation) update(u sdk.SessionUpdate) {
	_ = c.conn.SessionUpdate(context.WithoutCancel(c.ctx), sdk.SessionNotification{SessionId: c.id, Update: u})
}

// servers converts the MCP servers of a client.
func servers(list []sdk.McpServer) (out []client.Server) {
	headers := func(list []sdk.HttpHeader) map[string]string {
		all := map[string]string{}
		for _, h := range list {
			all[h.Name] = h.Value
		}
		return all
	}
	for _, s := range list {
		switch {
		case s.Stdio != nil:
			env := map[string]string{}
			for _, v := range s.Stdio.Env {
				env[v.Name] = v.Value
			}
			out = append(out, client.Server{Name: s.Stdio.Name, Command: s.Stdio.Command, Args: s.Stdio.Args, Env: env})
		case s.Http != nil:
			out = append(out, client.Server{Name: s.Http.Name, URL: s.Http.Url, Headers: headers(s.Http.Headers)})
		case s.Sse != nil:
			out = append(out, client.Server{Name: s.Sse.Name, URL: s.Sse.Url, Headers: headers(s.Sse.Headers)})
		}
	}
	return out
}

// modes returns the approval modes. Yolo is included only if the configuration chose it.
func (c *conversation) modes() *sdk.SessionModeState {
	now := c.opened.App.Session.Policy().Mode()
	state := &sdk.SessionModeState{CurrentModeId: sdk.SessionModeId(now)}
	for _, m := range offeredModes(now) {
		state.AvailableModes = append(state.AvailableModes, sdk.SessionMode{Id: sdk.SessionModeId(m), Name: string(m), Description: sdk.Ptr(wording.ModeDetail(m))})
	}
	return state
}

func offeredModes(now act.Mode) []act.Mode {
	if slices.Contains(act.Modes, now) {
		return act.Modes
	}
	return append(slices.Clone(act.Modes), now)
}

// SetSessionMode changes the approval mode, including that of the running turn.
func (a *agent) SetSessionMode(_ context.Context, p sdk.SetSessionModeRequest) (r sdk.SetSessionModeResponse, err error) {
	c, err := a.find(p.SessionId)
	if err != nil {
		return r, err
	}
	return r, c.setMode(string(p.ModeId))
}

func (c *conversation) setMode(mode string) error {
	policy := c.opened.App.Session.Policy()
	if offered := offeredModes(policy.Mode()); !slices.Contains(offered, act.Mode(mode)) {
		return invalid("no mode %q: use one of %s", mode, format.JoinComma(offered))
	}
	policy.SetMode(act.Mode(mode))
	c.tellMode()
	return nil
}

// tellMode sends the approval mode to the client if it has changed. An accepted plan changes
// it too.
func (c *conversation) tellMode() {
	now := c.opened.App.Session.Policy().Mode()
	if before := c.mode.Swap(&now); before == nil || *before == now {
		return
	}
	c.update(sdk.SessionUpdate{CurrentModeUpdate: &sdk.SessionCurrentModeUpdate{CurrentModeId: sdk.SessionModeId(now)}})
	c.update(sdk.SessionUpdate{ConfigOptionUpdate: &sdk.SessionConfigOptionUpdate{ConfigOptions: c.options()}})
}

// IDs of options.
const (
	optionMode   = "mode"
	optionModel  = "model"
	optionEffort = "effort"
)

// providerDefault stands for the provider's default effort.
const providerDefault = "default"

// options returns the options: approval mode, model, and reasoning effort.
func (c *conversation) options() []sdk.SessionConfigOption {
	s := c.app.Session
	mode := choice{id: optionMode, name: "Approval mode", category: sdk.SessionConfigOptionCategoryMode, now: string(s.Policy().Mode())}
	for _, m := range offeredModes(s.Policy().Mode()) {
		mode.add(string(m), string(m), wording.ModeDetail(m))
	}
	model := choice{id: optionModel, name: "Model", category: sdk.SessionConfigOptionCategoryModel, now: s.Model().Name}
	model.add(model.now, model.now, "")
	for _, m := range c.opened.App.Models.Choices() {
		if m.Ready && !m.Retired && m.Alias == "" && m.Name != model.now {
			model.add(m.Name, m.Name, sanitize.Line(m.Title))
		}
	}
	all := []sdk.SessionConfigOption{mode.option(), model.option()}
	if efforts := s.Model().Efforts; len(efforts) > 0 {
		effort := choice{id: optionEffort, name: "Reasoning effort", category: sdk.SessionConfigOptionCategoryThoughtLevel, now: cmp.Or(string(s.Next.Effort()), providerDefault)}
		effort.add(providerDefault, providerDefault, "the provider's default")
		for _, e := range efforts {
			effort.add(string(e), string(e), "")
		}
		all = append(all, effort.option())
	}
	return all
}

// A choice is an option with its possible values.
type choice struct {
	id, name, now string
	category      sdk.SessionConfigOptionCategory
	values        sdk.SessionConfigSelectOptionsUngrouped
}

func (c *choice) add(value, name, about string) {
	o := sdk.SessionConfigSelectOption{Value: sdk.SessionConfigValueId(value), Name: sanitize.Line(name)}
	if about != "" {
		o.Description = sdk.Ptr(about)
	}
	c.values = append(c.values, o)
}

func (c *choice) option() sdk.SessionConfigOption {
	o := sdk.NewSessionConfigOptionSelect(sdk.SessionConfigValueId(c.now), sdk.SessionConfigSelectOptions{Ungrouped: &c.values})
	o.Select.Id, o.Select.Name, o.Select.Category = sdk.SessionConfigId(c.id), c.name, sdk.Ptr(c.category)
	return o
}

// SetSessionConfigOption changes one option and returns all options.
func (a *agent) SetSessionConfigOption(ctx context.Context, p sdk.SetSessionConfigOptionRequest) (r sdk.SetSessionConfigOptionResponse, err error) {
	if p.ValueId == nil {
		return r, invalid("this option takes one of its values")
	}
	c, err := a.find(p.ValueId.SessionId)
	if err != nil {
		return r, err
	}
	done, ok := a.begin()
	if !ok {
		return r, failed(errGone)
	}
	defer done()
	c.appMu.Lock()
	defer c.appMu.Unlock()
	value := string(p.ValueId.Value)
	switch p.ValueId.ConfigId {
	case optionMode:
		err = c.setMode(value)
	case optionModel:
		err = c.settle(ctx, c.app.Models.Use(value))
	case optionEffort:
		err = c.setEffort(value)
	default:
		err = invalid("no option %q: use %s, %s or %s", p.ValueId.ConfigId, optionMode, optionModel, optionEffort)
	}
	r.ConfigOptions = c.options()
	return r, err
}

func (c *conversation) setEffort(value string) error {
	efforts := c.app.Session.Model().Efforts
	switch {
	case value == providerDefault:
		c.app.Session.Next.SetEffort("")
	case slices.Contains(efforts, llm.Effort(value)):
		c.app.Session.Next.SetEffort(llm.Effort(value))
	default:
		return invalid("no effort %q: use %s or one of %s", value, providerDefault, format.JoinComma(efforts))
	}
	return nil
}
