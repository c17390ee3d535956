package gemini

import "parley/providers/adapter"

// generatedIDPrefix begins the generated ids of calls without one. They are not sent: the API
// refuses ids that it did not create.
const generatedIDPrefix = "unnamed_"

// wireName returns a tool's name in the form that the API accepts: like adapter.WireName, but not
// beginning with a digit or -.
func wireName(name string) string {
	clean := adapter.CleanName(name)
	if clean == "" || clean[0] == '-' || clean[0] >= '0' && clean[0] <= '9' {
		clean = "_" + clean
	}
	return adapter.ShortName(name, clean)
}
