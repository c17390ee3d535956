package app

// A Choice is one model of the picker, as a person reads it.
type Choice struct {
	Name      string // provider/model
	Title     string // the name that its maker gives it
	Abilities string // words of abilities
	Window    string // how much fits into a request, such as "1.05M"
	Input     string // price of a million tokens, such as "$2"
	Output    string
	Ready     bool   // can be asked now
	Why       string // if not: what is missing, such as "set OPENAI_API_KEY"
	Retired   bool   // its maker takes it away; hidden unless it is in use
}
