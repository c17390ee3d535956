package sanitize

import "net/netip"

// A blockedRange is a range of addresses that are not public.
type blockedRange struct {
	prefix netip.Prefix
	why    string
}

// blockedRanges are the ranges that the IANA registries of special-purpose addresses
// do not list as globally reachable, and those that can embed an IPv4 address. In
// IPv6, everything outside 2000::/3 is also blocked.
var blockedRanges = []blockedRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "an address of this network"},
	{netip.MustParsePrefix("10.0.0.0/8"), "a private address"},
	{netip.MustParsePrefix("100.64.0.0/10"), "an address shared by a provider's customers"},
	{netip.MustParsePrefix("127.0.0.0/8"), "this computer"},
	{netip.MustParsePrefix("168.63.129.16/32"), "a cloud's metadata service"}, // Azure's, outside the reserved ranges
	{netip.MustParsePrefix("169.254.0.0/16"), "a link-local address, where clouds keep metadata and keys"},
	{netip.MustParsePrefix("172.16.0.0/12"), "a private address"},
	{netip.MustParsePrefix("192.0.0.0/24"), "a reserved address"},
	{netip.MustParsePrefix("192.0.2.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "a 6to4 relay"},
	{netip.MustParsePrefix("192.168.0.0/16"), "a private address"},
	{netip.MustParsePrefix("198.18.0.0/15"), "an address for benchmarks"},
	{netip.MustParsePrefix("198.51.100.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "an address for documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "a multicast address"},
	{netip.MustParsePrefix("240.0.0.0/4"), "a reserved address"},

	{netip.MustParsePrefix("::/128"), "an unspecified address"},
	{netip.MustParsePrefix("::1/128"), "this computer"},
	{netip.MustParsePrefix("::ffff:0:0/96"), "an IPv4 address in IPv6 form"},
	{netip.MustParsePrefix("64:ff9b::/96"), "a NAT64 address"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "a NAT64 address"},
	{netip.MustParsePrefix("2001::/32"), "a Teredo address"},
	{netip.MustParsePrefix("2001::/23"), "a reserved address"},
	{netip.MustParsePrefix("2001:db8::/32"), "an address for documentation"},
	{netip.MustParsePrefix("2002::/16"), "a 6to4 address"},
	{netip.MustParsePrefix("3fff::/20"), "an address for documentation"},
	{netip.MustParsePrefix("fc00::/7"), "a private address"},
	{netip.MustParsePrefix("fe80::/10"), "a link-local address"},
	{netip.MustParsePrefix("fec0::/10"), "a private address"},
	{netip.MustParsePrefix("ff00::/8"), "a multicast address"},
}

var global6 = netip.MustParsePrefix("2000::/3")

// NonPublic returns why a network address is not public, so that models, servers and pages may not
// name it; "" if it is public.
func NonPublic(addr netip.Addr) string {
	if !addr.IsValid() {
		return "no address"
	}
	if addr.Zone() != "" {
		return "an address of one network interface"
	}
	for _, b := range blockedRanges {
		if b.prefix.Contains(addr) {
			return b.why
		}
	}
	if addr.Is4() {
		return ""
	}
	if !global6.Contains(addr) {
		return "a reserved address"
	}
	// ISATAP (RFC 5214): an IPv4 address after 0000:5efe or 0200:5efe.
	if b := addr.As16(); b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5E && b[11] == 0xFE {
		return "an IPv4 address in IPv6 form"
	}
	return ""
}
