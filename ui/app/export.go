package app

import (
	"context"

	"parley/tools/sanitize"
	"parley/ui/clip"
)

// Copier returns Copy to a board.
func Copier(board *clip.Board) func(text string) func(context.Context) clip.Result {
	return func(text string) func(context.Context) clip.Result { return Copy(board, text) }
}

// Copy returns what copies text as it was to be seen: who pastes it elsewhere
// pastes nothing that was hidden in it, and ends no paste.
func Copy(board *clip.Board, text string) func(context.Context) clip.Result {
	text, hidden := sanitize.Source(text)
	put := board.Copy(text)
	return func(ctx context.Context) clip.Result {
		result := put(ctx)
		result.Hidden = hidden
		return result
	}
}

// Board returns where text is copied to. Terminal writes a sequence between frames; if
// it is nil, text does not go that way.
func (o Options) Board(terminal func(seq string)) *clip.Board {
	folder, _ := stateDir(o.Getenv) // without one there is a route less
	return &clip.Board{Getenv: o.Getenv, Directory: folder, Workspace: o.Directory, Terminal: terminal}
}
