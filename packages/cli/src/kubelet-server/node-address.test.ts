import { expect, test } from "vitest";
import { defaultNodeAddress } from "./node-address.ts";

const host = { env: {}, hostAddresses: ["192.0.2.1", "192.0.2.2"] };

test("a server on one address is where the node is", () => {
  const context = { ...host, env: { POD_IP: "10.0.0.1" } };

  expect(defaultNodeAddress("127.0.0.1", context)).toEqual({ address: "127.0.0.1", from: "--kubelet-address" });
});

test.each(["0.0.0.0", "::"])("a server on all addresses (%s) is at the pod's, else at the host's first", (listenAddress) => {
  const at = (env: Record<string, string>) => defaultNodeAddress(listenAddress, { ...host, env })?.address;

  expect(at({ POD_IP: "10.0.0.1" })).toBe("10.0.0.1");
  expect(at({ POD_IP: "" })).toBe("192.0.2.1");
  expect(at({ POD_IP: "no-ip" })).toBe("192.0.2.1");
});

test("a host without addresses has none for the node", () => {
  expect(defaultNodeAddress("0.0.0.0", { env: {}, hostAddresses: [] })).toBeUndefined();
});
