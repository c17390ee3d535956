package app

import (
	"fmt"
)

// Compared holds the models that answer the next prompt, each on its own.
type Compared struct {
	Models []string // nil: the session's model only
	Blind  bool     // hides the names and shuffles the order until the user chooses
	Judge  string   // model that picks the best answer; "" for none
}

// CandidateLabels returns labels for models. Names that occur more than once are numbered.
func CandidateLabels(names []string) []string {
	count, at := map[string]int{}, map[string]int{}
	for _, name := range names {
		count[name]++
	}
	labels := make([]string, len(names))
	for i, name := range names {
		at[name]++
		labels[i] = name
		if count[name] > 1 {
			labels[i] = fmt.Sprintf("%s (%d of %d)", name, at[name], count[name])
		}
	}
	return labels
}
