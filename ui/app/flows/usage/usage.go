// Package usage lets the user see tokens and costs.
package usage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/providers/llm"
	"parley/session"
	"parley/ui/app"
	"parley/ui/app/blocks"
	"parley/ui/format"
	"parley/ui/usage"
)

// Register adds the flow to a.
func Register(a *app.App) {
	a.Commands = append(a.Commands,
		app.Command{Name: "usage", Aliases: []string{"cost", "stats"}, Keys: []string{"ctrl+x u"}, Group: app.Conversations, Help: "Tokens and cost", Run: func(string) app.Effect { return show(a) }},
	)
}

// show shows the tokens and costs of the conversation and of the last days.
func show(a *app.App) app.Effect {
	now, missed := a.Now(), missedText(a.Session.Path())
	total, last := a.Session.Spending.Usage()
	reader := usage.Reader{Store: a.Library, AbbrevPath: a.AbbrevPath}
	return app.Async(func(context.Context) app.Effect {
		sums, err := reader.Recent(now)
		pages, failed := reader.Pages(usage.Days30(now), time.Time{}, "model", "day", "provider", "folder", "session", "purpose")
		lines := []string{
			sumText("Last answer", last), sumText("This conversation", total), sumText("Today", sums.Today.Usage),
			sumText("This month", sums.Month.Usage), sumText("Last 30 days", sums.Days30.Usage), missed,
		}
		var parts []format.Part
		for i, page := range pages {
			if i == 0 {
				lines = append(lines, page.Note())
			}
			chart := page.Chart()
			parts = append(parts, format.Part{
				Title: "By " + page.By, Source: "By " + page.By + ":\n" + chart.Text(),
				Render: func(width int) []string { return chart.Lines(width, format.ChartStyle{}) },
			})
		}
		if err = errors.Join(err, failed); err != nil {
			lines = append(lines, format.ErrorText(err))
		}
		first := format.Part{Title: "Tokens and cost"}
		for _, line := range slices.DeleteFunc(lines, func(line string) bool { return line == "" }) {
			first.Lines = append(first.Lines, format.Line{Text: line})
		}
		if first.Lines == nil {
			first.Lines = []format.Line{{Text: "No usage yet"}}
		}
		return app.Page{Title: "Usage (last 30 days)", Parts: append([]format.Part{first}, parts...)}
	})
}

// sumText formats the usage of name; "" if it is zero.
func sumText(name string, u llm.Usage) string {
	if u.Input+u.Output == 0 && u.Cost == 0 {
		return ""
	}
	words := []string{format.Tokens(u.Input) + " in", blocks.CacheShare(u), format.Tokens(u.Output) + " out", format.Cost(u.Cost, u.Priced)}
	return name + ": " + strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " · ")
}

// missedText describes the tokens of a branch that prompt caches should have served but did not; "" if there are none.
func missedText(path []session.Node) string {
	var sum session.CacheMiss
	var causes []string
	for _, n := range path {
		sum.Tokens, sum.Cost = sum.Tokens+n.Missed.Tokens, sum.Cost+n.Missed.Cost
		if cause := n.Missed.Cause.String(); cause != "" && !slices.Contains(causes, cause) {
			causes = append(causes, cause)
		}
	}
	if sum.Tokens == 0 {
		return ""
	}
	text := "Cache misses here: " + format.Tokens(sum.Tokens) + " tokens (" + strings.Join(causes, ", ") + ")"
	if sum.Cost > 0 {
		text += fmt.Sprintf(" · about $%.4f more", sum.Cost)
	}
	return text
}
