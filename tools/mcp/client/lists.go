package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/tools/act"
	"parley/tools/mcp"
	"parley/tools/mcp/client/oauth"
)

// serverLists holds everything that a server lists.
type serverLists struct {
	tools     toolList
	prompts   []mcp.Prompt
	resources []act.Resource
	unread    []error // why prompts or resources are missing
}

// readLists reads the lists that the server announces.
func readLists(ctx context.Context, server string, session *sdk.ClientSession, mask secretMask) (serverLists, error) {
	has := &sdk.ServerCapabilities{}
	if r := session.InitializeResult(); r != nil && r.Capabilities != nil {
		has = r.Capabilities
	}
	var out serverLists
	if has.Tools != nil {
		all, left, err := readPages(func(cursor string) ([]*sdk.Tool, string, error) {
			r, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Tools, r.NextCursor, nil
		})
		if err != nil {
			return out, fmt.Errorf("its tools: %w", err)
		}
		out.tools = listTools(server, all, mask)
		out.tools.omitted += left
	}
	if has.Prompts != nil {
		all, _, err := readPages(func(cursor string) ([]*sdk.Prompt, string, error) {
			r, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Prompts, r.NextCursor, nil
		})
		out.prompts = parsePrompts(server, all, has.Completions != nil, mask)
		if err = out.doWithout(ctx, session, "its prompts", err); err != nil {
			return out, err
		}
	}
	if has.Resources != nil {
		all, _, err := readPages(func(cursor string) ([]*sdk.Resource, string, error) {
			r, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			if err != nil {
				return nil, "", err
			}
			return r.Resources, r.NextCursor, nil
		})
		out.resources = parseResources(server, all, mask)
		if err = out.doWithout(ctx, session, "its resources", err); err != nil {
			return out, err
		}
	}
	return out, nil
}

// doWithout records why a list is missing, and returns err only if the server is unusable without it,
// because it does not answer. Some servers announce prompts or resources and cannot list them; their tools
// are still useful.
func (l *serverLists) doWithout(ctx context.Context, session *sdk.ClientSession, list string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%s: %w", list, err)
	if ctx.Err() != nil || errors.Is(err, oauth.ErrLogin) {
		return err
	}
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) { // perhaps a malformed list, or the end of the connection
		if alive := session.Ping(ctx, nil); alive != nil && !errors.As(alive, &answer) {
			return err
		}
	}
	l.unread = append(l.unread, err)
	return nil
}

// readPages reads a list page by page, within bounds. Left is 1 if the list was longer.
func readPages[T any](next func(cursor string) (page []T, more string, err error)) (all []T, left int, err error) {
	cursor := ""
	for range maxPages {
		page, more, err := next(cursor)
		if err != nil {
			return all, 0, err
		}
		if all = append(all, page...); more == "" || more == cursor {
			return all, 0, nil
		}
		if len(all) >= maxListed {
			break
		}
		cursor = more
	}
	return all, 1, nil
}

// parsePrompts returns the prompts whose names can be shown unchanged.
func parsePrompts(server string, all []*sdk.Prompt, completes bool, mask secretMask) []mcp.Prompt {
	var out []mcp.Prompt
	for _, p := range all {
		if p == nil || !mask.canShow(p.Name) {
			continue
		}
		prompt := mcp.Prompt{Server: server, Name: p.Name, Completes: completes, Title: mask.sanitizeText(p.Title, 200), Description: mask.sanitizeText(p.Description, 1000)}
		if prompt.Title == "" {
			prompt.Title = p.Name
		}
		for _, a := range p.Arguments {
			if a != nil && mask.canShow(a.Name) {
				prompt.Arguments = append(prompt.Arguments, mcp.PromptArgument{Name: a.Name, Description: mask.sanitizeText(a.Description, 500), Required: a.Required})
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
