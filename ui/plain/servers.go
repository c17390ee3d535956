package plain

import (
	"parley/tools/mcp"
	"parley/ui/app"
	"parley/ui/format"
)

// serverNews tells what a person has to know or do about a server, once.
func (p *front) serverNews(name string) {
	servers := p.app.Servers()
	if servers == nil {
		return
	}
	for _, s := range servers.States() {
		if s.Name != name || p.servers[name] == s.Status {
			continue
		}
		p.servers[name] = s.Status
		if news := app.ServerNews(s); news != "" {
			p.say("%s", sentence(news))
		}
	}
}

// mcp reads the list of servers, or all there is to know of one.
func (p *front) mcp(arg string) {
	servers := p.app.Servers()
	if servers == nil {
		p.say("No MCP server is configured: [mcp.NAME] in the configuration adds one.")
		return
	}
	var rows []choice
	for _, s := range servers.States() {
		detail := string(s.Status) + ", " + format.Plural(len(s.Tools), "tool")
		if s.Reason != "" {
			detail = string(s.Status) + ", " + oneLine(s.Reason)
		}
		rows = append(rows, choice{name: s.Name, detail: detail, value: s.Name})
	}
	p.pick("MCP server", arg, rows, p.server)
}

// server says all that there is to know of a server, and asks what to do with it.
func (p *front) server(name string) {
	servers := p.app.Servers()
	for _, s := range servers.States() {
		if s.Name != name {
			continue
		}
		text, unseen := app.AboutServer(s)
		if !unseen {
			p.block(text)
			p.serverDo(s)
			continue
		}
		yes, no := "enable these tools", "not now"
		p.later(p.confirm(text, yes, no, unseen, func(yes bool) {
			if yes {
				p.agree(servers, s)
			}
		}))
	}
}

// serverDo asks what to do about a server: above all to allow what the sandbox
// refused it.
func (p *front) serverDo(s mcp.State) {
	var rows []choice
	for _, c := range app.ServerChoices(s) {
		rows = append(rows, choice{name: c.Name, detail: c.Detail, value: c.Name})
	}
	servers := p.app.Servers()
	p.choose("choice", rows, func(name string) {
		for _, c := range app.ServerChoices(s) {
			if c.Name != name {
				continue
			}
			p.soon(func() func() {
				did := s.Name + ": " + name
				if err := c.Do(servers); err != nil {
					did = "Error: " + oneLine(err.Error())
				}
				return func() { p.say("%s", sentence(did)) }
			})
		}
	})
}

func (p *front) agree(servers *mcp.Servers, s mcp.State) {
	policy := p.app.Session.Policy()
	p.soon(func() func() {
		did, err := app.AgreeServer(servers, s, policy)
		if err != nil {
			did = "Error: " + oneLine(err.Error())
		}
		return func() { p.say("%s", sentence(did)) }
	})
}
