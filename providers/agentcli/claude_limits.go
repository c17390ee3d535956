package agentcli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"parley/providers/llm"
)

// allowances describes the rate limit types of a subscription.
var allowances = map[string]string{"five_hour": "five-hour", "seven_day": "weekly", "seven_day_opus": "weekly Opus", "seven_day_sonnet": "weekly Sonnet"}

func (c *claude) limit(l *claudeLine) {
	if l.Limit.Resets > 0 && l.Limit.Resets < 1e11 {
		c.resets = time.Unix(int64(l.Limit.Resets), 0)
	}
	if l.Limit.Status == "allowed_warning" {
		text := fmt.Sprintf("the %s allowance of the account is nearly used up", cmp.Or(allowances[l.Limit.Type], "current"))
		if !c.resets.IsZero() {
			text += ", until " + c.resets.Local().Format("Mon 15:04")
		}
		c.notice("%s", text)
	}
}

// limitSubtypes describes the program's own limits, by the subtype of the last line.
var limitSubtypes = map[string]string{
	"error_max_turns":                     "reached its limit of turns",
	"error_max_budget_usd":                "reached its spending limit",
	"error_max_structured_output_retries": "found no answer that fits the schema, in all the tries it has",
}

// reportLimit handles a last line that reports that a limit ended the answer.
func (c *claude) reportLimit(l *claudeLine, limit string) {
	if !c.textAfterCall && l.Result != "" && c.run.schema == nil {
		c.delta("answer", llm.Part{Kind: llm.Text, Text: string(l.Result)})
	}
	words := strings.Join(l.Errors, "; ")
	c.fault = c.toError(l.Subtype, l.APIStatus, words)
	c.fault.Message = c.flavor.program + " " + limit
	if l.Subtype == "error_max_turns" && l.Turns > 0 {
		c.fault.Message += fmt.Sprintf(" (%d)", l.Turns)
	}
	if words != "" {
		c.fault.Message += ": " + oneLine(c.masked(words), maxErrorBytes)
	}
}
