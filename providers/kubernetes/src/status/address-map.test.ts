import { describe, expect, test } from "vitest";
import { addressMap } from "./address-map.ts";

test("in one network both clusters use the same addresses", () => {
  const map = addressMap("same");
  expect([map.toHome("10.2.0.7"), map.toFar("10.2.0.7")]).toEqual(["10.2.0.7", "10.2.0.7"]);
});

test("without a network between the clusters home reaches no far pod", () => {
  const map = addressMap("none");
  expect([map.toHome("10.2.0.7"), map.toFar("10.1.0.7")]).toEqual([undefined, "10.1.0.7"]);
});

describe("ranges that a NAT translates", () => {
  const map = addressMap([
    { far: "10.2.0.0/16", home: "10.102.0.0/16" },
    { far: "fd00:2::/64", home: "fd00:102::/64" },
  ]);

  test.for([
    ["10.2.0.0", "10.102.0.0"],
    ["10.2.255.255", "10.102.255.255"],
    ["fd00:2::", "fd00:102::"],
    ["fd00:2::1:0:0:5", "fd00:102::1:0:0:5"],
    ["fd00:2:0:0:ffff:ffff:ffff:ffff", "fd00:102::ffff:ffff:ffff:ffff"],
  ])("%s is %s at home, and back", ([far = "", home = ""]) => {
    expect(map.toHome(far)).toBe(home);
    expect(new URL(`http://[${map.toFar(home)}]`.replace(/\[([\d.]+)\]/, "$1")).hostname).toBe(
      new URL(`http://[${far}]`.replace(/\[([\d.]+)\]/, "$1")).hostname,
    );
  });

  test.for(["10.3.0.1", "10.1.255.255", "fd00:2:0:1::1", "web.example.com", ""])("home cannot reach %j", (far) => {
    expect(map.toHome(far)).toBeUndefined();
  });

  test("an address that is not one of a far pod is the same in the far cluster", () => {
    expect([map.toFar("192.168.0.1"), map.toFar("fd00:9::1"), map.toFar("web.example.com")]).toEqual([
      "192.168.0.1",
      "fd00:9::1",
      "web.example.com",
    ]);
  });

  test("a range of all addresses is possible", () => {
    expect(addressMap([{ far: "0.0.0.0/0", home: "0.0.0.0/0" }]).toHome("255.255.255.255")).toBe("255.255.255.255");
  });
});

test.for([
  [[{ far: "10.2.0.0/16", home: "10.102.0.0/24" }], /network\.podIPs\[0\]: far is 10\.2\.0\.0\/16 and home 10\.102\.0\.0\/24/],
  [[{ far: "10.2.0.0/16", home: "fd00::/16" }], /of one size and family/],
  [[{ far: "10.2.0.7/16", home: "10.102.0.0/16" }], /network\.podIPs\[0\]\.far .* did you mean 10\.2\.0\.0\/16\?/],
  [[{ far: "10.2.0.0/33", home: "10.102.0.0/16" }], /network\.podIPs\[0\]\.far is 10\.2\.0\.0\/33, expected a range/],
  [[{ far: "10.2/16", home: "10.102.0.0/16" }], /network\.podIPs\[0\]\.far is 10\.2\/16, expected a range/],
  [
    [
      { far: "10.2.0.0/16", home: "10.102.0.0/16" },
      { far: "10.3.0.0/16", home: "10.102.0.0/16" },
    ],
    /network\.podIPs\[1\]\.home overlaps network\.podIPs\[0\]\.home/,
  ],
] as const)("%j is refused", ([podIPs, message]) => {
  expect(() => addressMap(podIPs)).toThrow(message);
});
