package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"parley/tools/mcp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of the pages that a server requires before a request.
const (
	maxRequired     = 4
	maxRequiredData = 64 << 10 // bytes of all of it
)

// A page has to be opened before a request can be answered: an elicitation in URL mode.
type page struct {
	id   string // the server's id of the elicitation
	text string // the server's text, unchanged
	url  string
}

// requiredPages returns the pages that a server requires before a request, from its error; nil
// for any other error. MCP: URLElicitationRequiredError, -32042.
func requiredPages(err error, mask secretMask) ([]page, error) {
	var refusal *jsonrpc.Error
	if !errors.As(err, &refusal) || refusal.Code != sdk.CodeURLElicitationRequired {
		return nil, nil
	}
	if len(refusal.Data) > maxRequiredData {
		return nil, fmt.Errorf("it requires pages to be opened, and says more of them than %d KB", maxRequiredData>>10)
	}
	var data struct {
		Elicitations []sdk.ElicitParams
	}
	if json.Unmarshal(refusal.Data, &data) != nil || len(data.Elicitations) == 0 {
		return nil, errors.New("it requires a page to be opened, and does not say which")
	}
	if n := len(data.Elicitations); n > maxRequired {
		return nil, fmt.Errorf("it requires %d pages to be opened; at most %d can be", n, maxRequired)
	}
	var out []page
	for _, e := range data.Elicitations {
		if e.Mode != "url" {
			return nil, errors.New("it requires something else than a page to be opened")
		}
		address, err := pageURL(e.URL, mask)
		if err != nil {
			return nil, err
		}
		out = append(out, page{e.ElicitationID, e.Message, address})
	}
	return out, nil
}

// openPages asks the user to open the required pages, one after the other, and waits until the server
// or the user reports that each is done. The error says why the request cannot be repeated.
func openPages(ctx context.Context, s *server, pages []page) error {
	if !s.opts.Interactive {
		return fmt.Errorf("it requires a page to be opened first, which is not possible here: %s", pages[0].url)
	}
	var waits []*pageWait
	for _, p := range pages { // before the first is opened, because it may be done at once
		wait := s.calls.waitForPage(p.id)
		defer s.calls.forgetPage(wait)
		waits = append(waits, wait)
	}
	for i, p := range pages {
		for _, opened := range []bool{false, true} {
			q := &mcp.Question{Text: p.text, URL: p.url, Opened: opened, PageDone: waits[i].done}
			if q.Done() {
				break
			}
			r := askUser(ctx, s, q)
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case r.Action == mcp.ActionAccept:
			case opened:
				return fmt.Errorf("it requires a page, which the user opened and did not finish: %s", p.url)
			default:
				return fmt.Errorf("it requires a page to be opened first, and the user declined: %s", p.url)
			}
		}
	}
	return nil
}

// A pageWait waits for a page.
type pageWait struct {
	id   string
	done chan struct{} // closed when the server says that the page is done
}

// waitForPage registers interest in the page of an elicitation's id for onPageDone, until forgetPage.
func (f *inFlight) waitForPage(id string) *pageWait {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait := &pageWait{id, make(chan struct{})}
	f.pages = append(f.pages, wait)
	return wait
}

func (f *inFlight) forgetPage(wait *pageWait) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = slices.DeleteFunc(f.pages, func(other *pageWait) bool { return other == wait })
}

// onPageDone notifies those waiting for a page that it is done. Unknown ids are ignored: MCP,
// "Completion Notifications for URL Mode Elicitation".
func (f *inFlight) onPageDone(p *sdk.ElicitationCompleteParams) {
	if p == nil || p.ElicitationID == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.pages = slices.DeleteFunc(f.pages, func(wait *pageWait) bool {
		if wait.id != p.ElicitationID {
			return false
		}
		close(wait.done)
		return true
	})
}
