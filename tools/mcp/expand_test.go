package mcp_test

import (
	"maps"
	"os"
	"slices"
	"testing"

	"parley/tools/mcp"
)

// A stored secret takes the place of its reference, before a variable of the environment.
func TestExpand(t *testing.T) {
	t.Setenv("MINE", "from the environment")
	t.Setenv("OTHER", "other")
	c := mcp.Config{Stored: func(name string) (string, bool) { return "stored", name == "MINE" }}
	got, err := c.Expand("env", map[string]string{"A": "Bearer ${MINE}", "B": "${OTHER}"})
	if want := map[string]string{"A": "Bearer stored", "B": "other"}; err != nil || !maps.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	os.Unsetenv("OTHER")
	if _, err := c.Expand("env", map[string]string{"B": "${OTHER}"}); err == nil || err.Error() != "env.B: the variable ${OTHER} is not set" {
		t.Error(err)
	}
	c.Env = map[string]string{"API_KEY": "${MINE}"}
	c.Stored = func(string) (string, bool) { return "tCanary-9f8e7d", true }
	if !slices.Contains(mcp.ConfigSecrets(c), "tCanary-9f8e7d") {
		t.Error("a stored secret is not masked in exports")
	}
}
