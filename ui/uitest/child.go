package uitest

import tea "charm.land/bubbletea/v2"

// A Component is a child of a root model.
type Component interface {
	SetSize(width, height int)
	Update(tea.Msg) tea.Cmd
	View() string
}

// Standalone returns a root model that shows one component on the whole window, so that
// it can be driven by itself. If the component has a method Cursor() (x, y int,
// ok bool), the view has its cursor.
func Standalone(c Component) tea.Model { return alone{c} }

type alone struct{ Component }

func (a alone) Init() tea.Cmd { return nil }

func (a alone) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		a.SetSize(size.Width, size.Height)
		return a, nil
	}
	return a, a.Component.Update(msg)
}

func (a alone) View() tea.View {
	v := tea.NewView(a.Component.View())
	if c, ok := a.Component.(interface{ Cursor() (x, y int, ok bool) }); ok {
		if x, y, ok := c.Cursor(); ok {
			v.Cursor = tea.NewCursor(x, y)
		}
	}
	return v
}
