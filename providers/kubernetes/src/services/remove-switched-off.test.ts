import { resources } from "@virtual-kubelet/kube-client";
import { expect, test } from "vitest";
import { recordingLogger, startMirrorRig, type MirrorRig } from "../test-support/mirror-rig.ts";
import { removeSwitchedOff } from "./remove-switched-off.ts";

const call = () => ({ signal: AbortSignal.timeout(5_000) });

async function mirroredOnce(rig: MirrorRig, nodeName = "far-1"): Promise<void> {
  await using _mirror = rig.mirror({ nodeNames: [nodeName] });
  await rig.settle();
}

async function ownerObjects(rig: MirrorRig): Promise<(string | undefined)[]> {
  const query = { namespace: "a", labelSelector: "virtual-kubelet.io/node=service_mirror" };
  return (await rig.far.client.list(resources.configMaps, query, call())).items.map(({ metadata }) => metadata?.name);
}

function switchOff(rig: MirrorRig, parts: Partial<Parameters<typeof removeSwitchedOff>[0]> = {}): Promise<void> {
  const home = { client: rig.home.client, server: "https://home", [Symbol.asyncDispose]: () => Promise.resolve() };
  return removeSwitchedOff(
    {
      clusterId: "home-1",
      nodeName: "far-1",
      namespace: "a",
      far: rig.far.client,
      connectHome: () => Promise.resolve(home),
      logger: recordingLogger(rig.warnings),
      ...parts,
    },
    call().signal,
  );
}

test("what a node has mirrored goes in both clusters, and nothing else does", async () => {
  await using rig = await startMirrorRig();
  await rig.home.createService("a", "web");
  await rig.home.setEndpoints("a", "web", [{ addresses: ["10.1.0.5"] }]);
  await rig.far.createService("a", "db");
  await mirroredOnce(rig);
  await switchOff(rig);
  expect([await rig.far.service("a", "web"), await rig.home.service("a", "db")]).toEqual([undefined, undefined]);
  expect([await rig.home.service("a", "web"), await rig.far.service("a", "db")]).toMatchObject([{}, {}]);
  expect(await rig.home.addresses("a", "web")).toEqual(["10.1.0.5"]);
  expect(await ownerObjects(rig)).toEqual([]);
});

test("what another node between the same clusters mirrors stays, with the owner object", async () => {
  await using rig = await startMirrorRig();
  await rig.home.createService("a", "web");
  await mirroredOnce(rig, "far-2");
  await switchOff(rig);
  expect(await rig.far.service("a", "web")).toBeDefined();
  expect(await ownerObjects(rig)).toHaveLength(1);
});

test("a node that never mirrored anything does not even connect to home", async () => {
  await using rig = await startMirrorRig();
  let connections = 0;
  await switchOff(rig, { connectHome: () => Promise.reject(new Error(`connection ${++connections}`)) });
  expect(connections).toBe(0);
});

test("without the rights the command that does it is named", async () => {
  await using rig = await startMirrorRig();
  await rig.home.createService("a", "web");
  await mirroredOnce(rig);
  rig.far.server.faults.inject({ resource: "services" }, { kind: "status", status: 403 });
  await switchOff(rig);
  expect(rig.warnings.at(-1)).toContain(
    "run kubectl delete services,endpointslices --all-namespaces --selector virtual-kubelet.io/mirror=far-1 in both clusters",
  );
});
