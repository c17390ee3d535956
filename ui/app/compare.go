package app

import "fmt"

// Labels are the names of models to tell their answers apart by: those that
// stand there more than once are numbered.
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
