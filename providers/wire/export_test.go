package wire

// Network lets tests put a proxy before the transport that Client makes.
var Network = network
