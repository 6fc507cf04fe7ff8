import { VirtualClock } from "@virtual-kubelet/clock";
import { podRef, type PodChanges } from "@virtual-kubelet/core";
import { isForbidden, isInvalidInput, isUnavailable, isUnsupported } from "@virtual-kubelet/errdefs";
import { resources, type Pod } from "@virtual-kubelet/kube-client";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { farPodName } from "../identity/names.ts";
import { homePod, resolverOf, startFarRig, type FarRig, type OpenedNode } from "../test-support/far-rig.ts";

const { signal } = new AbortController();
const changes: PodChanges = { previous: undefined, parts: [] };
const pod = homePod(
  { containers: [{ name: "main", image: "registry.example/main:1", resources: { requests: { cpu: "1" } } }] },
  { labels: { app: "web" } },
);
const name = { namespace: "default", name: farPodName({ clusterId: "home-1" }, podRef(pod)) };

let rig: FarRig;
let node: OpenedNode;

beforeEach(async () => {
  rig = await startFarRig({ clock: new VirtualClock() });
  node = await rig.open({ pods: [pod] });
  await node.provider.createPod(pod, resolverOf(), signal);
});
afterEach(async () => {
  await node[Symbol.asyncDispose]();
  await rig[Symbol.asyncDispose]();
});

const update = (changed: Pod): Promise<void> => node.provider.updatePod(changed, resolverOf(), signal, changes);
const read = (): Promise<Pod> => rig.client.get(resources.pods, name, { signal });

function resized(cpu: string): Pod {
  return homePod(
    { containers: [{ name: "main", image: "registry.example/main:1", resources: { requests: { cpu } } }] },
    { labels: { app: "web" } },
  );
}

test("labels, images, a debug container and resources reach the far pod", async () => {
  await update(
    homePod(
      {
        containers: [{ name: "main", image: "registry.example/main:2", resources: { requests: { cpu: "2" } } }],
        ephemeralContainers: [{ name: "debug", image: "busybox", imagePullPolicy: "Always", terminationMessagePolicy: "File" }],
      },
      { labels: { tier: "front" } },
    ),
  );

  const { metadata, spec } = await read();
  expect(metadata?.labels).toMatchObject({ tier: "front" });
  expect(metadata?.labels).not.toHaveProperty("app");
  expect(spec?.containers).toMatchObject([{ image: "registry.example/main:2", resources: { requests: { cpu: "2" } } }]);
  expect(spec?.ephemeralContainers).toMatchObject([{ name: "debug", image: "busybox" }]);
});

describe("a debug container that the policy does not allow", () => {
  const debug = { image: "busybox", imagePullPolicy: "Always", terminationMessagePolicy: "File" } as const;
  const changed = homePod(
    {
      ephemeralContainers: [
        { ...debug, name: "owner", securityContext: { privileged: true } },
        { ...debug, name: "debug", securityContext: { capabilities: { add: ["SYS_PTRACE"] } } },
      ],
    },
    { labels: { tier: "front" } },
  );

  test("never reaches the far pod; the other changes do", async () => {
    await update(changed);

    const { metadata, spec } = await read();
    expect(metadata?.labels).toMatchObject({ tier: "front" });
    expect(spec?.ephemeralContainers).toMatchObject([{ name: "debug" }]);
  });

  test("reaches it with a policy that allows it", async () => {
    await using open = await rig.open({ pods: [pod], config: { policy: { privileged: true } } });

    await open.provider.updatePod(changed, resolverOf(), signal, changes);

    expect((await read()).spec?.ephemeralContainers).toMatchObject([{ name: "owner" }, { name: "debug" }]);
  });
});

test("an update that changes nothing writes nothing", async () => {
  const before = await read();

  await update(pod);

  expect((await read()).metadata?.resourceVersion).toBe(before.metadata?.resourceVersion);
});

describe("a resize", () => {
  test("that the far cluster refuses is an invalid one, with its words", async () => {
    const refused = update(resized("-1"));

    await expect(refused).rejects.toSatisfy(isInvalidInput);
    await expect(refused).rejects.toThrow(/^far cluster: .*must be greater than or equal to 0/);
  });

  test("that an old far cluster does not know is unsupported; the other changes are made", async () => {
    using _old = rig.server.faults.inject({ resource: "pods/resize" }, { kind: "status", status: 404 });
    const changed = resized("2");

    await expect(update({ ...changed, metadata: { ...changed.metadata, labels: { app: "web2" } } })).rejects.toSatisfy(isUnsupported);
    expect((await read()).metadata?.labels).toMatchObject({ app: "web2" });
  });

  test("without the right for it is forbidden, and tried again later", async () => {
    const rule = rig.server.faults.inject({ resource: "pods/resize" }, { kind: "status", status: 403 });
    await expect(update(resized("2"))).rejects.toSatisfy(isForbidden);
    rule[Symbol.dispose]();

    await update(resized("2"));

    expect((await read()).spec?.containers).toMatchObject([{ resources: { requests: { cpu: "2" } } }]);
  });
});

test("a 404 that does not name the pod says nothing about it", async () => {
  using _proxy = rig.server.faults.inject({ verb: "patch", resource: "pods" }, { kind: "status", status: 404 });

  await expect(update(homePod({}, { labels: { app: "web2" } }))).rejects.toSatisfy(isUnavailable);
});
