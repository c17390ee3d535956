package openai

import (
	"strings"

	"parley/providers/adapter"
)

// wireID is the id of a call as the service takes it. Own says that the service
// minted it itself: then it may have any form, and has to keep it.
func (d Dialect) wireID(id string, own bool) string {
	switch {
	case d.IDs == IDsNine && len(id) == 9 && !strings.ContainsFunc(id, func(r rune) bool { return !adapter.IsAlnum(r, "") }):
		return id
	case d.IDs == IDsNine:
		return adapter.Hash(id)[:9]
	case own && id != "", id != "" && len(id) <= 40 && adapter.CleanName(id) == id:
		return id
	}
	return "call_" + adapter.Hash(id)[:24]
}
