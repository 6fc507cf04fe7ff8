import { expect, test } from "vitest";
import { startTestServer } from "../../test-support/test-server.ts";
import { firstAddress, toServiceRange } from "./service-range.ts";

// Source of the reserved part: TestCalculateRangeOffset of Kubernetes v1.36.3 pkg/registry/core/service/ipallocator.
test.each([
  ["192.0.2.0/24", 256, 16],
  ["192.0.2.0/23", 512, 32],
  ["192.0.2.0/20", 4096, 256],
  ["192.0.2.0/28", 16, 0],
  ["10.96.0.0/12", 1_048_576, 256],
])("%s has %i addresses, of which the first %i are for requests", (cidr, size, reserved) => {
  expect(toServiceRange(cidr)).toMatchObject({ size, reserved });
});

test("an address within the range stands for the range", () => {
  expect(firstAddress("10.0.0.77/24")).toBe("10.0.0.1");
});

test.each(["10.0.0.0", "10.0.0.0/8", "10.0.0.0/30", "10.0.0.256/24", "fd00::/112", "x"])("%s is no range", (cidr) => {
  expect(() => toServiceRange(cidr)).toThrow(`range of cluster IPs "${cidr}"`);
});

test("services get the addresses of the given range, the last of them from its reserved part", async () => {
  await using server = await startTestServer({ serviceClusterIpRange: "10.0.0.0/29" });
  const create = () =>
    server.request("POST", "/api/v1/namespaces/default/services", { metadata: { generateName: "s-" }, spec: { ports: [{ port: 80 }] } });

  const addresses: string[] = [];
  for (let count = 0; count < 5; count++) addresses.push((await create()).body.spec.clusterIP);

  // The service `kubernetes` has the first address.
  expect(addresses.toSorted()).toEqual(["10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "10.0.0.6"]);
  expect(await create()).toMatchObject({ status: 500, body: { message: expect.stringContaining("range is full") } });
});

test("without service accounts, a pod has none and needs none", async () => {
  await using server = await startTestServer({ serviceAccounts: false });

  const { status, body } = await server.request("POST", "/api/v1/namespaces/default/pods", {
    metadata: { name: "a" },
    spec: { containers: [{ name: "main", image: "main" }] },
  });

  expect(status).toBe(201);
  expect(body.spec).not.toHaveProperty("serviceAccountName");
  expect(body.spec).not.toHaveProperty("volumes");
  expect((await server.request("GET", "/api/v1/namespaces/default/serviceaccounts")).body.items).toEqual([]);
});
