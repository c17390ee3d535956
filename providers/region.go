package providers

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/providers/llm"
)

// wrongRegionErrors lists the errors with which services answer to a key of theirs at the
// wrong one of their addresses. The zero fields of a row fit everything.
var wrongRegionErrors = []struct {
	kind   string
	status int
	code   string
	host   bool // the right address is one of the same host
}{
	// GLM finds no balance for a key of its coding plan at the general address,
	// and the other way round.
	{kind: "glm", code: "1113", host: true},
	// Keys are bound to a region, or to a plan.
	{status: http.StatusUnauthorized},
}

// suggestRegions adds to an error that a misplaced key explains the addresses at
// which it may be good.
func (s service) suggestRegions(err error) error {
	var e *llm.Error
	if !errors.As(err, &e) {
		return err
	}
	for _, row := range wrongRegionErrors {
		if row.kind != "" && row.kind != s.kind || row.status != 0 && row.status != e.Status || row.code != "" && row.code != e.Code {
			continue
		}
		others := s.otherURLs(row.host)
		if len(others) == 0 {
			return err
		}
		told := *e
		told.Message = fmt.Sprintf("%s; a key of this service is good at one of its addresses only: if yours is of another plan or region, set base_url = %s",
			strings.TrimRight(told.Message, ".!; "), strings.Join(others, " or "))
		return &told
	}
	return err
}

// otherURLs lists the further addresses of a service that speak the same wire
// format, as base_url takes them, those of the same host alone or all. Of an
// address that is none of them nothing is known.
func (s service) otherURLs(host bool) (list []string) {
	like := s.closestBuiltin()
	all := maps.Clone(like.Regions)
	if all == nil {
		return nil
	}
	all[""] = like.BaseURL
	if !slices.Contains(slices.Collect(maps.Values(all)), s.url) {
		return nil
	}
	here := hostOf(s.url)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		address := all[name]
		if address == s.url || isMessagesURL(address) != isMessagesURL(s.url) || host && hostOf(address) != here {
			continue
		}
		list = append(list, fmt.Sprintf("%q", address))
	}
	return list
}

// isMessagesURL reports whether an address is of Anthropic's wire format.
func isMessagesURL(address string) bool { return strings.HasSuffix(address, "/anthropic") }

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}
