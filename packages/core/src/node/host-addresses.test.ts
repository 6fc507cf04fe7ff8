import { expect, test } from "vitest";
import { reachableAddresses } from "./host-addresses.ts";

test("loopback and link-local addresses are no use to others, and IPv4 goes first", () => {
  const entry = (address: string, internal = false) => ({
    address,
    internal,
    family: address.includes(":") ? ("IPv6" as const) : ("IPv4" as const),
    netmask: "",
    mac: "",
    cidr: null,
    scopeid: 0,
  });
  const interfaces = {
    lo: [entry("127.0.0.1", true), entry("::1", true)],
    eth0: [entry("fe80::1"), entry("2001:db8::1"), entry("169.254.0.1"), entry("192.0.2.1")],
  };

  expect(reachableAddresses(interfaces)).toEqual(["192.0.2.1", "2001:db8::1"]);
});
