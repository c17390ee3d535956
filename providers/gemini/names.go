package gemini

import "parley/providers/adapter"

// generatedIDPrefix begins the ids of calls that came without one. They stay here: the
// API refuses ids that it did not mint.
const generatedIDPrefix = "unnamed_"

// wireName returns a tool's name as the API takes it: as adapter.WireName, but with no
// digit or - at the front.
func wireName(name string) string {
	clean := adapter.CleanName(name)
	if clean == "" || clean[0] == '-' || clean[0] >= '0' && clean[0] <= '9' {
		clean = "_" + clean
	}
	return adapter.ShortName(name, clean)
}
