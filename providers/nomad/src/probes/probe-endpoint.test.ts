import { expect, test } from "vitest";
import { endpointOf } from "./probe-endpoint.ts";

const allocation = {
  NetworkStatus: { Address: "172.26.64.3" },
  AllocatedResources: {
    Shared: {
      Ports: [
        { Label: "p9053_udp", Value: 9053, To: 8080, HostIP: "192.0.2.7" },
        { Label: "probe_8080", Value: 31_638, To: 8080, HostIP: "192.0.2.7" },
        { Label: "probe_9090", Value: 31_639, To: 9090, HostIP: "0.0.0.0" },
      ],
    },
  },
};

test.each([
  ["host", 8080, { host: "client", port: 8080 }],
  ["bridge", 8080, { host: "192.0.2.7", port: 31_638 }],
  ["task", 8080, { host: "192.0.2.7", port: 31_638 }],
  ["bridge", 9090, { host: "client", port: 31_639 }],
  ["bridge", 1, undefined],
  ["cni/pods", 8080, { host: "172.26.64.3", port: 8080 }],
])("in network %s port %d is probed at %j", (network, port, endpoint) => {
  expect(endpointOf({ shape: { network }, allocation, clientAddress: "client" }, port)).toEqual(endpoint);
});

test.each(["host", "bridge", "cni/pods"])("in network %s nothing is probed before the way to it is known", (network) => {
  expect(endpointOf({ shape: { network }, allocation: {}, clientAddress: undefined }, 8080)).toBeUndefined();
});
