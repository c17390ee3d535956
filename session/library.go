package session

import "parley/session/store"

// The store's vocabulary, under the session's name: front ends know the session
// only, and it has nothing to add to these.
type (
	Library = store.DB      // everything that is kept
	Summary = store.Session // a conversation without its messages
	Node    = store.Node
	Query   = store.Query
	Hit     = store.Hit
	Spend   = store.Spend
	Draft   = store.Draft
	Past    = store.Prompt // something a person sent before
	History = store.History
)

// What of a conversation a request holds.
const (
	HistoryFull      = store.HistoryFull
	HistoryDynamic   = store.HistoryDynamic
	HistoryStateless = store.HistoryStateless
)
