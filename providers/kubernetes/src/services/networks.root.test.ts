import type { EndpointSlice } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { joinNetworks } from "../test-support/joined-namespaces.ts";
import { startMirrorRig, type TestCluster } from "../test-support/mirror-rig.ts";

/** A pod behind a headless Service, whose endpoints DNS answers with. */
async function offer(cluster: TestCluster, name: string, address: string): Promise<void> {
  await cluster.createService("a", name, { clusterIP: "None", ports: [{ port: 8080 }] });
  await cluster.setEndpoints("a", name, [{ addresses: [address], hostname: `${name}-0`, conditions: { ready: true } }]);
}

/** What a program gets that looks the name up in a cluster and calls the first ready endpoint. */
async function firstEndpoint(cluster: TestCluster, name: string): Promise<{ readonly address: string; readonly port: number }> {
  const ready = (slice: EndpointSlice): string[] =>
    (slice.endpoints ?? []).filter(({ conditions }) => conditions?.ready).flatMap(({ addresses }) => addresses);
  const [found] = (await cluster.slices("a", name)).flatMap((slice) =>
    ready(slice).map((address) => ({ address, port: slice.ports?.[0]?.port ?? 0 })),
  );
  if (!found) throw new Error(`${name} has no ready endpoint`);
  return found;
}

test("with routes between the clusters each reaches the other's Services by their endpoints, from pod to pod", async () => {
  await using networks = await joinNetworks(
    { home: ["10.1.0.5/32"], far: ["10.2.0.7/32"] },
    { home: ["10.2.0.0/16"], far: ["10.1.0.0/16"] },
  );
  await networks.far.serve("10.2.0.7", 8080, "far db");
  await networks.home.serve("10.1.0.5", 8080, "home web");
  await using rig = await startMirrorRig();
  await offer(rig.far, "db", "10.2.0.7");
  await offer(rig.home, "web", "10.1.0.5");
  rig.mirror();
  await rig.settle();

  const db = await firstEndpoint(rig.home, "db");
  expect(await networks.home.call("10.1.0.5", db.address, db.port)).toBe("far db sees 10.1.0.5");
  const web = await firstEndpoint(rig.far, "web");
  expect(await networks.far.call("10.2.0.7", web.address, web.port)).toBe("home web sees 10.2.0.7");
});

test("with a NAT home reaches far Services in the range that the configuration names, and not by their own addresses", async () => {
  await using networks = await joinNetworks(
    { home: ["10.1.0.5/32"], far: ["10.2.0.7/32"] },
    { home: ["10.102.0.0/16"], far: ["10.1.0.0/16"] },
  );
  networks.far.run("iptables -t nat -A PREROUTING -i cable -d 10.102.0.0/16 -j NETMAP --to 10.2.0.0/16");
  networks.far.run("iptables -t nat -A POSTROUTING -o cable -s 10.2.0.0/16 -j NETMAP --to 10.102.0.0/16");
  await networks.far.serve("10.2.0.7", 8080, "far db");
  await networks.home.serve("10.1.0.5", 8080, "home web");
  await using rig = await startMirrorRig();
  await offer(rig.far, "db", "10.2.0.7");
  // The virtual node's pods have the translated address at home.
  await offer(rig.home, "web", "10.1.0.5");
  await offer(rig.home, "mine", "10.102.0.7");
  rig.mirror({ podIPs: [{ far: "10.2.0.0/16", home: "10.102.0.0/16" }] });
  await rig.settle();

  const db = await firstEndpoint(rig.home, "db");
  expect(db.address).toBe("10.102.0.7");
  expect(await networks.home.call("10.1.0.5", db.address, db.port)).toBe("far db sees 10.1.0.5");
  expect(await networks.home.call("10.1.0.5", "10.2.0.7", 8080)).toMatch(/^E(NETUNREACH|HOSTUNREACH|TIMEDOUT)$/);
  const web = await firstEndpoint(rig.far, "web");
  expect(await networks.far.call("10.2.0.7", web.address, web.port)).toBe("home web sees 10.102.0.7");
  const mine = await firstEndpoint(rig.far, "mine");
  expect(await networks.far.call("10.2.0.7", mine.address, mine.port)).toBe("far db sees 10.2.0.7");
});
