package app

import "time"

// An Exchange is one request that a model was sent and what came back, with
// secrets masked. A retry is one of its own.
type Exchange struct {
	ID     int
	Name   string   // provider/model, or the provider alone
	Method string   // of HTTP, or RUN for a program
	URL    string   // or the name of the program
	Args   []string // of a program
	Status int
	Error  string // category; "" if there is none
	Reason string // the same in words
	Start  time.Time
	Timing
	Over     bool
	Sent     int64 // bytes of the bodies
	Got      int64
	Request  Traffic
	Response Traffic
	Curl     string // a command that sends it again, without the key; "" if it was not kept whole
}

// Timing is when parts of an answer came, from the start of its exchange; 0: not yet.
type Timing struct {
	Headers time.Duration
	First   time.Duration // byte of the body
	Total   time.Duration
}

// Traffic is one side of an exchange.
type Traffic struct {
	Headers [][2]string
	Body    string
	Tail    string // its end, where Cut bytes before it were not kept
	Cut     int64
}

// Wire is where exchanges are looked up. The zero value has none.
type Wire struct {
	List func() []Exchange             // the newest first, without headers and bodies
	Get  func(id int) (Exchange, bool) // whole, if it is still kept
	Hear func(func(trouble string))    // registers who hears, on any goroutine, that the recording failed
}
