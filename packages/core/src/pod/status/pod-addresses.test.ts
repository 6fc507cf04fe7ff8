import { describe, expect, test } from "vitest";
import { onePerFamily, podAddresses, type PodAddressesInput } from "./pod-addresses.ts";

function addresses(input: Partial<PodAddressesInput>) {
  return podAddresses({ pod: {}, reported: {}, hostIPs: [], isRunning: false, ...input });
}

const entries = (...ips: string[]) => ips.map((ip) => ({ ip }));

describe("of addresses", () => {
  test.each([
    [["10.0.0.1", "10.0.0.2"], ["10.0.0.1"]],
    [
      ["fd00::1", "10.0.0.1", "fd00::2"],
      ["fd00::1", "10.0.0.1"],
    ],
    [[undefined, "", "nonsense", "10.0.0.1"], ["10.0.0.1"]],
    [["2001:DB8:0:0::7"], ["2001:db8::7"]],
    [["::ffff:10.1.2.3"], ["10.1.2.3"]],
    [["::ffff:a01:203"], ["10.1.2.3"]],
    [["::ffff:0:203"], ["0.0.2.3"]],
    [["::fffe:a01:203"], ["::fffe:a01:203"]],
    [["1::ffff:a01:203"], ["1::ffff:a01:203"]],
    [["fe80::1%eth0"], []],
    [[], []],
  ])("%j the first of each family counts, in Go's form: %j", (given, expected) => {
    expect(onePerFamily(given)).toEqual(expected);
  });
});

describe("the addresses of a pod", () => {
  test("are those reported, the main one first", () => {
    expect(addresses({ reported: { podIP: "fd00::1", podIPs: entries("10.0.0.1", "fd00::1") } })).toEqual({
      hostIP: undefined,
      hostIPs: undefined,
      podIP: "fd00::1",
      podIPs: entries("fd00::1", "10.0.0.1"),
    });
  });

  test("begin with the node's family where none is the main one", () => {
    const reported = { podIPs: entries("fd00::1", "10.0.0.1") };
    const reversed = { podIPs: entries("10.0.0.1", "fd00::1") };

    expect(addresses({ reported, hostIPs: ["192.0.2.1"] }).podIP).toBe("10.0.0.1");
    expect(addresses({ reported: reversed, hostIPs: ["192.0.2.1"] }).podIP).toBe("10.0.0.1");
    expect(addresses({ reported: reversed, hostIPs: ["2001:db8::1"] }).podIP).toBe("fd00::1");
    expect(addresses({ reported }).podIP).toBe("fd00::1");
    expect(addresses({ reported: { ...reported, podIP: "nonsense" }, hostIPs: ["192.0.2.1"] }).podIP).toBe("10.0.0.1");
  });

  test("keep the reported order where the main one is told, whatever the node's family", () => {
    const reported = { podIP: "fd00::1", podIPs: entries("fd00::1", "10.0.0.1") };

    expect(addresses({ reported, hostIPs: ["192.0.2.1"] }).podIPs).toEqual(entries("fd00::1", "10.0.0.1"));
  });

  test("include the host's as reported, for pods that run on another machine than the node's own", () => {
    const reported = { hostIP: "198.51.100.7", hostIPs: entries("198.51.100.7", "FD00::7") };
    const hostIPs = ["192.0.2.1"];

    expect(addresses({ reported, hostIPs })).toMatchObject({ hostIP: "198.51.100.7", hostIPs: entries("198.51.100.7", "fd00::7") });
    expect(addresses({ reported, hostIPs, pod: { spec: { containers: [], hostNetwork: true } } }).podIP).toBe("198.51.100.7");
    expect(addresses({ reported: { hostIP: "nonsense" }, hostIPs }).hostIP).toBe("192.0.2.1");
  });

  test("on the host's network are the node's, unless others are reported", () => {
    const pod = { spec: { containers: [], hostNetwork: true } };
    const hostIPs = ["192.0.2.1", "2001:db8::1"];

    expect(addresses({ pod, hostIPs })).toEqual({
      hostIP: "192.0.2.1",
      hostIPs: entries(...hostIPs),
      podIP: "192.0.2.1",
      podIPs: entries(...hostIPs),
    });
    expect(addresses({ pod, hostIPs, reported: { podIP: "10.0.0.1" } }).podIPs).toEqual(entries("10.0.0.1"));
    expect(addresses({ pod: { spec: { containers: [] } }, hostIPs }).podIPs).toBeUndefined();
  });

  test("of which nothing runs are those it had, and of one that runs are none", () => {
    const pod = { status: { podIP: "10.0.0.7", podIPs: entries("10.0.0.7", "fd00::7") } };

    expect(addresses({ pod }).podIPs).toEqual(entries("10.0.0.7", "fd00::7"));
    expect(addresses({ pod, isRunning: true }).podIPs).toBeUndefined();
    expect(addresses({ pod, reported: { podIP: "10.0.0.8" } }).podIPs).toEqual(entries("10.0.0.8"));
  });
});
