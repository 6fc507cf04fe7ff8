import { expect, test } from "vitest";
import { nodeWith, startKubeletWorld } from "../test-support/kubelet-world.ts";
import { boundPod, podPath } from "../test-support/test-server.ts";

const log = `${podPath("a")}/log`;
const internal = { type: "InternalIP", address: "10.0.0.7" };
const external = { type: "ExternalIP", address: "192.0.2.7" };
const hostname = { type: "Hostname", address: "n1.example" };

test.each([
  ["the internal address first", { addresses: [hostname, external, internal] }, "10.0.0.7:10250"],
  ["then the external one", { addresses: [hostname, external] }, "192.0.2.7:10250"],
  ["then the host's name", { addresses: [{ type: "InternalDNS", address: "x" }, hostname] }, "n1.example:10250"],
  ["the first of several", { addresses: [internal, { type: "InternalIP", address: "10.0.0.8" }] }, "10.0.0.7:10250"],
  ["at the port that it says", { addresses: [internal], daemonEndpoints: { kubeletEndpoint: { Port: 31234 } } }, "10.0.0.7:31234"],
  ["an IPv6 address in brackets", { addresses: [{ type: "InternalIP", address: "fd00::7" }] }, "[fd00::7]:10250"],
])("a node's kubelet is looked for at %s", async (_words, status, host) => {
  const world = startKubeletWorld([nodeWith("n1", status), boundPod("a")]);

  await world.ask(log);

  expect(world.sent[0]?.url.host).toBe(host);
});

test("a node without a usable address is an error that names what it has", async () => {
  const addresses = [{ type: "InternalDNS", address: "n1.internal" }];
  const world = startKubeletWorld([nodeWith("n1", { addresses }), boundPod("a")]);

  expect(await world.refusal(log)).toEqual({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    code: 500,
    message: "no preferred addresses found; known addresses: [{InternalDNS n1.internal}]",
  });
});

test("a missing node is reported with the real server's message", async () => {
  const world = startKubeletWorld([boundPod("a")]);

  expect(await world.refusal(log)).toMatchObject({ code: 404, message: 'pods "n1" not found' });
});
