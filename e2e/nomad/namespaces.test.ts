import type { Pod, PodRef } from "@virtual-kubelet/core";
import { eventually } from "@virtual-kubelet/testing";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NomadRig, container, forever } from "./nomad-rig.ts";

const { signal } = new AbortController();

let rig: NomadRig;
afterEach(() => rig[Symbol.asyncDispose]());

async function open(config: object = {}): Promise<void> {
  rig = await NomadRig.open({ namespaces: { "team-a": "tenant-a", "team-b": "tenant-b" }, ...config });
  for (const name of ["tenant-a", "tenant-b"]) rig.nomad.cluster.state.namespaces.add(name);
}

/** A pod in a Kubernetes namespace. */
function podIn(namespace: string, spec: Partial<NonNullable<Pod["spec"]>> = {}): Pod {
  const pod = rig.pod(spec);
  return { ...pod, metadata: { ...pod.metadata, namespace } };
}

/** All jobs and variables by name, prefixed with their Nomad namespace unless it is `default`. */
function kept(): readonly string[] {
  const { jobs, variables } = rig.nomad.cluster.state;
  return [...jobs.keys(), ...variables.keys()].map((key) => key.replace(/vk-[a-z2-7]{26}/, "JOB")).toSorted();
}

describe.each([true, false])("with event stream: %s", (stream) => {
  beforeEach(() => open({ stream, relist: stream ? "60s" : "1s" }));

  test("the jobs and variables of a team's pods are in the team's Nomad namespace while they run, restart and end", async () => {
    const env = [{ name: "A", valueFrom: { secretKeyRef: { name: "s", key: "k" } } }];
    const spec = { containers: [container(`echo "$A"; ${forever}`, { env })] };
    const refs = [await rig.run(podIn("team-a", spec)), await rig.run(podIn("team-b", spec)), await rig.run(podIn("shop", spec))];
    expect(kept()).toEqual(["JOB", "nomad/jobs/JOB", "tenant-a:JOB", "tenant-a:nomad/jobs/JOB", "tenant-b:JOB", "tenant-b:nomad/jobs/JOB"]);
    await rig.stop();
    await rig.start();

    const { pods } = await rig.provider.getPods(signal);
    expect(pods.map(({ ref }) => ref.uid).toSorted()).toEqual(refs.map(({ uid }) => uid).toSorted());
    for (const ref of refs) {
      await rig.delete(ref);
      await rig.untilGone(ref);
    }
    await eventually(() => expect(kept()).toEqual([]));
  });
});

describe("of two teams", () => {
  beforeEach(() => open({ relist: "1s" }));

  /** Registers a job with a pod's ID and meta in another Nomad namespace, as anyone with the right to submit jobs there can. */
  async function copyTo(namespace: string, ref: PodRef, from: string): Promise<string> {
    const { state } = rig.nomad.cluster;
    rig.nomad.cluster.register({ ...structuredClone(state.jobs.get(`${from}:${rig.jobId(ref)}`) ?? {}), Namespace: namespace });
    await eventually(() =>
      expect(rig.nomad.cluster.allocationsOf(rig.jobId(ref), namespace)[0]).toMatchObject({ ClientStatus: "running" }),
    );
    return `${namespace}:${rig.jobId(ref)}`;
  }

  test("a job with a pod's ID in another team's namespace is not the pod, is reported once, and is not touched", async () => {
    const ref = await rig.run(podIn("team-a"));
    const copy = await copyTo("tenant-b", ref, "tenant-a");
    const before = await rig.provider.getPodStatus(ref, signal);
    for (let time = 0; time < 2; time++) await rig.provider.getPods(signal);
    rig.nomad.cluster.deregister(rig.jobId(ref), false, "tenant-b");
    await eventually(() =>
      expect(rig.nomad.cluster.allocationsOf(rig.jobId(ref), "tenant-b")[0]).toMatchObject({ ClientStatus: "complete" }),
    );
    for (let time = 0; time < 2; time++) expect((await rig.provider.getPods(signal)).pods.map((pod) => pod.ref)).toEqual([ref]);

    expect(await rig.provider.getPodStatus(ref, signal)).toEqual(before);
    expect(rig.warnings.map(({ job, why }) => [job, why])).toEqual([
      [rig.jobId(ref), "it is in namespace tenant-b of Nomad, and pods of team-a run in tenant-a"],
    ]);
    await rig.delete(ref);
    await rig.untilGone(ref);
    await eventually(() => expect([...rig.nomad.cluster.state.jobs.keys()]).toEqual([copy]));
  });

  test("after a restart a pod whose job is only in another team's namespace does not exist, and can be created", async () => {
    const pod = podIn("team-a");
    const ref = await rig.run(pod);
    await copyTo("tenant-b", ref, "tenant-a");
    await rig.stop();
    rig.nomad.cluster.deregister(rig.jobId(ref), true, "tenant-a");
    await rig.start();

    expect((await rig.provider.getPods(signal)).pods).toEqual([]);
    await rig.run(pod);
    expect(rig.nomad.cluster.allocationsOf(rig.jobId(ref), "tenant-a")).toHaveLength(1);
  });

  test("the node is not ready while a namespace is missing or forbidden to the token, and names it", async () => {
    rig.nomad.cluster.state.namespaces.delete("tenant-b");
    await expect(rig.provider.ping?.(signal)).rejects.toThrow(/^namespace tenant-b does not exist in Nomad; create it/);
    rig.nomad.cluster.state.namespaces.add("tenant-b");
    await rig.provider.ping?.(signal);
    rig.nomad.fault = ({ query }) => (query.get("namespace") === "tenant-a" ? { status: 403, text: "Permission denied" } : undefined);

    await expect(rig.provider.ping?.(signal)).rejects.toThrow(/^list jobs in namespace tenant-a of Nomad at .*: Permission denied/);
    await expect(rig.provider.getPods(signal), "no list is better than one without a team's pods").rejects.toThrow(
      /tenant|Permission denied/,
    );
  });

  test("the node's running jobs in a namespace that is no longer configured are reported once", async () => {
    const [left, moved] = [await rig.run(podIn("team-a")), await rig.run(podIn("team-b"))];
    const gone = await rig.run(podIn("team-a"));
    rig.nomad.cluster.deregister(rig.jobId(gone), false, "tenant-a");
    const copy = structuredClone(rig.nomad.cluster.state.jobs.get(`tenant-a:${rig.jobId(left)}`) ?? {});
    rig.nomad.cluster.register({ ...copy, ID: "vk-copy" });
    await rig.stop();
    await rig.start({ namespaces: { "team-b": "tenant-b" } });
    for (let time = 0; time < 2; time++) await rig.provider.ping?.(signal);

    const told = rig.warnings.filter(({ text }) => text.startsWith("jobs of this node's pods run in a namespace of Nomad"));
    expect(told.map(({ namespace, namespaces, jobs, pods }) => ({ namespace, namespaces, jobs, pods }))).toEqual([
      { namespace: "tenant-a", namespaces: ["default", "tenant-b"], jobs: [rig.jobId(left)], pods: [`team-a/${left.name}`] },
    ]);
    expect((await rig.provider.getPods(signal)).pods.map(({ ref }) => ref)).toEqual([moved]);
  });

  test("the node is ready although its token may not list all namespaces", async () => {
    rig.nomad.fault = ({ query }) => (query.get("namespace") === "*" ? { status: 403, text: "Permission denied" } : undefined);

    await rig.provider.ping?.(signal);
    expect(rig.warnings).toEqual([]);
  });

  test("a registration in a deleted namespace is refused for good", async () => {
    rig.nomad.cluster.state.namespaces.delete("tenant-a");
    await expect(rig.create(podIn("team-a"))).rejects.toThrow(/nonexistent namespace "tenant-a"/);
  });
});
