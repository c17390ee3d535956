// Package media implements the wire formats of models that do not chat: they turn text into vectors,
// generate images and make videos.
//
//	[]string         ──► embed_*.go ──► llm.Embedded
//	llm.ImageRequest ──► image_*.go ──► llm.ImageEvents
//	llm.VideoRequest ──► video_*.go ──► llm.Job ──► a file
//
// A file holds one format of one or more services; differences between services with the same format
// are rows of a table. A request that may have created something is never sent twice, since each is
// paid for. Refusals are outcomes, not errors. Wire facts are of November 2026.
package media

import "slices"

// A row is a row of a table of services, for one kind in the configuration.
type row interface{ serviceKind() string }

// kindsOf lists the kinds of a table.
func kindsOf[R row](table []R) (kinds []string) {
	for _, r := range table {
		kinds = append(kinds, r.serviceKind())
	}
	return kinds
}

// rowOf returns the row of a kind; the first one for a kind that has none.
func rowOf[R row](table []R, kind string) R {
	return table[max(slices.IndexFunc(table, func(r R) bool { return r.serviceKind() == kind }), 0)]
}
