package providers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"parley/providers/catalog"
	"parley/providers/llm"
)

// An address is what is the user's own in the address of a service.
type address struct {
	values  map[string]string // of the variables of the catalog's address
	models  []string          // names that the user gave to models there
	missing string            // what the user has to do before there is an address; "" if nothing
	err     error             // why a value cannot stand there
}

// fillAddress puts the values of its variables into the catalog's address: those of the
// configuration, else those that were given when the provider was connected, else those of
// the environment, else the usual ones.
func (s *service) fillAddress(stored KeyStore, getenv func(string) string) {
	if len(s.builtin.Variables) == 0 {
		return
	}
	a := address{values: map[string]string{}}
	var kept map[string]string
	if stored != nil {
		kept, _ = stored.Variables(s.name)
	}
	for _, v := range s.builtin.Variables {
		text, from := s.conf.Variables[v.Name], v.Name
		if text == "" {
			text = kept[v.Name]
		}
		for _, name := range v.Env {
			if text == "" && strings.TrimSpace(getenv(name)) != "" {
				text, from = getenv(name), name
			}
		}
		if text == "" {
			continue
		}
		value, err := s.builtin.Parse(v, text)
		if err != nil {
			a.err = cmp.Or(a.err, fmt.Errorf("%s: %w", from, err))
			continue
		}
		a.values[v.Name] = value
		a.models = append(a.models, v.ModelNames(value)...)
	}
	var missing []catalog.Variable
	s.url, missing = s.builtin.Expand(s.url, a.values)
	for _, v := range missing {
		a.missing = cmp.Or(a.missing, "set "+strings.Join(append(v.Env, v.Name+" under [providers."+s.name+".variables]"), " or "))
	}
	if a.err != nil {
		a.missing = "correct " + a.err.Error()
	}
	s.address = a
}

// addressError returns why a service has no address yet; nil if it has one.
func (s service) addressError() error {
	if s.address.missing == "" {
		return nil
	}
	e := &llm.Error{
		Fault: llm.Authentication, Provider: s.name, Key: strings.TrimPrefix(s.address.missing, "set "),
		KeyMissing: true, Message: "the address of " + s.builtin.Name + " is not complete", Err: llm.ErrNoKey,
	}
	if s.address.err != nil {
		e.Fault, e.Message, e.Err, e.KeyMissing = llm.InvalidRequest, s.address.err.Error(), nil, false
	}
	return e
}

// notReady returns why a service cannot be asked: it has no key, or no address; nil if it can.
func (s service) notReady() error {
	if s.key.hint != "" {
		return s.missingKeyError()
	}
	return s.addressError()
}

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
