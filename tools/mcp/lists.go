package mcp

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/act"
	"parley/tools/mcp/oauth"
)

// A Prompt is a text that a server has ready, for an entry of the command menu.
type Prompt struct {
	Server      string
	Name        string // the server's name for it; for GetPrompt
	Title       string // for people; the name unless the server says otherwise
	Description string
	Arguments   []PromptArgument
	Completes   bool // the server proposes values for arguments: see Servers.Complete
}

// A PromptArgument is a text that goes into a Prompt.
type PromptArgument struct {
	Name        string
	Description string
	Required    bool
}

// serverLists is everything that a server lists.
type serverLists struct {
	tools     toolList
	prompts   []Prompt
	resources []act.Resource
	unread    []error // why prompts or resources are missing
}

// readLists asks the server for what it says it has.
func readLists(ctx context.Context, server string, session *sdk.ClientSession, mask secretMask) (serverLists, error) {
	has := &sdk.ServerCapabilities{}
	if r := session.InitializeResult(); r != nil && r.Capabilities != nil {
		has = r.Capabilities
	}
	var out serverLists
	var all []*sdk.Tool
	left := 0
	if has.Tools != nil {
		var err error
		if left, err = readPages(func(cursor string) (int, string, error) {
			r, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return 0, "", err
			}
			all = append(all, r.Tools...)
			return len(r.Tools), r.NextCursor, nil
		}); err != nil {
			return out, fmt.Errorf("its tools: %w", err)
		}
	}
	out.tools = listTools(server, all, mask)
	out.tools.omitted += left
	if has.Prompts != nil {
		if _, err := readPages(func(cursor string) (int, string, error) {
			r, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return 0, "", err
			}
			out.prompts = append(out.prompts, parsePrompts(server, r.Prompts, mask)...)
			return len(r.Prompts), r.NextCursor, nil
		}); err != nil && !out.doWithout(ctx, session, fmt.Errorf("its prompts: %w", err)) {
			return out, fmt.Errorf("its prompts: %w", err)
		}
	}
	for i := range out.prompts {
		out.prompts[i].Completes = has.Completions != nil
	}
	if has.Resources != nil {
		if _, err := readPages(func(cursor string) (int, string, error) {
			r, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return 0, "", err
			}
			out.resources = append(out.resources, parseResources(server, r.Resources, mask)...)
			return len(r.Resources), r.NextCursor, nil
		}); err != nil && !out.doWithout(ctx, session, fmt.Errorf("its resources: %w", err)) {
			return out, fmt.Errorf("its resources: %w", err)
		}
	}
	return out, nil
}

// doWithout notes why a list is missing, and reports whether the server can be used all the same: it
// answers. Some say that they have prompts or resources, and list none; their tools are what counts.
func (l *serverLists) doWithout(ctx context.Context, session *sdk.ClientSession, err error) bool {
	if ctx.Err() != nil || errors.Is(err, oauth.ErrLogin) {
		return false
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) { // it may be a list that is malformed, or the end
		if alive := session.Ping(ctx, nil); alive != nil && !errors.As(alive, &answer) {
			return false
		}
	}
	l.unread = append(l.unread, err)
	return true
}

// readPages goes through a list, page by page, as far as is reasonable. It returns
// 1 if there was more.
func readPages(next func(cursor string) (n int, more string, err error)) (left int, err error) {
	total, cursor := 0, ""
	for range maxPages {
		n, more, err := next(cursor)
		if err != nil {
			return 0, err
		}
		if total += n; more == "" || more == cursor {
			return 0, nil
		}
		if total >= maxListed {
			break
		}
		cursor = more
	}
	return 1, nil
}

// parsePrompts returns those that can be shown and asked for by the name that is shown.
func parsePrompts(server string, all []*sdk.Prompt, mask secretMask) []Prompt {
	var out []Prompt
	for _, p := range all {
		if p == nil || !mask.canShow(p.Name) {
			continue
		}
		prompt := Prompt{Server: server, Name: p.Name, Title: mask.sanitizeText(p.Title, 200), Description: mask.sanitizeText(p.Description, 1000)}
		if prompt.Title == "" {
			prompt.Title = p.Name
		}
		for _, a := range p.Arguments {
			if a != nil && mask.canShow(a.Name) {
				prompt.Arguments = append(prompt.Arguments, PromptArgument{a.Name, mask.sanitizeText(a.Description, 500), a.Required})
			}
		}
		out = append(out, prompt)
	}
	return out
}

func parseResources(server string, all []*sdk.Resource, mask secretMask) []act.Resource {
	var out []act.Resource
	for _, r := range all {
		if r == nil || !mask.canShow(r.URI) {
			continue
		}
		resource := act.Resource{Server: server, URI: r.URI, Name: mask.sanitizeText(r.Name, 200), Description: mask.sanitizeText(r.Description, 1000)}
		if resource.Name == "" {
			resource.Name = r.URI
		}
		out = append(out, resource)
	}
	return out
}
