package plain

// folder goes to another directory: by its name, or one from the list.
func (p *front) folder(arg string) {
	if !p.idle() {
		return
	}
	if p.app.Enter == nil {
		p.say("The folder is fixed here.")
		return
	}
	if arg != "" {
		p.enterFolder(arg)
		return
	}
	o := p.app
	p.soon(func() func() {
		dirs, err := o.Directories()
		return func() {
			if err != nil {
				p.fail(err)
			}
			if len(dirs) == 0 {
				p.say("No other folder is known yet: /cd and a path go to one.")
				return
			}
			var rows []choice
			for _, dir := range dirs {
				rows = append(rows, choice{name: o.Short(dir), value: dir})
			}
			p.choose("folder", rows, p.enterFolder)
		}
	})
}

// enterFolder ends the conversation and has another begin in a directory.
func (p *front) enterFolder(name string) {
	dir, err := p.app.Directory(name)
	if err != nil {
		p.fail(err)
		return
	}
	p.app.Enter(dir)
	p.quit()
}
