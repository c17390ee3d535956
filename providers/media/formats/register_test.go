package formats

func init() { Register() }
