// Package media speaks the wire formats in which models do something else than answer: they
// turn texts into vectors, draw images and make videos.
//
//	[]string         ──► embed_*.go ──► llm.Embedded
//	llm.ImageRequest ──► image_*.go ──► llm.ImageEvents
//	llm.VideoRequest ──► video_*.go ──► llm.Job ──► a file
//
// One file holds one format of one or more services; what services of the same format do
// differently is a row. Nothing that creates something is sent twice: each is paid for.
// Refusals are outcomes, not errors. Wire facts are of November 2026.
package media

import "slices"

// A row is a row of a table of services: one kind of them, by the name in the configuration.
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
